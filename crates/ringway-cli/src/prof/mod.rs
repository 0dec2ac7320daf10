//! `ringway prof`: where the cycles of a packet go, and what they allow.

mod sweep;

use clap::Subcommand;

use crate::failure::Failure;

/// Where the cycles of a packet go: sweeps over loads, predictions, what a change would bring
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Sweep(Box<sweep::Args>),
}

const EXAMPLES: &str = "\
docs/profiling.md is the guide.

Examples:
  ringway prof sweep sizes.json --dut linux-forward --over size    # the cost of a packet by frame size
  ringway prof sweep sizes.json                                    # go on after Ctrl-C";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Sweep(args) => sweep::run(args),
    }
}
