//! The thread that reads rings.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use ringway_sys::fd::Epoll;
use ringway_sys::perf::ring::Ring;

use super::collect::{Collector, Function};
use super::events::Events;
use super::{Options, Target};
use crate::kallsyms::{Found, Kallsyms};
use crate::time::{process_of, process_threads};

/// A reader looks at the rings at least so often.
const PERIOD_MS: i32 = 50;

/// Reads the rings until the end, and once more then.
pub(super) fn read(
    events: &Events,
    mut collector: Collector,
    mut rings: Vec<Ring>,
    epoll: &Epoll,
    stop: &AtomicBool,
) -> Collector {
    events.watch(epoll);
    let mut bytes: Vec<Vec<u8>> = rings.iter().map(|_| Vec::new()).collect();
    loop {
        let last = stop.load(Relaxed);
        for (ring, bytes) in rings.iter_mut().zip(&mut bytes) {
            bytes.clear();
            ring.take(bytes);
        }
        collector.feed(&bytes);
        if let Some(timers) = &events.timers {
            collector.feed_own(&timers.take(), timers.lost());
        }
        if last {
            return collector;
        }
        // Events of threads that have ended wake the reader without end, and have nothing for it.
        let woken = epoll.wait(PERIOD_MS).unwrap_or(true);
        if woken && bytes.iter().all(Vec::is_empty) {
            thread::sleep(Duration::from_millis(PERIOD_MS as u64));
        }
    }
}

/// A collector that knows what may be gone at the end: what the target has mapped, names of its threads, programs of eBPF.
pub(super) fn prepared(options: &Options, events: &Events) -> Collector {
    let mut collector = Collector::default();
    let (pid, tids) = match &options.target {
        Target::Threads(tids) => (None, tids.clone()),
        Target::Process(pid) => (Some(*pid), process_threads(*pid)),
        Target::Held(_) | Target::Cpus(_) => (None, Vec::new()),
    };
    for tid in tids {
        if let Some(process) = pid.or_else(|| process_of(tid)) {
            collector.meet(process as u32, tid as u32);
        }
    }
    if events.tier.kernel {
        collector.functions = programs();
    }
    collector
}

/// The programs of eBPF that are there now: they may be gone at the end.
fn programs() -> Vec<Function> {
    let function = |f: Found<'_>| {
        let len = f.range.1.saturating_sub(f.range.0).min(LONGEST_PROGRAM);
        Function { address: f.range.0, len, name: f.name.to_owned() }
    };
    Kallsyms::read().programs().map(function).collect()
}

/// No program of eBPF has more bytes of machine code.
const LONGEST_PROGRAM: u64 = 8 << 20;

impl Events {
    /// Wakes the reader when a ring fills; without that it looks by time alone.
    fn watch(&self, epoll: &Epoll) {
        self.each().for_each(|event| drop(epoll.add(event.as_fd())));
    }
}
