//! `quorate playground`: the embedded world, the operator and a small cluster in one process, for kubectl to play with.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use quorate_fdb_client::Children;
use quorate_world::{Playground, RealPrograms};
use tokio::time::Instant;

/// How the playground runs.
#[derive(Debug, Args)]
pub(crate) struct Play {
    /// End by itself after so many seconds.
    #[arg(long)]
    for_seconds: Option<u64>,
    /// Run pods as real fdbserver processes in network namespaces, instead of a model; needs root and `ip`.
    #[arg(long)]
    real: bool,
    /// The folder with fdbserver and libfdb_c.so, for `--real`.
    #[arg(long, env = "QUORATE_FDB_BIN", value_name = "DIR")]
    fdb_bin: Option<PathBuf>,
    /// Play stories of a cluster's life in virtual time, all of them or the one that is named, and say whether all was as expected.
    #[arg(long, value_name = "CHAPTER", num_args = 0..=1, default_missing_value = "", conflicts_with = "for_seconds")]
    tour: Option<String>,
}

impl Play {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        if let Some(chapter) = &self.tour {
            return crate::tour::play(chapter);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting the runtime")?;
        runtime.block_on(self.until_stopped())
    }

    async fn until_stopped(&self) -> Result<ExitCode> {
        let playground = if self.real {
            Playground::start_real(real_programs(self.fdb_bin.as_deref())?).await?
        } else {
            Playground::start().await?
        };
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
        playground.end().await;
        Ok(ExitCode::SUCCESS)
    }
}

/// What real pods need, or the first thing that is missing.
fn real_programs(folder: Option<&Path>) -> Result<RealPrograms> {
    let folder = folder.context("--real needs a folder with fdbserver and libfdb_c.so: --fdb-bin DIR or QUORATE_FDB_BIN")?;
    let fdbserver = folder.join("fdbserver");
    let asked = Command::new(&fdbserver).arg("--version").output();
    let said = asked.with_context(|| format!("asking {} for its version", fdbserver.display()))?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = said.split("(v").nth(1).and_then(|rest| rest.split(')').next());
    let version = version.with_context(|| format!("{} says no version: {said}", fdbserver.display()))?.to_owned();
    let library = folder.join("libfdb_c.so");
    ensure!(library.is_file(), "{} is missing", library.display());
    if let Some(missing) = quorate_world::processes::missing() {
        bail!("pods can't be real processes here: {missing}");
    }
    let program = std::env::current_exe().context("looking for this executable, which is also the client of FoundationDB")?;
    let client = Children::new(quorate_fdb_client::Settings::new(program, folder.to_owned()));
    Ok(RealPrograms { fdbserver, version, client: Arc::new(client) })
}

