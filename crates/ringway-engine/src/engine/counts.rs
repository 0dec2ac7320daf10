//! What the engine counts: each frame is somewhere, left by a port, was let go by a thread, or is a drop with a name.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ringway::{Counters, DropReason};

/// Lost frames by reason.
#[derive(Debug)]
pub(super) struct Drops([AtomicU64; DropReason::ALL.len()]);

impl Drops {
    pub(super) fn none() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    pub(super) fn add(&self, why: DropReason, n: u64) {
        self.0[why as usize].fetch_add(n, Relaxed);
    }

    /// Counters with these drops.
    pub(super) fn counters(&self, frames_in: u64, frames_out: u64) -> Counters {
        let mut counters = Counters::default();
        (counters.frames_in, counters.frames_out) = (frames_in, frames_out);
        DropReason::ALL
            .into_iter()
            .for_each(|why| counters.add_drops(why, self.0[why as usize].load(Relaxed)));
        counters
    }
}

/// Counters of one port of an engine. The port has counters of its own beside them ([`Engine::port_counters`](super::Engine::port_counters)).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PortCounts {
    /// The port's name, in its full form.
    pub name: String,
    /// From the rings to threads: frames that came out of rx rings, and frames that went into queues to receivers.
    pub rx: Counters,
    /// From threads to the rings: frames that threads sent to the port, and frames that went into tx rings.
    pub tx: Counters,
    /// Failures of the port's rings.
    pub failures: u64,
}

/// Counters of an engine, exact when no thread works, and some bursts apart otherwise.
///
/// Their sums close, which [`Counts::check`] tries:
///
/// * ports received what was delivered, dropped, or is in the hands of I/O threads:
///   `rx.frames_in == rx.frames_out + rx.dropped() + ` its part of `in_io_threads`;
/// * threads took what was delivered, or it waits for them: `delivered == taken + waiting_for_threads`;
/// * they took or made what they sent, let go, lost or hold: `taken + made == sent + let_go + lost + held`;
/// * what they sent to a port left, was dropped, or waits: `tx.frames_in == tx.frames_out + tx.dropped() + ` its part of
///   `waiting_for_ports`;
/// * each buffer is free, or has a frame.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Counts {
    /// The ports, in the order in which the engine was given them.
    pub ports: Vec<PortCounts>,
    /// Frames that went into queues to threads.
    pub delivered: u64,
    /// Frames that threads received.
    pub taken: u64,
    /// Frames that threads made.
    pub made: u64,
    /// Frames that threads sent to ports.
    pub sent: u64,
    /// Frames that threads neither sent nor keep.
    pub let_go: u64,
    /// Frames that threads sent and that were dropped, because the queue to the port was full, or the port failed.
    pub lost: Counters,
    /// Frames in the hands of threads.
    pub held: u64,
    /// Frames that I/O threads received, and for which there is no room in queues to threads.
    pub in_io_threads: u64,
    /// Frames in queues to threads.
    pub waiting_for_threads: u64,
    /// Frames in queues to ports.
    pub waiting_for_ports: u64,
    /// Buffers of the engine, beside the buffers of its rings.
    pub buffers: u64,
    /// Of them free, in the pool and in caches of threads.
    pub free_buffers: u64,
    /// Times that a thread kept frames for longer than the engine's patience.
    pub stuck: u64,
}

impl Counts {
    /// Tries whether the sums close; the error names the one that does not. It is for an engine at which no thread works.
    ///
    /// # Errors
    /// The sum, with its numbers.
    pub fn check(&self) -> Result<(), String> {
        let equal = |what: &str, a: u64, b: u64| {
            if a == b { Ok(()) } else { Err(format!("{what}: {a} is not {b}")) }
        };
        let sum = |of: fn(&PortCounts) -> u64| self.ports.iter().map(of).sum::<u64>();
        let onwards = sum(|p| p.rx.frames_out + p.rx.dropped());
        equal("received", sum(|p| p.rx.frames_in), onwards + self.in_io_threads)?;
        equal("delivered by ports", self.delivered, sum(|p| p.rx.frames_out))?;
        equal("delivered", self.delivered, self.taken + self.waiting_for_threads)?;
        let ends = self.sent + self.let_go + self.lost.dropped() + self.held;
        equal("taken and made", self.taken + self.made, ends)?;
        equal("sent to ports", self.sent, sum(|p| p.tx.frames_in))?;
        let left = sum(|p| p.tx.frames_out + p.tx.dropped());
        equal("sent", self.sent, left + self.waiting_for_ports)?;
        let frames = self.held + self.in_io_threads + self.waiting_for_threads + self.waiting_for_ports;
        equal("buffers", self.buffers, self.free_buffers + frames)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for port in &self.ports {
            writeln!(f, "{}: rx {}; tx {}", port.name, port.rx, port.tx)?;
        }
        write!(
            f,
            "threads: {} taken, {} made, {} sent, {} let go, {} lost, {} held; {} stuck",
            self.taken,
            self.made,
            self.sent,
            self.let_go,
            self.lost.dropped(),
            self.held,
            self.stuck
        )
    }
}
