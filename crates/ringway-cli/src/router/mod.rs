//! `ringway router`: routers beside the kernel's own.
//!
//! Each command has a file. Of routers in the kernel [`add`] makes one, [`del`] ends it, and [`port`] has its members. [`list`] and
//! [`stats`] show routers, [`show`] and [`get`] their routes; [`sync`] compares them with the kernel's. [`run`] is a router in a process.
//! `start` is the process that follows the kernel's tables, `background` starts it, and `end` ends it. `words` and [`describe`]
//! have the texts.

pub(crate) mod add;
mod background;
pub(crate) mod del;
pub(crate) mod describe;
pub(crate) mod end;
mod get;
mod list;
mod lock;
mod of;
pub(crate) mod port;
mod rpf;
mod run;
pub(crate) mod setup;
mod show;
mod start;
mod stats;
mod sync;
mod words;

use clap::Subcommand;

use crate::failure::Failure;
use crate::options::{Bpffs, Json, global};

/// Route packets by the kernel's tables, faster than the kernel
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true, mut_arg("json", global), mut_arg("bpffs", global))]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    json: Json,

    #[command(flatten)]
    bpffs: Bpffs,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(Box<add::Add>),
    Del(del::Del),
    #[command(subcommand, arg_required_else_help = true)]
    Port(port::Command),
    List(list::List),
    Stats(stats::Args),
    Show(show::Args),
    Get(get::Args),
    Sync(sync::Args),
    Run(Box<run::Run>),
}

const EXAMPLES: &str = "\
A router in the kernel forwards what its members receive, by the kernel's own routes: `ip route` and routing daemons change them. A \
process follows the kernel's tables and answers these commands, which need root. If it dies, the kernel forwards again 3 s later, \
and `ringway router sync` starts another one. Where there is one router only, it need not be named. `ringway router run` routes \
between ports of any kind, in its own process.

Examples:
  ringway router add r0                      # interfaces that forward become its members
  ringway router list                        # routers, members, state
  ringway router show                        # all routes that the fast path has
  ringway router show 10.0.0.0/8 -r r0       # what is within a prefix
  ringway router get 192.0.2.1               # what becomes of packets there
  ringway router sync                        # is it what the kernel has? exit code 1 if not
  ringway router stats -w 1                  # packets by next hop, every second
  ringway router del r0                      # the kernel forwards again
  ringway router run -p eth0 -p eth1         # a router in this process";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.bpffs.apply()?;
    let console = args.json.console();
    match &args.command {
        Command::Add(add) => add.run(console),
        Command::Del(del) => del.run(console),
        Command::Port(command) => command.run(console),
        Command::List(list) => list.run(console),
        Command::Stats(stats) => stats.run(console),
        Command::Show(show) => show.run(console),
        Command::Get(get) => get.run(console),
        Command::Sync(sync) => sync.run(console),
        Command::Run(run) => run.run(console),
    }
}
