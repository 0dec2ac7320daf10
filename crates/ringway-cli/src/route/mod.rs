//! `ringway route`: routers beside the kernel's own.

mod run;

use crate::failure::Failure;

/// Route packets by the kernel's tables, faster than the kernel
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Run(run::Run),
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Run(run) => run.run(),
    }
}
