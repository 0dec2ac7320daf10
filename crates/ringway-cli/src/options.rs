//! Options that several commands have, each defined once.

use std::path::PathBuf;
use std::time::Duration;

use clap::Arg;
use ringway::Port;
use ringway_engine::Signals;

use crate::console::Console;
use crate::failure::Failure;
use crate::{link, stop};

/// How the result is printed.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Json {
    /// Print the result as JSON, one object a line; docs/json.md has the keys
    #[arg(long)]
    pub(crate) json: bool,
}

impl Json {
    /// Where results and other text go.
    pub(crate) fn console(self) -> Console {
        Console { json: self.json }
    }
}

/// An option of a command and of all commands below it.
pub(crate) fn global(arg: Arg) -> Arg {
    arg.global(true).display_order(900)
}

/// Where switches and routers are.
#[derive(Debug, clap::Args)]
pub(crate) struct Bpffs {
    /// Directory of switches and routers, in a BPF file system; default: $RINGWAY_BPFFS or /sys/fs/bpf/ringway
    #[arg(long, value_name = "DIR")]
    bpffs: Option<PathBuf>,
}

impl Bpffs {
    /// Has the library look there.
    pub(crate) fn apply(&self) -> Result<(), Failure> {
        Ok(self.bpffs.as_deref().map_or(Ok(()), ringway::pinned::set_root)?)
    }
}

/// How often the result is printed.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Every {
    /// Print every SECONDS, until Ctrl-C
    #[arg(short, long, value_name = "SECONDS", value_parser = link::period)]
    pub(crate) watch: Option<f64>,
}

impl Every {
    /// Does something once, or every so many seconds until Ctrl-C.
    pub(crate) fn repeat(
        self,
        console: Console,
        turn: impl FnMut() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        stop::repeat(self.watch, console, turn)
    }
}

/// How much is said.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Verbose {
    /// Say what to do about each kind of drop
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// How long ports may take to be ready.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct LinkWait {
    /// Wait for the link to come up, at most this long; ports without a link do not wait
    #[arg(short, long, value_name = "SECONDS", default_value_t = link::DEFAULT_SECONDS, value_parser = link::seconds)]
    wait: f64,
}

impl LinkWait {
    /// Waits until the port's link is up; says so when it is still down.
    pub(crate) fn wait(self, port: &Port, signals: &Signals) -> Result<(), Failure> {
        link::wait(port, self.wait, signals)
    }
}

/// How a loop works its rings.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Turns {
    /// Slots of a ring that a loop takes in one turn
    #[arg(short, long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) burst: u32,

    /// Look for frames this long before sleeping
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 20)]
    spin_us: u64,
}

impl From<Turns> for ringway_engine::Turns {
    fn from(turns: Turns) -> Self {
        Self { burst: turns.burst, spin: Duration::from_micros(turns.spin_us) }
    }
}

/// What is done to received frames.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Raw {
    /// Leave the bytes of received frames alone: checksums that senders left to a software interface stay unfinished
    #[arg(long)]
    pub(crate) raw: bool,
}
