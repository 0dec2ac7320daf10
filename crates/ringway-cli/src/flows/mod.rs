//! `ringway flows`: stories of applications as load: check them, write them from a capture, list their byte code, and run them.

mod check;
mod disasm;
mod import;
mod live;
mod page;
mod pcap;
mod run;
mod source;
mod stories;
mod trace;

use clap::Subcommand;

use crate::failure::Failure;

/// Application flows as load: check stories, list their byte code, run both ends in virtual time
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Args),
    Disasm(disasm::Args),
    Import(import::Args),
    Stories(stories::Args),
    Pcap(pcap::Args),
    Run(Box<run::Args>),
    Trace(trace::Args),
}

const EXAMPLES: &str = "\
A story says once what a client and a server send to each other. The compiler makes a program for each end of it, and each end checks every
byte that it receives. FILE is a file of stories, or the name of one that ships. docs/flows.md is the guide.

Examples:
  ringway flows stories                      # the stories that ship
  ringway flows check example                # is it right, and what does its plan ask for?
  ringway flows trace ftp --flow ftp_get     # one flow, frame by frame
  ringway flows pcap http -o http.pcap       # all frames of a run, in virtual time
  ringway flows import office.pcap           # stories of what a capture has";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Check(args) => check::run(args),
        Command::Disasm(args) => disasm::run(args),
        Command::Import(args) => import::run(args),
        Command::Stories(args) => stories::run(args),
        Command::Pcap(args) => pcap::run(args),
        Command::Run(args) => run::run(args),
        Command::Trace(args) => trace::run(args),
    }
}
