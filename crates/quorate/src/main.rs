//! Quorate: an operator for databases that live by quorum.

mod crds;
mod playground;

use clap::{Parser, Subcommand};

/// An operator for databases that live by quorum: FoundationDB clusters and MatrixOne's LogService.
#[derive(Debug, Parser)]
#[command(name = "quorate", version, arg_required_else_help = true)]
struct Quorate {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print both CRDs as YAML.
    Crds,
    /// Try Quorate in an embedded world, with nothing installed.
    Playground,
}

fn main() -> std::process::ExitCode {
    match Quorate::parse().command {
        Command::Crds => crds::print(),
        Command::Playground => playground::run(),
    }
}
