//! The names of pods, for the operator's child process: it is outside of the pods' network namespaces, and so of their hosts files.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::task::JoinHandle;

/// The hosts file of the operator's child.
pub static HOSTS: LazyLock<PathBuf> = LazyLock::new(|| {
    let file = crate::FILES.join("hosts");
    std::fs::write(&file, "127.0.0.1 localhost\n").unwrap();
    file
});

/// Arguments of `unshare` that run a program with another hosts file, in its own place.
pub fn with_hosts(hosts: &Path, program: &Path) -> Vec<String> {
    const SCRIPT: &str = r#"mount --bind "$0" /etc/hosts && exec "$@""#;
    let [hosts, program] = [hosts, program].map(|path| path.display().to_string());
    ["--mount", "sh", "-c", SCRIPT, &hosts, &program].map(str::to_owned).to_vec()
}

/// Whoever makes names known, as a cluster's name service does: from now on, until it is dropped.
pub struct Names(JoinHandle<()>);

impl Names {
    pub fn publish(client: Client, namespace: &str) -> Self {
        let pods: Api<Pod> = Api::namespaced(client, namespace);
        Self(tokio::spawn(async move {
            loop {
                if let Ok(pods) = pods.list(&ListParams::default()).await {
                    let lines: String = pods.items.iter().filter_map(line).collect();
                    // In place: whoever has it mounted sees it.
                    std::fs::write(&*HOSTS, format!("127.0.0.1 localhost\n{lines}")).unwrap();
                }
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
        }))
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn line(pod: &Pod) -> Option<String> {
    let (spec, address) = (pod.spec.as_ref()?, pod.status.as_ref()?.pod_ip.as_ref()?);
    let namespace = pod.metadata.namespace.as_ref()?;
    let name = format!("{}.{}.{namespace}.svc", spec.hostname.as_ref()?, spec.subdomain.as_ref()?);
    Some(format!("{address} {name}.cluster.local {name}\n"))
}
