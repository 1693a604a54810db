//! `quorate playground`: the embedded world, the operator and a small cluster in one process, for kubectl to play with.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use quorate_world::Playground;
use tokio::time::Instant;

/// How the playground runs.
#[derive(Debug, Args)]
pub(crate) struct Play {
    /// End by itself after so many seconds.
    #[arg(long)]
    for_seconds: Option<u64>,
}

impl Play {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting the runtime")?;
        runtime.block_on(self.until_stopped())
    }

    async fn until_stopped(&self) -> Result<ExitCode> {
        let playground = Playground::start().await?;
        let kubeconfig = std::env::temp_dir().join(format!("quorate-playground-{}.kubeconfig", std::process::id()));
        std::fs::write(&kubeconfig, playground.kubeconfig()).with_context(|| format!("writing {}", kubeconfig.display()))?;
        introduce(&kubeconfig);
        let ends = self.for_seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => {}
            () = show(&playground) => {}
            () = tokio::time::sleep_until(ends.unwrap_or_else(Instant::now)), if ends.is_some() => {}
        }
        std::fs::remove_file(&kubeconfig).ok();
        Ok(ExitCode::SUCCESS)
    }
}

fn introduce(kubeconfig: &std::path::Path) {
    println!(
        "A small Kubernetes runs in this process: six nodes in three zones, Quorate, and a FoundationDB cluster called sample."
    );
    println!("Use it from another terminal:");
    println!("  export KUBECONFIG={}", kubeconfig.display());
    println!("  kubectl get pods -o wide           what runs where");
    println!("  kubectl delete pod <name>          it comes back, with its volume");
    println!("  kubectl delete node node-a1        its pods move");
    println!("  kubectl get fdb; quorate explain   how it is, and why nothing more is done");
    println!("Ctrl-C ends it.\n");
}

/// Prints a line whenever something worth a line has changed.
async fn show(playground: &Playground) {
    let mut last = String::new();
    loop {
        let (ready, pods) = playground.ready_pods();
        for (cluster, decision) in playground.shown.decisions() {
            let status = &decision.status;
            let available = status.available.map_or("not known", |yes| if yes { "yes" } else { "no" });
            let mut reasons: Vec<_> = decision.holds.iter().map(|hold| format!("{} ({})", hold.reason, hold.about)).collect();
            reasons.truncate(3);
            let held = if reasons.is_empty() { "nothing".to_owned() } else { reasons.join(", ") };
            let line = format!(
                "{cluster}: available {available}, process groups {}/{}, pods ready {ready}/{pods}, held: {held}",
                status.reconciled_groups, status.desired_groups
            );
            if line != last {
                println!("{line}");
                last = line;
            }
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}
