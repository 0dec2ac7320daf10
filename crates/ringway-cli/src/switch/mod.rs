//! `ringway vale`: switches, their ports and tables; routers.
//!
//! Each group of commands has a file: [`switch`] for those on switches, [`port`], [`conf`], [`fdb`], [`list`], [`stats`]; [`router`] for those on routers. [`access`]
//! turns users, groups and modes into what the library takes. All print with [`Console`]: text, or one JSON object whose keys the
//! help of each command lists.

mod access;
mod add;
mod fdb;
mod list;
mod port;
mod settings;
mod stats;

use std::path::PathBuf;

use clap::Subcommand;
use ringway::switch::{Switch, is_router, set_root, switches};
use ringway_traffic::units::many;

use crate::console::Console;
use crate::failure::Failure;

/// Make, show and change switches, which forward in their senders: no daemon
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,

    /// Print one JSON object, a line; the help of each command has the keys
    #[arg(long, global = true)]
    json: bool,

    /// Directory of the switches, in a BPF file system; default: $RINGWAY_BPFFS or /sys/fs/bpf/ringway
    #[arg(long, global = true, value_name = "DIR")]
    bpffs: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(Box<add::Add>),
    Del(add::Del),
    Reload(add::Reload),
    #[command(subcommand, arg_required_else_help = true)]
    Port(port::Command),
    List(list::Args),
    Stats(stats::Args),
    #[command(subcommand, arg_required_else_help = true)]
    Fdb(fdb::Command),
}

const EXAMPLES: &str = "\
A switch is called vale and up to 11 letters, digits, _ or -; its ports are opened as vale0:p1 by any program of Ringway. A \
port that is opened without having been made is ephemeral, and goes away with its last user. Making, changing and listing \
switches needs root; using a port needs access to it, no capability.

Commands on another directory than the default find the ports there with RINGWAY_BPFFS=DIR.

Examples:
  ringway vale add vale0                                   # a switch
  ringway vale add vale1 --module router                   # a router beside the kernel's: ringway route --help
  ringway vale port add vale0:p1 --owner alice             # a port that alice may use
  ringway pkt-gen -i vale0:p1 -f rx                        # alice receives; no root
  ringway pkt-gen -i vale0:p2 -f tx                        # root sends from an ephemeral port
  ringway vale list                                        # what there is
  ringway vale stats vale0 -w 1                            # its counters, every second
  ringway vale fdb list vale0                              # the addresses it knows
  ringway vale del vale0";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(dir) = &args.bpffs {
        set_root(dir)?;
    }
    let console = Console { json: args.json };
    match &args.command {
        Command::Add(add) => add.run(console),
        Command::Del(del) => del.run(console),
        Command::Reload(reload) => reload.run(console),
        Command::Port(command) => command.run(console),
        Command::List(list) => list.run(console),
        Command::Stats(stats) => stats.run(console),
        Command::Fdb(command) => command.run(console),
    }
}

/// The switch of that name, or all. None for the name of a router.
fn chosen(name: Option<&str>) -> Result<Vec<Switch>, Failure> {
    if name.is_some_and(is_router) {
        return Ok(Vec::new());
    }
    let names = name.map_or_else(switches, |name| vec![name.to_owned()]);
    Ok(names.iter().map(|name| Switch::open(name)).collect::<Result<_, _>>()?)
}

/// A port as `SWITCH:PORT`.
#[derive(Debug, Clone)]
struct PortOf {
    switch: String,
    port: String,
}

impl std::str::FromStr for PortOf {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(ringway::PortName::Vale { switch, port }) => Ok(Self { switch, port }),
            Ok(_) => Err("accepted: SWITCH:PORT such as vale0:p1".into()),
            Err(_) => {
                Err("accepted: SWITCH:PORT such as vale0:p1; the port has 1 to 31 letters, digits, _ or -, \
                           the switch is called vale and up to 11 of them"
                    .into())
            }
        }
    }
}
