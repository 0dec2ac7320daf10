//! `ringway switch`: switches, their ports and tables. The command was called `vale`, and is still found by that name; with it go the
//! words for routers, which have a command of their own now.
//!
//! Each command has a file: [`add`], [`del`], [`reload`], [`port`] with [`set`] and [`settings`], [`fdb`], [`list`], [`stats`]. [`access`]
//! turns users, groups and modes into what the library takes.

mod access;
mod add;
mod del;
mod fdb;
mod list;
mod memif;
mod names;
mod port;
mod reload;
mod set;
mod settings;
mod shown;
pub(crate) mod station;
mod stats;
pub(crate) mod values;
mod words;

use clap::Subcommand;

use crate::failure::Failure;
use crate::options::{Bpffs, Json, global};
pub(crate) use names::Scope;

/// Make, show and change switches, which forward in their senders: no daemon
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
    Reload(reload::Reload),
    #[command(subcommand, arg_required_else_help = true)]
    Port(Box<port::Command>),
    List(list::Args),
    Stats(stats::Args),
    #[command(subcommand, arg_required_else_help = true)]
    Fdb(fdb::Command),
}

const EXAMPLES: &str = "\
A switch is called vale and up to 11 letters, digits, _ or -. Any program of Ringway opens its ports as vale0:p1. A \
port that is opened without having been made is ephemeral, and goes away with its last user. Making, changing and listing \
switches needs root; using a port needs access to it, no capability.

Commands on another directory than the default find the ports there with RINGWAY_BPFFS=DIR.

Examples:
  ringway switch add vale0                          # a switch
  ringway switch port add vale0:p1 --owner alice    # a port that alice may use
  ringway pkt-gen -i vale0:p1 -f rx                 # alice receives; no root
  ringway pkt-gen -i vale0:p2 -f tx                 # root sends from an ephemeral port
  ringway switch add vale0:eth1                     # an interface becomes a port
  ringway switch port add vale0:m1 --memif /run/memif.sock  # a program of DPDK or VPP becomes one
  ringway switch list                               # what there is
  ringway switch stats vale0 -w 1                   # its counters, every second
  ringway switch fdb list vale0                     # the addresses it knows
  ringway switch del vale0";

pub(crate) fn run(args: &Args, scope: Scope) -> Result<(), Failure> {
    args.bpffs.apply()?;
    let console = args.json.console();
    match &args.command {
        Command::Add(add) => add.run(console),
        Command::Del(del) => del.run(console),
        Command::Reload(reload) => reload.run(console),
        Command::Port(command) => command.run(console),
        Command::List(list) => list.run(scope, console),
        Command::Stats(stats) => stats.run(scope, console),
        Command::Fdb(command) => command.run(console),
    }
}
