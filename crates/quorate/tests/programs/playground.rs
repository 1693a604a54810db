//! `quorate playground`, as somebody plays with it from another terminal.

use std::path::PathBuf;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use rustix::process::Signal;

use super::{Program, until};

#[tokio::test]
async fn a_deleted_pod_comes_back_and_ctrl_c_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::start(&["playground"], folder.path(), &[]);
    let file = program.says(|line| line.trim().strip_prefix("export KUBECONFIG=").map(PathBuf::from)).await;
    program
        .says(|line| line.ends_with("available yes, process groups 11/11, pods ready 11/11, held: nothing").then_some(()))
        .await;

    let kubeconfig = Kubeconfig::read_from(&file).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let pods: Api<Pod> = Api::default_namespaced(Client::try_from(config).unwrap());
    let all = pods.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(all.len(), 11);
    let (name, uid) = (all[0].metadata.name.clone().unwrap(), all[0].metadata.uid.clone());
    pods.delete(&name, &DeleteParams::default().grace_period(0)).await.unwrap();
    let made_again = async || pods.get_opt(&name).await.unwrap().filter(|pod| pod.metadata.uid != uid);
    until("another pod of its name", made_again).await;

    let ended = program.end(Signal::INT).await;
    assert_eq!(ended.code(), Some(0));
    assert!(!file.exists(), "its kubeconfig leads nowhere now");
}
