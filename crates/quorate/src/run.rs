//! `quorate run`: the operator in production.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use kube::{Client, Config};
use quorate_fdb_client::Children;
use quorate_operator::{LeaseSettings, Operator, Settings, SystemClock, router};
use tokio_util::sync::CancellationToken;

use crate::identity::Identity;

/// How the operator runs.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The namespace to watch; all of them if it is not given.
    #[arg(long, env = "WATCH_NAMESPACE")]
    namespace: Option<String>,
    /// The namespace of the lease that says who leads.
    #[arg(long, env = "POD_NAMESPACE", default_value = "default")]
    lease_namespace: String,
    /// The name of that lease.
    #[arg(long, default_value = "quorate")]
    lease_name: String,
    /// Who this process is; something that no other process has is added.
    #[arg(long, env = "POD_NAME", default_value = "quorate")]
    identity: String,
    /// How many clusters are worked on at once.
    #[arg(long, default_value_t = 16)]
    rounds_at_once: usize,
    /// Where health, metrics and decisions are served.
    #[arg(long, default_value = "0.0.0.0:8080")]
    listen: SocketAddr,
    /// The folder with FoundationDB's client libraries, such as libfdb_c_7.3.63.so.
    #[arg(long, env = "FDB_LIBRARY_DIR", default_value = "/usr/lib/fdb")]
    fdb_library_dir: PathBuf,
    /// What is shown to databases that speak TLS.
    #[command(flatten)]
    tls: Identity,
    /// Write the log as JSON.
    #[arg(long)]
    json_log: bool,
}

/// A name that no other process has, not even the same container started again: two that share one would both lead.
fn unique(name: &str) -> String {
    format!("{name}_{:016x}", RandomState::new().build_hasher().finish())
}

impl Run {
    pub(crate) fn run(self) -> Result<ExitCode> {
        log_to_stderr(self.json_log);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting the runtime")?;
        runtime.block_on(self.until_stopped())
    }

    async fn until_stopped(self) -> Result<ExitCode> {
        let Self { namespace, lease_namespace, lease_name, identity, rounds_at_once, listen, fdb_library_dir, tls, json_log: _ } =
            self;
        let tls = tls.check()?;
        let mut config = Config::infer().await.context("looking for a kubeconfig or a service account")?;
        // Retries are the operator's own: a write that is silently sent again would answer a question nobody asked.
        config.default_retry = false;
        let client = Client::try_from(config).context("making a Kubernetes client")?;
        let lease = LeaseSettings::new(lease_namespace, lease_name, unique(&identity));
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        let settings = Settings { namespace, rounds_at_once: rounds_at_once.max(1), lease };
        let program = std::env::current_exe().context("looking for this executable, which is also the client of FoundationDB")?;
        let databases = Children::new(quorate_fdb_client::Settings::new(program, fdb_library_dir));
        let operator = Operator::new(client, Arc::new(SystemClock), Arc::new(databases), settings).with_identity(tls);
        let listener = tokio::net::TcpListener::bind(listen).await.with_context(|| format!("listening on {listen}"))?;
        // Whoever asked for any free port learns which one it is.
        let address = listener.local_addr().with_context(|| format!("reading which port {listen} is"))?;
        tracing::info!(%address, "serving health, metrics and decisions");
        let serving = tokio::spawn(axum::serve(listener, router(operator.shown())).into_future());
        let stop = CancellationToken::new();
        let signalled = stop.clone();
        tokio::spawn(async move {
            stop_signal().await;
            tracing::info!("asked to stop");
            signalled.cancel();
        });
        operator.run(stop.clone()).await;
        serving.abort();
        // Without having been asked to stop, it ended because it lost the lease: to be started again.
        Ok(if stop.is_cancelled() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Ctrl-C, or what Kubernetes sends.
async fn stop_signal() {
    let terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
    let interrupted = tokio::signal::ctrl_c();
    match terminate {
        Ok(mut terminate) => {
            tokio::select! {
                biased;
                _ = terminate.recv() => {}
                _ = interrupted => {}
            }
        }
        Err(_) => drop(interrupted.await),
    }
}

fn log_to_stderr(json: bool) {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if json { builder.json().init() } else { builder.init() }
}
