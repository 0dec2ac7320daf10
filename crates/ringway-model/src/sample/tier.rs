//! Sources of samples, best first, and why a better one is not to be had.

use std::fmt;
use std::io;

use ringway_sys::perf::Counts;
use ringway_sys::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

/// What makes samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A hardware counter of the core's cycles: tier A.
    Cycles,
    /// A timer of the kernel: tier B. It can't hit code that holds interrupts off.
    Clock,
    /// Timers of the threads themselves, where the kernel lets the process have no events: own threads only, and coarse.
    Timers,
}

/// What the samples come from, and whether they have the kernel's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tier {
    /// What makes samples.
    pub source: Source,
    /// Whether the kernel is sampled too.
    pub kernel: bool,
}

impl Tier {
    /// All, best first.
    pub(super) const ALL: [Self; 4] = [
        Self { source: Source::Cycles, kernel: true },
        Self { source: Source::Clock, kernel: true },
        Self { source: Source::Cycles, kernel: false },
        Self { source: Source::Clock, kernel: false },
    ];

    pub(super) fn counts(self) -> Counts {
        match self.source {
            Source::Cycles => Counts::Cycles,
            Source::Clock | Source::Timers => Counts::CpuClock,
        }
    }

    /// What is left without any event.
    pub(super) const TIMERS: Self = Self { source: Source::Timers, kernel: false };

    /// The letter of the source: A has hardware counters, B has not.
    #[must_use]
    pub fn letter(self) -> char {
        match self.source {
            Source::Cycles => 'A',
            Source::Clock | Source::Timers => 'B',
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.source {
            Source::Cycles => "cycles of the core",
            Source::Clock => "cpu-clock",
            Source::Timers => "timers of own threads",
        };
        let part = if self.kernel { "kernel and user" } else { "user part only" };
        write!(f, "{} ({source}, {part})", self.letter())
    }
}

/// What this machine lets the process do, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limits {
    /// kernel.perf_event_paranoid; `None` without perf events.
    pub(super) paranoid: Option<i32>,
}

impl Limits {
    pub(super) fn read() -> Self {
        let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
        Self { paranoid: text.ok().and_then(|t| t.trim().parse().ok()) }
    }

    /// The line that says what a tier lacks; `None` when it has all that a machine without counters gives.
    pub(super) fn lack(&self, tier: Tier, wanted_kernel: bool) -> Option<String> {
        if tier == Tier::TIMERS {
            return Some(NO_EVENTS.to_owned());
        }
        let paranoid = self.paranoid?;
        (wanted_kernel && !tier.kernel).then(|| {
            format!(
                "the kernel's part is not sampled: kernel.perf_event_paranoid is {paranoid} and this process lacks CAP_PERFMON; \
                 run as root, or `sysctl kernel.perf_event_paranoid=1`"
            )
        })
    }

    /// Why no event opened at all.
    pub(super) fn refusal(&self, on: &str, e: io::Error) -> Error {
        let Some(paranoid) = self.paranoid else {
            return Error::new(ErrorKind::Unsupported, on, "this kernel has no perf events")
                .cure("use a kernel with CONFIG_PERF_EVENTS");
        };
        match e.raw_os_error() {
            Some(libc::ESRCH) => Error::new(ErrorKind::NotFound, on, "it has ended, or there is no such thread")
                .cure("name one that runs"),
            Some(libc::EMFILE | libc::ENFILE) => Error::io(on, "opening an event for each thread and CPU failed", e)
                .cure("raise the limit of open files: `ulimit -n 65536`"),
            Some(libc::ENOSYS) => Error::new(ErrorKind::Unsupported, on, "perf_event_open is refused here")
                .cure("allow the call in the container's seccomp profile, or sample from the host"),
            _ => Error::io(on, format!("sampling is refused (kernel.perf_event_paranoid is {paranoid})"), e)
                .cure_if_denied("run as root or with CAP_PERFMON, or `sysctl kernel.perf_event_paranoid=1` for own processes, -1 for CPUs"),
        }
    }
}

/// What timers lack.
const NO_EVENTS: &str = "own threads are sampled by timers of some 250 Hz, and the kernel not at all: perf events are refused here; \
    run as root or with CAP_PERFMON, allow perf_event_open in the container, or `sysctl kernel.perf_event_paranoid=1`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_is_one_line_with_its_cure() {
        let limits = Limits { paranoid: Some(3) };
        let errors = [
            (libc::ESRCH, "name one that runs"),
            (libc::EMFILE, "ulimit"),
            (libc::ENOSYS, "seccomp"),
            (13, "CAP_PERFMON"),
        ];
        for (code, cure) in errors {
            let text = limits.refusal("process 7", io::Error::from_raw_os_error(code)).to_string();
            assert!(text.starts_with("process 7: ") && text.contains(cure) && !text.contains('\n'), "{text}");
        }
        let text = Limits { paranoid: None }.refusal("CPU 0", io::Error::from_raw_os_error(2)).to_string();
        assert!(text.contains("CONFIG_PERF_EVENTS"), "{text}");
    }

    #[test]
    fn a_tier_says_what_it_lacks() {
        let limits = Limits { paranoid: Some(2) };
        let [_, clock, _, user] = Tier::ALL;
        assert!(limits.lack(clock, true).is_none() && limits.lack(user, false).is_none());
        let lack = limits.lack(user, true).unwrap();
        assert!(lack.contains("is 2") && lack.contains("sysctl") && !lack.contains('\n'), "{lack}");
        assert_eq!(user.to_string(), "B (cpu-clock, user part only)");
    }
}
