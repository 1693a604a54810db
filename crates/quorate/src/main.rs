//! Quorate: an operator for databases that live by quorum.

mod bench;
mod clusters;
mod crashes;
mod crds;
mod executable;
mod explain;
mod hosts;
mod identity;
mod kubernetes;
mod map;
mod mutants;
mod plan;
mod playground;
mod replay;
mod run;
mod set_aside;
mod simulate;
mod status;
mod tour;
mod workers;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// An operator for databases that live by quorum: FoundationDB clusters and MatrixOne's LogService.
#[derive(Debug, Parser)]
#[command(name = "quorate", version, arg_required_else_help = true)]
struct Quorate {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the operator.
    Run(run::Run),
    /// Show every cluster in one line, with what is held.
    Status(clusters::Which),
    /// Say why nothing more is done for a cluster: each hold with its numbers, since when, and what would release it; and which fault
    /// domains are set aside.
    Explain(clusters::Which),
    /// Say what will happen to a cluster, step by step, with moves, waves, recoveries and time; nothing is changed.
    Plan(plan::Plan),
    /// Say what would happen if a cluster were asked to be as a changed file says; nothing is changed.
    WhatIf(plan::WhatIf),
    /// Draw where the process groups of a cluster are.
    Map(map::Draw),
    /// Print both CRDs as YAML.
    Crds,
    /// Try Quorate in an embedded world, with nothing installed.
    Playground(playground::Play),
    /// Run the operator in simulated worlds, with virtual time and faults.
    Simulate(simulate::Simulate),
    /// Play a run again that broke something.
    Replay(replay::Replay),
    /// Measure what the operator costs, against its goals.
    Bench(bench::Bench),
    /// Speak to FoundationDB for another quorate, over standard input and output.
    #[command(hide = true)]
    FdbChild(quorate_fdb_client::ChildArguments),
}

/// Whoever reads what is printed may have read enough: that is no failure, and nothing to tell of. Signals are left as they are, for the
/// operator writes to children that may be gone.
fn end_quietly_when_nobody_reads() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let unread = panic.payload_as_str().is_some_and(|text| text.contains("failed printing to stdout: Broken pipe"));
        if unread {
            std::process::exit(0);
        }
        usual(panic);
    }));
}

fn main() -> ExitCode {
    end_quietly_when_nobody_reads();
    let done = match Quorate::parse().command {
        Command::Run(run) => run.run(),
        Command::Status(which) => status::print(&which),
        Command::Explain(which) => explain::print(&which),
        Command::Plan(plan) => plan.run(),
        Command::WhatIf(what_if) => what_if.run(),
        Command::Map(map) => map.run(),
        Command::Crds => return crds::print(),
        Command::Playground(play) => play.run(),
        Command::Simulate(simulate) => simulate.run(),
        Command::Replay(replay) => replay.run(),
        Command::Bench(bench) => bench.run(),
        Command::FdbChild(arguments) => return quorate_fdb_client::child_main(&arguments),
    };
    done.unwrap_or_else(|error| {
        eprintln!("quorate: {error:#}");
        ExitCode::FAILURE
    })
}