/// Edits of the spec, to be typed as they are.
const EDITS: &str = r#"  kubectl patch fdb sample --type=merge -p '{"spec":{"processCounts":{"storage":5}}}'
                                     one more storage process
  kubectl patch fdb sample --type=merge -p '{"spec":{"processes":{"general":{"customParameters":["knob_max_trace_lines=200000"]}}}}'
                                     another knob: all servers are restarted together, but none that just started:
                                     each runs for a minute first (the object's minimumUptimeSecondsForBounce)"#;

fn introduce(kubeconfig: &std::path::Path) {
    println!(
        "A small Kubernetes runs in this process: six nodes in three zones, Quorate, and a FoundationDB cluster called sample."
    );
    println!("Use it from another terminal:");
    println!("  export KUBECONFIG={}", kubeconfig.display());
    println!("  kubectl get pods -o wide           what runs where");
    println!("  kubectl delete pod <name>          it comes back, with its volume");
    println!("  kubectl delete node node-a1        its pods move");
    println!("{EDITS}");
    println!("  kubectl get fdb; quorate explain   how it is, and why nothing more is done");
    println!("Ctrl-C ends it.\n");
}

/// Shows the state: as a screen that is drawn again on a terminal, line by line otherwise.
async fn show(playground: &Playground) {
    let on_a_terminal = std::io::stdout().is_terminal();
    let mut last = String::new();
    loop {
        let text = if on_a_terminal { screen(playground) } else { summary(playground) };
        if text != last && !text.is_empty() {
            if on_a_terminal {
                print!("{}", drawing(&last, &text, rows()));
                // A terminal that can't be written to will be noticed by its owner.
                std::io::stdout().flush().ok();
            } else {
                println!("{text}");
            }
            last = text;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

/// How many lines the terminal has; as many as one likes, if it does not say.
fn rows() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    size.map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0).unwrap_or(usize::MAX)
}

/// What moves back over what was drawn below the introduction, and draws in its place. Lines are not wrapped, and what the terminal has no
/// room for is left out: the way back is counted in lines, and ends at the top of the terminal.
fn drawing(before: &str, text: &str, rows: usize) -> String {
    // The cursor stands below the last line.
    let room = rows.saturating_sub(1).max(1);
    let back = before.lines().count().min(room);
    let back = if back > 0 { format!("\x1b[{back}A\x1b[J") } else { String::new() };
    let lines = text.lines().count();
    let shown = if lines <= room { lines } else { room - 1 };
    let mut drawn: String = text.lines().take(shown).flat_map(|line| [line, "\n"]).collect();
    if shown < lines {
        drawn.push_str(&format!("and {} more lines\n", lines - shown));
    }
    format!("{back}\x1b[?7l{drawn}\x1b[?7h")
}

/// One line per cluster.
fn summary(playground: &Playground) -> String {
    let (ready, pods) = playground.ready_pods();
    let lines = playground.shown.decisions().into_iter().map(|(cluster, decision)| {
        let status = &decision.status;
        let mut reasons: Vec<_> = decision.holds.iter().map(|hold| format!("{} ({})", hold.reason, hold.about)).collect();
        reasons.truncate(3);
        let held = if reasons.is_empty() { "nothing".to_owned() } else { reasons.join(", ") };
        let (groups, of) = (status.reconciled_groups, status.desired_groups);
        let available = available(status.available);
        format!("{cluster}: available {available}, process groups {groups}/{of}, pods ready {ready}/{pods}, held: {held}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Clusters with what is held, and every pod with its node.
fn screen(playground: &Playground) -> String {
    let mut text = String::new();
    for (cluster, decision) in playground.shown.decisions() {
        let status = &decision.status;
        let (groups, of) = (status.reconciled_groups, status.desired_groups);
        text.push_str(&format!("{cluster}   available: {}   process groups: {groups}/{of}\n", available(status.available)));
        for step in &decision.steps {
            text.push_str(&format!("  doing: {}\n", step.why));
        }
        for hold in &decision.holds {
            text.push_str(&format!("  held: {} ({}): {}\n", hold.reason, hold.about, hold.sentence));
        }
    }
    text.push_str("\nNODE       PODS\n");
    for (node, pods) in playground.pods_by_node() {
        let shown: Vec<String> =
            pods.into_iter().map(|(name, ready)| if ready { name } else { format!("{name} (not ready)") }).collect();
        text.push_str(&format!("{node:<10} {}\n", shown.join("  ")));
    }
    text
}

fn available(available: Option<bool>) -> &'static str {
    available.map_or("not known", |yes| if yes { "yes" } else { "no" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_drawn_over_the_one_before_without_wrapping() {
        assert_eq!(drawing("", "a\nb\n", usize::MAX), "\x1b[?7la\nb\n\x1b[?7h");
        assert_eq!(drawing("a\nb\n", "c\n", usize::MAX), "\x1b[2A\x1b[J\x1b[?7lc\n\x1b[?7h");
    }

    #[test]
    fn no_more_is_drawn_than_the_terminal_has_lines() {
        let text = "a\nb\nc\nd\n";
        assert_eq!(drawing("", text, 5), "\x1b[?7la\nb\nc\nd\n\x1b[?7h");
        assert_eq!(drawing("", text, 4), "\x1b[?7la\nb\nand 2 more lines\n\x1b[?7h");
        assert_eq!(drawing(text, text, 4), "\x1b[3A\x1b[J\x1b[?7la\nb\nand 2 more lines\n\x1b[?7h", "as far back as was drawn");
        assert_eq!(drawing("", text, 1), "\x1b[?7land 4 more lines\n\x1b[?7h");
    }
}
