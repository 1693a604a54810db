//! How long a full rollout takes, over the shortest that one zone at a time allows.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use k8s_openapi::api::core::v1::Pod;
use quorate_world::Stage;
use quorate_world::scenery::{CLUSTER, NAMESPACE};
use quorate_world::stage::in_virtual_time;
use serde_json::json;

use super::Measured;
use super::stage::{self, Counts};

const SIZE: Counts = Counts { storage: 12, log: 6, stateless: 6 };
/// Kubernetes is asked for no more than so many changes of pods per second.
const CHURN: f64 = 20.0;

pub(super) fn measure() -> Result<Measured> {
    in_virtual_time(roll())?
}

async fn roll() -> Result<Measured> {
    let stage = stage::grown(SIZE).await?;
    stage::edit(&stage, |spec| spec["automationOptions"]["podUpdateStrategy"] = json!("Delete"))?;
    stage::rest(&stage, "a change of mind").await?;
    stage.pass(Duration::from_secs(300)).await;
    let (zones, restarts) = restart_zones(&stage).await?;
    stage.pass(Duration::from_secs(300)).await;
    let begun = stage.elapsed();
    stage::edit(&stage, |spec| {
        spec["processes"]["general"]["podTemplate"] = json!({"spec": {"containers": [
            {"name": "foundationdb", "env": [{"name": "ROLLED", "value": "yes"}]},
        ]}});
    })?;
    stage::rest(&stage, "rolling").await?;
    let took = stage.elapsed().saturating_sub(begun).as_secs_f64();
    stage.end().await;
    #[expect(clippy::cast_precision_loss, reason = "a few pods")]
    let (pods, zones) = (SIZE.all() as f64, zones as f64);
    let bound = (2.0 * pods / CHURN).max(restarts.as_secs_f64());
    Ok(Measured {
        value: Some(took / bound),
        baseline: Some(pods / zones),
        note: format!(
            "{took:.0} s for {pods} pods in {zones} zones; {bound:.0} s by a hand that restarts a zone as soon as the database says that the last one is whole"
        ),
    })
}

/// How many zones there are, and how long they take one after the other, each from the deletion of its pods until everything is whole and
/// the database says so: what nobody can do without who waits for its word.
async fn restart_zones(stage: &Stage) -> Result<(usize, Duration)> {
    let pods: Vec<Pod> = stage.kubernetes().list(NAMESPACE).map_err(|status| anyhow!("listing pods: {status:?}"))?;
    let node = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
    let mut nodes: BTreeMap<String, Vec<&Pod>> = BTreeMap::new();
    for pod in &pods {
        nodes.entry(node(pod)).or_default().push(pod);
    }
    let whole = |stage: &Stage| is_whole(stage, pods.len());
    let begun = stage.elapsed();
    for there in nodes.values() {
        for pod in there {
            stage.kubernetes().delete::<Pod>(NAMESPACE, pod.metadata.name.as_deref().unwrap_or_default(), None).ok();
        }
        ensure!(
            stage.until(Duration::from_secs(60), |stage| !whole(stage)).await,
            "a zone's pods were deleted and nothing is missing"
        );
        ensure!(stage.until(stage::PATIENCE, whole).await, "a zone did not come back");
    }
    Ok((nodes.len(), stage.elapsed().saturating_sub(begun)))
}

/// Every pod is ready, the database needs nothing more, and says so.
fn is_whole(stage: &Stage, pods: usize) -> bool {
    let ready = |pod: &Pod| {
        let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
        conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    let there: Vec<Pod> = stage.kubernetes().list(NAMESPACE).unwrap_or_default();
    let database = stage.databases.with(&format!("{NAMESPACE}/{CLUSTER}"), |database| {
        database.is_whole() && database.status(&database.connection())["cluster"]["data"]["state"]["healthy"] == true
    });
    there.iter().filter(|pod| ready(pod)).count() == pods && database == Some(true)
}
