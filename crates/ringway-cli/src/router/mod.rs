//! `ringway route`: routers beside the kernel's own.
//!
//! Each command has a file: [`run`], a router in a process; of routers in the kernel [`show`], [`get`], [`sync`], [`stats`]. [`start`] makes a router and follows the kernel's tables, for
//! `ringway vale add`; [`end`] ends that process. [`words`] has next hops in words.

pub(crate) mod add;
pub(crate) mod describe;
pub(crate) mod end;
mod get;
mod lock;
mod run;
mod show;
pub(crate) mod start;
mod stats;
mod sync;
mod words;

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use ringway_fwd::router::Rpf;
use ringway_router::follow::Ask;
use ringway_router::kernel::{Router, routers};

use crate::console::Console;
use crate::failure::Failure;
use crate::visible::check_seen;

/// Route packets by the kernel's tables, faster than the kernel; show what routers forward
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,

    /// Print JSON; the help of each command has the keys
    #[arg(long, global = true)]
    json: bool,

    /// Directory of the routers, in a BPF file system; default: $RINGWAY_BPFFS or /sys/fs/bpf/ringway
    #[arg(long, global = true, value_name = "DIR")]
    bpffs: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Run>),
    Show(show::Args),
    Get(get::Args),
    Sync(sync::Args),
    Stats(stats::Args),
}

const EXAMPLES: &str = "\
`ringway route run` routes between ports of any kind, in its process. A router in the kernel is made by `ringway vale add vale0 --module router` and removed by `ringway vale del vale0`. Its routes are the kernel's: `ip \
route` and routing daemons change them. A process follows the kernel's tables and answers these commands, which need root. If it \
dies, the kernel forwards again 3 s later, and `ringway route sync` starts another one. Where there is one router only, it \
need not be named.

Examples:
  ringway route run -p eth0 -p eth1         # a router in this process
  ringway route show                        # all that the fast path has
  ringway route show 10.0.0.0/8 -r vale0    # what is within a prefix
  ringway route get 192.0.2.1               # what becomes of packets there
  ringway route sync                        # is it what the kernel has? exit code 1 if not
  ringway route stats -w 1                  # packets by next hop, every second";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(dir) = &args.bpffs {
        ringway::switch::set_root(dir)?;
    }
    let console = Console { json: args.json };
    match &args.command {
        Command::Run(run) => run.run(console),
        Command::Show(show) => show.run(console),
        Command::Get(get) => get.run(console),
        Command::Sync(sync) => sync.run(console),
        Command::Stats(stats) => stats.run(console),
    }
}

/// A reverse path filter, as options have it.
pub(crate) fn rpf(text: &str) -> Result<Rpf, String> {
    match text {
        "off" => Ok(Rpf::Off),
        "loose" => Ok(Rpf::Loose),
        "strict" => Ok(Rpf::Strict),
        _ => Err("accepted: off, loose, strict".into()),
    }
}

/// Which router.
#[derive(Debug, clap::Args)]
struct Of {
    /// Name of the router; needed where there is more than one
    #[arg(short, long, value_name = "NAME")]
    router: Option<String>,
}

/// How long answers may take that only look into tables: they may have to wait for a reading of the kernel's.
const PATIENCE: Duration = Duration::from_secs(30);

impl Of {
    fn name(&self) -> Result<String, Failure> {
        if let Some(name) = &self.router {
            return Ok(name.clone());
        }
        match &routers()[..] {
            [one] => Ok(one.clone()),
            [] => {
                check_seen()?;
                let what = "there is no router; `ringway vale add vale0 --module router` makes one";
                Err(Failure::Other(what.into()))
            }
            several => {
                Err(Failure::Usage(format!("name one of the routers with -r: {}", several.join(", "))))
            }
        }
    }

    fn ask(&self) -> Result<Ask, Failure> {
        let name = self.name()?;
        // without a router there is no process either
        let why = |e| Router::open(&name).err().unwrap_or(e);
        Ok(Ask::open(&name, PATIENCE).map_err(why)?)
    }
}
