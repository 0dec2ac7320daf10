//! The run time of eBPF programs between two moments, by the kernel's own count (`bpf_stats`).

use std::collections::HashMap;
use std::io;

use ringway_sys::bpf::{Counting, RunTime, run_times};
use ringway_sys::{Error, Result};

use crate::profile::ProgramTime;

/// The kernel counts as long as this lives. Each run of a program takes some 20 ns more.
#[derive(Debug)]
pub struct Programs {
    _counting: Counting,
    before: HashMap<u32, RunTime>,
}

impl Programs {
    /// Has the kernel count. Linux 5.8 or later.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN, or on an older kernel.
    pub fn start() -> Result<Self> {
        let counting = Counting::start().map_err(refused)?;
        let before = run_times().map_err(refused)?.into_iter().map(|p| (p.id, p)).collect();
        Ok(Self { _counting: counting, before })
    }

    /// What each program took since the start, the heaviest first. A program that is gone has no count.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn stop(self) -> Result<Vec<ProgramTime>> {
        let mut all: Vec<ProgramTime> =
            run_times().map_err(refused)?.iter().filter_map(|now| self.since(now)).collect();
        all.sort_by(|a, b| (b.ns, a.id).cmp(&(a.ns, b.id)));
        Ok(all)
    }

    fn since(&self, now: &RunTime) -> Option<ProgramTime> {
        let before = self.before.get(&now.id).map_or((0, 0), |b| (b.ns, b.runs));
        let (ns, runs) = (now.ns.saturating_sub(before.0), now.runs.saturating_sub(before.1));
        (runs > 0).then(|| ProgramTime { name: now.name.clone(), id: now.id, ns, runs })
    }
}

fn refused(e: io::Error) -> Error {
    Error::io("eBPF programs", "counting their run time is refused", e)
        .cure_if_denied("run as root, or leave --bpf-stats out")
}
