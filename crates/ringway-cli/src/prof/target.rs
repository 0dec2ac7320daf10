//! What is sampled, and what counts its packets: options of `ringway prof record` and `live`.

use std::fs;

use ringway_model::sample::{Options, Target};

use super::counter::Counter;

/// Threads, a process or CPUs, and the counter of their packets.
#[derive(Debug, clap::Args)]
pub(super) struct TargetArgs {
    /// Sample a process with all its threads, and what it starts
    #[arg(short, long, value_name = "PID", group = "target")]
    pid: Option<i32>,

    /// Sample threads by their numbers
    #[arg(long, value_name = "TID,...", value_delimiter = ',', group = "target")]
    thread: Vec<i32>,

    /// Sample CPUs with all that runs there; default: all CPUs
    #[arg(short, long, value_name = "CPU,...", value_delimiter = ',', group = "target")]
    cpu: Vec<u32>,

    /// Count packets by INTERFACE, port=NAME, switch=NAME or router=NAME; :tx behind it counts what leaves, :rx what comes; default: :tx
    #[arg(long, value_name = "COUNTER")]
    pub(super) packets: Option<Counter>,

    /// Samples a second of each CPU; an odd number beats with no periodic work
    #[arg(short, long, value_name = "HZ", default_value_t = Options::FREQUENCY, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub(super) frequency: u32,

    /// Leave the kernel's part out
    #[arg(long)]
    user_only: bool,
}

impl TargetArgs {
    /// How a recorder samples what was asked for, or `instead` of it.
    pub(super) fn options(&self, instead: Option<Target>) -> Options {
        let target = instead.unwrap_or_else(|| match self.pid {
            Some(pid) => Target::Process(pid),
            None if !self.thread.is_empty() => Target::Threads(self.thread.clone()),
            None => Target::Cpus(self.cpu.clone()),
        });
        Options { frequency: self.frequency, kernel: !self.user_only, ..Options::of(target) }
    }

    /// What the target is, for people.
    pub(super) fn text(&self) -> String {
        let list = |numbers: Vec<String>| numbers.join(", ");
        if let Some(pid) = self.pid {
            return format!("process {pid}");
        }
        match (self.thread.is_empty(), self.cpu.is_empty()) {
            (false, _) => format!("thread {}", list(self.thread.iter().map(ToString::to_string).collect())),
            (_, false) => format!("CPU {}", list(self.cpu.iter().map(ToString::to_string).collect())),
            _ => "all CPUs".to_owned(),
        }
    }

    /// CPUs forward by Linux, unless the user knows better.
    pub(super) fn groups(&self) -> &'static str {
        if self.can_end() { "ports" } else { "linux" }
    }

    /// Whether the target is a process or threads, which end.
    pub(super) fn can_end(&self) -> bool {
        self.pid.is_some() || !self.thread.is_empty()
    }

    /// Whether the process, or each of the threads, has ended.
    pub(super) fn is_gone(&self) -> bool {
        self.pid.is_some_and(has_ended)
            || !self.thread.is_empty() && self.thread.iter().copied().all(has_ended)
    }
}

/// Whether a process or a thread has ended. Its parent may not have noticed.
fn has_ended(id: i32) -> bool {
    let state = fs::read_to_string(format!("/proc/{id}/stat")).ok();
    let state = state.as_deref().and_then(|stat| stat.rsplit_once(") ")).map(|(_, rest)| rest);
    state.is_none_or(|state| state.starts_with(['Z', 'X']))
}
