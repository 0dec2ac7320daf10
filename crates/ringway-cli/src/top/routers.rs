//! Routers in the kernel: what their members carried, and the process that follows the kernel's tables.

use std::fs;

use ringway_router::kernel::{self, Counts, Kind, Outcome};
use ringway_watch::ports::Process;
use ringway_watch::rates::grown;
use ringway_watch::routers::sum;

/// A router at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Router {
    pub(super) name: String,
    /// Its process; `None` without one.
    pub(super) pid: Option<u32>,
    pub(super) owner: Option<Process>,
    /// Names of its members, each with its way.
    pub(super) members: Vec<String>,
    /// Of all members together.
    pub(super) counts: Counts,
}

impl Router {
    /// The routers that the caller may read. Nothing is asked of their processes, which may be busy.
    pub(super) fn all() -> Vec<Self> {
        let opened = kernel::routers().into_iter().filter_map(|name| kernel::Router::open(&name).ok());
        let mut all: Vec<Self> = opened.map(|router| Self::of(&router)).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn of(router: &kernel::Router) -> Self {
        let (stats, pid) = (router.stats(), router.health().controller);
        let stat = pid.and_then(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok());
        let member = |m: &kernel::Member| format!("{} by {}", m.name, m.path.name());
        Self {
            name: router.name().to_owned(),
            pid,
            owner: stat.and_then(|stat| Process::parse(&stat)),
            members: stats.iter().map(|m| member(&m.member)).collect(),
            counts: sum(&stats),
        }
    }

    /// The same router in a list.
    pub(super) fn in_list<'a>(&self, list: &'a [Self]) -> Option<&'a Self> {
        list.iter().find(|router| router.name == self.name)
    }
}

/// What changed at a router between two looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed<'a> {
    pub(super) router: &'a Router,
    pub(super) before: Option<&'a Router>,
    /// When totals began to count.
    pub(super) base: Option<&'a Router>,
    /// Between the two looks; 0 without an earlier one.
    pub(super) seconds: f64,
}

impl Passed<'_> {
    /// Packets a second that came in by members.
    pub(super) fn received(&self) -> Option<f64> {
        self.rate(Counts::frames_in)
    }

    /// Packets a second that went on by members.
    pub(super) fn forwarded(&self) -> Option<f64> {
        self.rate(|counts| counts.get(Outcome::Forwarded))
    }

    /// Packets a second that went nowhere.
    pub(super) fn lost(&self) -> Option<f64> {
        self.rate(lost)
    }

    /// Packets that went nowhere since totals began to count.
    pub(super) fn dropped(&self) -> u64 {
        self.total(lost)
    }

    /// Processors that its process used.
    pub(super) fn cpus(&self) -> Option<f64> {
        self.router.owner.as_ref()?.cpus_since(self.before?.owner.as_ref()?, self.seconds)
    }

    /// What grew by so many a second.
    pub(super) fn rate(&self, of: impl Fn(&Counts) -> u64) -> Option<f64> {
        let before = self.before.filter(|_| self.seconds > 0.0)?;
        Some(grown(of(&before.counts), of(&self.router.counts)) as f64 / self.seconds)
    }

    /// How much it is since totals began to count.
    pub(super) fn total(&self, of: impl Fn(&Counts) -> u64) -> u64 {
        grown(self.base.map_or(0, |base| of(&base.counts)), of(&self.router.counts))
    }
}

/// Whether such packets went nowhere, for want of a way or of room.
pub(super) fn is_lost(outcome: Outcome) -> bool {
    outcome.kind() == Kind::Drop || matches!(outcome, Outcome::DeviceFull | Outcome::DeviceRefused)
}

fn lost(counts: &Counts) -> u64 {
    counts.iter().filter(|(outcome, _)| is_lost(*outcome)).map(|(_, n)| n).sum()
}
