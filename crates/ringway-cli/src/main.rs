//! The `ringway` command: it reads the command line, opens ports, starts loops and prints.
//!
//! Each command has a file or folder of its own, and `options` has the options that several commands share. Results go to standard
//! output. With `--json` they are one JSON object, and all else goes to standard error. Errors are one line, with a number that `ringway explain` knows.
//!
//! | exit code | means |
//! | --- | --- |
//! | 0 | success, also after Ctrl-C |
//! | 1 | a failure, also of a benchmark that Ctrl-C cut short |
//! | 2 | the command line has to change: a wrong name, option or value, or a port that can't do what it is named for |
#![forbid(unsafe_code)]

#[cfg(feature = "bench")]
mod bench;
mod bounded_log;
mod bridge;
mod capture;
mod cni;
mod completion;
mod config;
mod console;
mod counters;
#[cfg(feature = "bench")]
mod demo;
mod doctor;
mod durations;
mod errors;
mod existing_names;
mod explain;
mod exporter;
mod extcap;
mod failure;
mod fib;
mod flows;
mod handover;
mod help;
#[cfg(not(feature = "bench"))]
mod left_out;
mod link;
mod man;
mod options;
mod pkt_gen;
mod prof;
mod refusal;
mod rfc2544;
mod rfc2889;
mod router;
mod run;
mod screen;
mod selection;
mod stage_costs;
mod stats;
mod stop;
mod switch;
mod tester;
mod top;
mod units;
mod visible;
mod words;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use failure::Failure;
use switch::Scope;

/// Packet rings and buffers mapped into programs: generate, forward and count packets
#[derive(Debug, Parser)]
#[command(name = "ringway", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Work in this network namespace: a name of `ip netns`, a process in it, or its file, as /proc/PID/ns/net
    #[arg(long, global = true, display_order = 901, value_name = "NAME|PID|PATH")]
    netns: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    PktGen(Box<pkt_gen::Args>),
    Bridge(bridge::Args),
    Capture(capture::Args),
    Extcap(extcap::Args),
    Cni(cni::Args),
    Run(run::Args),
    Switch(Box<switch::Args>),
    /// The same as ringway switch, and words for routers, by the name of old
    #[command(hide = true)]
    Vale(Box<switch::Args>),
    #[command(alias = "route")]
    Router(Box<router::Args>),
    Apply(config::apply::Args),
    Export(config::export::Args),
    Stats(stats::Args),
    Exporter(exporter::Args),
    Top(top::Args),
    #[cfg(feature = "bench")]
    Bench(bench::Args),
    Fib(fib::Args),
    Flows(flows::Args),
    Prof(prof::Args),
    Rfc2544(Box<rfc2544::Args>),
    Rfc2889(Box<rfc2889::Args>),
    #[cfg(feature = "bench")]
    Demo(demo::Args),
    #[cfg(not(feature = "bench"))]
    #[command(flatten)]
    LeftOut(left_out::Command),
    Doctor(doctor::Args),
    Explain(explain::Args),
    #[command(hide = true)]
    ManPages(man::Args),
}

const EXAMPLES: &str = "\
Ports:
  ebpf:eth0 or eth0            an interface; ebpf:eth0-2 is one queue, ebpf:eth0^ its host rings
  packet:eth0                  by packet sockets: any driver; copies, the host has them too
  pipe:NAME{ID and pipe:NAME}ID  the two ends of a pipe
  pcap:FILE[@top|@x2|@loop|@write]  a capture file, to replay or to write
  vale0:p1                     a port of a switch; ringway switch makes both
  dpdk:DEVARGS[@queues=N]      a device of DPDK, by a plugin: dpdk:net_tap0,iface=tap0
  null: null:LEN loop:         endless source and sink; what is sent comes back
  tap:file=F,port=PORT         PORT, with a copy of what passes in a capture file
  trace:port=PORT              PORT, with a line on standard error for each frame
  fault:drop=1%,delay=10ms,port=PORT  PORT with faults: drop dup reorder by corrupt delay seed dir

Examples:
  ringway pkt-gen -i 'pipe:x}1' -f rx        # receive in one terminal
  ringway pkt-gen -i 'pipe:x{1' -f tx -n 1M  # send in another
  ringway top                                # the rates of all ports, live
  ringway doctor                             # what works here, and the cure for what does not
  ringway pkt-gen --help                     # options and examples of a command
  ringway explain E0102                      # cause and cure of an error by its number";

fn main() -> ExitCode {
    completion::answer(Cli::command);
    let parsed = help::prepare(Cli::command()).try_get_matches().and_then(|m| Cli::from_arg_matches(&m));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(e) => return refusal::refuse(&e),
    };
    if let Some(namespace) = &cli.netns
        && let Err(e) = ringway::enter_netns(namespace)
    {
        return fail(&e.into());
    }
    warn_unlisted(&cli.command);
    let done = match &cli.command {
        Command::PktGen(args) => pkt_gen::run(args),
        Command::Bridge(args) => bridge::run(args),
        Command::Capture(args) => capture::run(args),
        Command::Extcap(args) => extcap::run(args),
        Command::Cni(args) => cni::run(args),
        Command::Run(args) => run::run(args),
        Command::Switch(args) => switch::run(args, Scope::Switches),
        Command::Vale(args) => switch::run(args, Scope::All),
        Command::Router(args) => router::run(args),
        Command::Apply(args) => config::apply::run(args, cli.netns.as_deref()),
        Command::Export(args) => config::export::run(args),
        Command::Stats(args) => stats::run(args),
        Command::Exporter(args) => exporter::run(args),
        Command::Top(args) => top::run(args),
        #[cfg(feature = "bench")]
        Command::Bench(args) => bench::run(args),
        Command::Fib(args) => fib::run(args),
        Command::Flows(args) => flows::run(args),
        Command::Prof(args) => prof::run(args),
        Command::Rfc2544(args) => rfc2544::run(args),
        Command::Rfc2889(args) => rfc2889::run(args),
        #[cfg(feature = "bench")]
        Command::Demo(args) => demo::run(args),
        #[cfg(not(feature = "bench"))]
        Command::LeftOut(_) => left_out::run(),
        Command::Doctor(args) => doctor::run(args),
        Command::Explain(args) => explain::run(args),
        Command::ManPages(args) => args.run(Cli::command()),
    };
    match done {
        // The reader of the output has seen enough.
        Ok(()) | Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(e) => fail(&e),
    }
}

fn fail(e: &Failure) -> ExitCode {
    errors::print(e.code(), &e.to_string());
    ExitCode::from(e.exit_code())
}

/// Commands that list ports, or open ports that others list, say why they don't: they do not use the
/// directory.
fn warn_unlisted(command: &Command) {
    use Command::{Bridge, Capture, Exporter, PktGen, Stats, Top};
    if matches!(command, Bridge(_) | Capture(_) | Exporter(_) | PktGen(_) | Stats(_) | Top(_))
        && let Err(e) = ringway::dirs::check_run_directory()
    {
        console::note(&format!("ringway: open ports are not listed: {e}"));
    }
}
