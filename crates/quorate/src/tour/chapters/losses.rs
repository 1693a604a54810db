//! A pod, a node, all pods: what comes back, and that nothing that was written is lost.

use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::{Node, Pod};
use quorate_world::kubelet::Fault;
use quorate_world::scenery::NAMESPACE;

use crate::tour::cast::Cast;
use crate::tour::telling::{A_WHILE, Telling};

pub(crate) const ABOUT: &str = "Something is written. Then somebody deletes a pod, a node burns, and in the end somebody deletes every pod \
    there is. Volumes outlive pods; so does what was written.";

const KEY: &str = "tour/answer";
const VALUE: &str = "42";

pub(crate) async fn play(telling: &mut Telling) -> Result<()> {
    telling.begin_with("").await?;
    let written = telling.cast().write(KEY, VALUE).await;
    let why = "What the database has once confirmed must outlive every loss that follows.";
    telling.expect("a client writes a key", said(written), written, why);
    one_pod(telling).await;
    a_node(telling).await;
    all_pods(telling).await;
    Ok(())
}

async fn one_pod(telling: &mut Telling) {
    let pod = Cast::pod_of(&telling.cast().last_of("storage"));
    telling.happens(format!("somebody deletes pod {pod}"));
    let before = uid(telling.cast(), &pod);
    telling.stage().kubernetes().delete::<Pod>(NAMESPACE, &pod, None).ok();
    let back = |cast: Cast<'_>| uid(cast, &pod).is_some_and(|uid| before.as_ref() != Some(&uid)) && cast.is_at_rest();
    let why = "The process group is the same, with its volume and its name; only its pod is new.";
    telling.await_that(&format!("{pod} is there again, and all is well"), A_WHILE, back, why).await;
    still_there(telling).await;
}

async fn a_node(telling: &mut Telling) {
    let Some(node) = telling.cast().pods().iter().find_map(|pod| pod.spec.as_ref()?.node_name.clone()) else { return };
    telling.happens(format!("{node} loses power for good"));
    let lost = Fault::NodeLost { node: node.clone(), during: telling.cast().since_now(), keeps_running: false };
    telling.stage().cluster.change_settings(|settings| settings.faults.push(lost));
    telling.pass(Duration::from_secs(90)).await;
    let available = telling.cast().available();
    let why = "Every piece of data has a copy in another zone, and so has every log.";
    telling.expect("the database is available without it", said(available), available, why);
    telling.happens(format!("whoever looks after the machines removes {node} from the cluster"));
    telling.stage().kubernetes().delete::<Node>("", &node, None).ok();
    let moved = |cast: Cast<'_>| {
        let on_it = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) == Some(&node);
        !cast.pods().iter().any(on_it) && cast.is_at_rest()
    };
    let why = "Volumes can be reached from every node here, so the pods move and take their data with them; nothing needs to be copied.";
    telling.await_that(&format!("the pods of {node} run elsewhere, and all is well"), A_WHILE, moved, why).await;
    still_there(telling).await;
}

async fn all_pods(telling: &mut Telling) {
    let pods = telling.cast().pods();
    telling.happens(format!("somebody deletes all {} pods at once, without grace", pods.len()));
    let before: Vec<_> = pods.iter().map(|pod| pod.metadata.uid.clone()).collect();
    for pod in &pods {
        telling.stage().kubernetes().delete::<Pod>(NAMESPACE, pod.metadata.name.as_deref().unwrap_or_default(), Some(0)).ok();
    }
    let back = |cast: Cast<'_>| cast.pods().iter().all(|pod| !before.contains(&pod.metadata.uid)) && cast.is_at_rest();
    let why = "The coordinators keep on their volumes that there is a database, and are named by their pods, whose names stay.";
    telling.await_that("every pod is there again, and all is well", 2 * A_WHILE, back, why).await;
    still_there(telling).await;
}

async fn still_there(telling: &mut Telling) {
    let there = telling.cast().reads(KEY, VALUE).await;
    let lost = telling.cast().database(|database| database.data_lost()).flatten();
    let seen = match (&lost, there) {
        (Some(lost), _) => lost.to_string(),
        (None, true) => format!("{KEY} is {VALUE}, nothing is lost"),
        (None, false) => "it can't be read".to_owned(),
    };
    let why = "Two volumes in different zones hold it, and none of these losses takes a volume along.";
    telling.expect("what was written is there", seen, there && lost.is_none(), why);
}

fn said(is_so: bool) -> &'static str {
    if is_so { "it is so" } else { "it is not so" }
}

fn uid(cast: Cast<'_>, pod: &str) -> Option<String> {
    cast.pods().into_iter().find(|one| one.metadata.name.as_deref() == Some(pod))?.metadata.uid
}
