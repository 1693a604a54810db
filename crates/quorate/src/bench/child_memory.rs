//! What one child that speaks to FoundationDB keeps in memory: with one cluster, and with as many as it may have.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::future::try_join_all;
use quorate_fdb_client::{Answer, Call, Children, FoundationDb, Look, Settings, Target};

use super::Measured;
use super::fdbserver::{self, Server};

/// As many clusters as a child may have.
const CLUSTERS: usize = 16;
/// Every cluster is looked at so often, so that what a look leaves behind is there.
const LOOKS: usize = 20;
const DEADLINE: Duration = Duration::from_secs(20);

pub(super) fn measure() -> Result<Measured> {
    let Some(programs) = fdbserver::programs() else { return Ok(Measured::not_run("QUORATE_FDB_BIN is not set")) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure_with(&programs))
}

async fn measure_with(programs: &Path) -> Result<Measured> {
    let version = fdbserver::version(programs).await?;
    let program = std::env::current_exe().context("looking for this executable, which is also the child")?;
    let children = Children::new(Settings::new(program, programs.to_owned()));
    let servers = (1..=CLUSTERS).map(|number| Server::start(programs, number)).collect::<Result<Vec<_>>>()?;
    try_join_all(servers.iter().map(Server::create)).await?;
    let target = |(server, number): (&Server, usize)| Target {
        cluster: format!("bench/cluster-{number}"),
        connection: server.connection.clone(),
        version: version.clone(),
        tls: None,
    };
    let targets: Vec<_> = servers.iter().zip(1..).map(target).collect();
    let one = resident_after_looks(&children, &targets[..1]).await?;
    let all = resident_after_looks(&children, &targets).await?;
    children.close().await;
    let note = format!("MiB resident with {CLUSTERS} clusters of FoundationDB {version}; with 1 cluster {one:.1} MiB");
    Ok(Measured { value: Some(all), baseline: Some(one), note })
}

/// The child's resident memory in MiB, after each of these databases was looked at.
async fn resident_after_looks(children: &Children, targets: &[Target]) -> Result<f64> {
    for _ in 0..LOOKS {
        for target in targets {
            let call = Call::Look(Look { exclusions: true, ranges: Vec::new() });
            match children.call(target, call, DEADLINE).await {
                Ok(Answer::Seen(_)) => {}
                Ok(other) => bail!("{} answered a look with {other:?}", target.cluster),
                Err(failure) => bail!("looking at {}: {failure}", target.cluster),
            }
        }
    }
    match children.process_ids().as_slice() {
        [child] => resident(*child),
        several => bail!("{} children run where one should", several.len()),
    }
}

/// What Linux says is resident, in MiB.
fn resident(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    kib.map(|kib| kib / 1024.0).with_context(|| format!("{path} does not say what is resident"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_what_it_has_resident() {
        assert!(resident(std::process::id()).unwrap() > 0.5);
    }
}
