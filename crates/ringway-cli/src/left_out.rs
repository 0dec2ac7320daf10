//! Commands that a build without benchmarks does not have: each says how to get it.

use std::ffi::OsString;

use crate::errors;
use crate::failure::Failure;

/// What such a command says.
const CURE: &str = "built without benchmarks: cargo build --release -p ringway-cli --features bench";

/// Commands of the feature `bench`. They take all words, also `--help`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Measure Ringway beside its peers
    #[command(hide = true, disable_help_flag = true)]
    Bench(Words),
    /// Forward real traffic beside the kernel's bridge and libpcap, and write a report
    #[command(hide = true, disable_help_flag = true)]
    Demo(Words),
}

/// The words behind the name of a command.
#[derive(Debug, clap::Args)]
pub(crate) struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

pub(crate) fn run() -> Result<(), Failure> {
    Err(Failure::Usage(errors::command::LEFT_OUT, CURE.into()))
}
