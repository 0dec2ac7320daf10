//! `ringway prof`: where the cycles of a packet go, and what they allow.

mod counter;
mod diff;
mod files;
mod flame;
mod live;
mod model;
mod predict;
mod record;
mod stages;
mod sweep;
mod target;
mod vantage;
mod whatif;

use clap::Subcommand;

use crate::failure::Failure;

/// Where the cycles of a packet go: record a path, split its cost into groups of functions, draw it, predict rates
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Record(Box<record::Args>),
    Live(live::Args),
    Model(model::Args),
    Flame(flame::Args),
    Diff(diff::Args),
    Sweep(Box<sweep::Args>),
    Predict(predict::Args),
    Whatif(whatif::Args),
    Vantage(vantage::Args),
}

const EXAMPLES: &str = "\
A profile has samples of all functions on the path of packets, with their callers, the exact time of the path, and the packets that crossed
it. So the cost of a packet splits into groups, such as RX, routing and free. No hardware counter is needed. docs/profiling.md is the guide.

Examples:
  ringway prof record --cpu 0 --packets eth1:tx -o a.prof   # Linux forwards on CPU 0, packets leave by eth1
  ringway prof live --cpu 0 --packets eth1:tx               # the same, a line every two seconds
  ringway prof model a.prof                                  # cycles a packet, by group
  ringway prof flame a.prof -o a.svg                         # a flame graph in the colours of the groups
  ringway prof diff a.prof b.prof                            # what changed, and whether it is more than chance
  ringway prof sweep sizes.json --dut linux-forward --over size   # the cost by frame size
  ringway prof predict sizes.json --at 300                   # the rate of a size between
  ringway prof whatif --paper 64 routing=-50%                # what a change would bring";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Record(args) => record::run(args),
        Command::Live(args) => live::run(args),
        Command::Model(args) => model::run(args),
        Command::Flame(args) => flame::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Sweep(args) => sweep::run(args),
        Command::Predict(args) => predict::run(args),
        Command::Whatif(args) => whatif::run(args),
        Command::Vantage(args) => vantage::run(args),
    }
}
