//! `quorate playground`, as somebody plays with it from another terminal.

use std::path::PathBuf;

use k8s_openapi::api::core::v1::{Event, Node, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use quorate_api::foundationdb::FoundationDBCluster;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Program, until};

#[tokio::test]
async fn pods_and_nodes_are_deleted_what_it_proposes_is_asked_for_and_ctrl_c_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::start(&["playground"], folder.path(), &[]);
    let file = program.says(|line| line.trim().strip_prefix("export KUBECONFIG=").map(PathBuf::from)).await;
    let patch = |line: &str| {
        let edit = line.trim().strip_prefix("kubectl patch fdb sample --type=merge -p '")?.strip_suffix('\'')?;
        serde_json::from_str::<Value>(edit).ok()
    };
    let more = program.says(patch).await;
    let mut knob = program.says(patch).await;
    program
        .says(|line| line.ends_with("available yes, process groups 11/11, pods ready 11/11, held: nothing").then_some(()))
        .await;

    let kubeconfig = Kubeconfig::read_from(&file).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let all = pods.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(all.len(), 11);
    let (name, uid) = (all[0].metadata.name.clone().unwrap(), all[0].metadata.uid.clone());
    pods.delete(&name, &DeleteParams::default().grace_period(0)).await.unwrap();
    let made_again = async || pods.get_opt(&name).await.unwrap().filter(|pod| pod.metadata.uid != uid);
    until("another pod of its name", made_again).await;

    let node = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    let lost = node(&all[1]).unwrap();
    Api::<Node>::all(client.clone()).delete(&lost, &DeleteParams::default()).await.unwrap();
    let have_moved = async || {
        let all = pods.list(&ListParams::default()).await.unwrap().items;
        (all.len() == 11 && all.iter().all(|pod| node(pod).is_some_and(|node| node != lost))).then_some(())
    };
    until("all pods on other nodes", have_moved).await;

    let clusters: Api<FoundationDBCluster> = Api::default_namespaced(client.clone());
    clusters.patch("sample", &PatchParams::default(), &Patch::Merge(more)).await.unwrap();
    program
        .says(|line| line.ends_with("available yes, process groups 12/12, pods ready 12/12, held: nothing").then_some(()))
        .await;

    // Otherwise the servers that just started would be waited for.
    knob["spec"]["minimumUptimeSecondsForBounce"] = json!(5);
    let asked = clusters.patch("sample", &PatchParams::default(), &Patch::Merge(knob)).await.unwrap();
    let events: Api<Event> = Api::default_namespaced(client);
    let restarted = async || {
        let all = events.list(&ListParams::default()).await.unwrap().items;
        all.iter().any(|event| event.reason.as_deref() == Some("BouncingProcesses")).then_some(())
    };
    until("the servers being restarted", restarted).await;
    // Not before every server says that it was started as asked.
    let carried_out = async || {
        let status = clusters.get("sample").await.unwrap().status;
        let generation = status.and_then(|status| status.generations?.reconciled);
        (generation.is_some() && generation == asked.metadata.generation).then_some(())
    };
    until("all servers running with the knob", carried_out).await;

    let ended = program.end(Signal::INT).await;
    assert_eq!(ended.code(), Some(0));
    assert!(!file.exists(), "its kubeconfig leads nowhere now");
}
