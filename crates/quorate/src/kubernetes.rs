//! What a live Kubernetes is asked, as the kubeconfig says.

use anyhow::{Context, Result, anyhow};
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::{Api, Client, Config};
use quorate_api::foundationdb::FoundationDBCluster;
use tokio::runtime::Runtime;

pub(crate) struct Kubernetes {
    runtime: Runtime,
    client: Client,
    server: String,
}

impl Kubernetes {
    pub(crate) fn connect() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the runtime")?;
        let (client, server) = runtime.block_on(async {
            let config = Config::infer().await.map_err(|error| anyhow!("{}", no_kubeconfig(&error)))?;
            let server = config.cluster_url.to_string();
            anyhow::Ok((Client::try_from(config).context("connecting as the kubeconfig says")?, server))
        })?;
        Ok(Self { runtime, client, server })
    }

    /// The clusters of a namespace, or of all of them.
    pub(crate) fn clusters(&self, namespace: Option<&str>) -> Result<Vec<FoundationDBCluster>> {
        let client = self.client.clone();
        let api: Api<FoundationDBCluster> = match namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        };
        let listed = self.runtime.block_on(api.list(&ListParams::default()));
        Ok(listed.with_context(|| format!("listing FoundationDBClusters at {}", self.server))?.items)
    }

    /// One cluster, if it is there.
    pub(crate) fn cluster(&self, namespace: &str, name: &str) -> Result<Option<FoundationDBCluster>> {
        let api: Api<FoundationDBCluster> = Api::namespaced(self.client.clone(), namespace);
        let found = self.runtime.block_on(api.get_opt(name));
        found.with_context(|| format!("reading the FoundationDBCluster {namespace}/{name} at {}", self.server))
    }

    /// Every node; `None` where listing them is forbidden, which is usual for those who may look at one namespace.
    pub(crate) fn nodes(&self) -> Result<Option<Vec<Node>>> {
        let api: Api<Node> = Api::all(self.client.clone());
        match self.runtime.block_on(api.list(&ListParams::default())) {
            Ok(nodes) => Ok(Some(nodes.items)),
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
            Err(error) => Err(error).with_context(|| format!("listing nodes at {}", self.server)),
        }
    }
}

/// What is wrong with the kubeconfig, once: its error names the same cause several times.
fn no_kubeconfig(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let innermost = causes.last().map_or_else(String::new, ToString::to_string);
    let file = std::env::var("KUBECONFIG").map_or_else(|_| "~/.kube/config".to_owned(), |file| format!("KUBECONFIG={file}"));
    format!("{file} can't be used, and this is no pod with an account of its own: {innermost}")
}
