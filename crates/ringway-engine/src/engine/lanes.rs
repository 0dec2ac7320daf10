//! The way from I/O threads to threads that receive: one queue for all of them, or queues for each.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use ringway::Result;

use super::bell::Bell;
use super::flow::BUCKETS;
use super::locks::{lock, try_lock};
use super::spread::{NOBODY, Receiver, spread};
use super::token::Token;
use crate::queue::{Block, Queue, Size, Store};

/// Which thread gets a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Delivery {
    /// Any thread that receives: each frame goes to a thread that has time for it.
    #[default]
    Any,
    /// The thread that the frame's flow is pinned to. A flow is what has the same pair of addresses and ports, in both
    /// directions. The order of a flow's frames is kept.
    Flows,
}

/// A queue of received frames, and the bell of those who wait for them.
#[derive(Debug)]
pub(super) struct Inbox {
    pub(super) queue: Queue<Token>,
    pub(super) bell: Bell,
}

/// The queues of one receiver: one from each I/O thread, so that the frames of a flow come by one queue.
#[derive(Debug)]
pub(super) struct Lanes {
    pub(super) lanes: Box<[Lane]>,
    state: AtomicU32,
    /// The row of the burst that has them, where its bell is. It stays until each I/O thread adopted what it had put in.
    row: AtomicU32,
    /// Receivers that had them so far.
    joins: AtomicU32,
    /// A bit for each I/O thread that adopted what it had put in, after the receiver left.
    adopted: AtomicU64,
}

/// A receiver: the number of its queues, and which one it is of all that ever had them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Joined {
    pub(super) at: Receiver,
    join: u32,
}

/// Nobody has the queues, and they are empty.
const FREE: u32 = 0;
/// A receiver has them.
const JOINED: u32 = 1;
/// Its receiver left, and some I/O thread has to adopt its frames.
const LEFT: u32 = 2;

#[derive(Debug)]
pub(super) struct Lane {
    pub(super) queue: Queue<Token>,
    /// Frames that the receiver took out and has done with.
    finished: AtomicU64,
}

/// Who receives which flows.
#[derive(Debug)]
pub(super) struct Flows {
    receivers: Box<[OnceLock<Lanes>]>,
    plan: Mutex<Plan>,
    /// Grows with each change of the plan.
    changes: AtomicU32,
    store: Arc<Store<Token>>,
    size: Size,
    io_threads: usize,
}

/// Which receivers there are, and which of them gets which flows.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) table: [Receiver; BUCKETS],
    pub(super) receivers: Vec<Receiver>,
}

impl Plan {
    /// Nobody gets anything.
    pub(super) fn empty() -> Self {
        Self { table: [NOBODY; BUCKETS], receivers: Vec::new() }
    }

    pub(super) fn has(&self, at: usize) -> bool {
        self.receivers.iter().any(|&receiver| usize::from(receiver) == at)
    }
}

/// Where received frames go.
#[derive(Debug)]
pub(super) enum Way {
    Any(Inbox),
    Flows(Box<Flows>),
}

impl Joined {
    /// Both numbers in a word, which is never 0.
    pub(super) fn bits(self) -> u64 {
        u64::from(self.join) << 32 | u64::from(self.at) | 1 << 16
    }

    pub(super) fn of_bits(bits: u64) -> Option<Self> {
        (bits != 0).then_some(Self { at: bits as Receiver, join: (bits >> 32) as u32 })
    }
}

impl Lane {
    #[inline]
    pub(super) fn finished(&self) -> u64 {
        self.finished.load(Acquire)
    }

    pub(super) fn finish(&self, frames: usize) {
        self.finished.fetch_add(frames as u64, Release);
    }
}

impl Lanes {
    pub(super) fn has_joined(&self) -> bool {
        self.state.load(Acquire) == JOINED
    }

    /// The row of the burst that has them.
    pub(super) fn row(&self) -> usize {
        self.row.load(Acquire) as usize
    }

    /// Whether an I/O thread has to adopt what it put in.
    pub(super) fn is_left_to(&self, io_thread: usize) -> bool {
        self.state.load(Acquire) == LEFT && self.adopted.load(Relaxed) & 1 << io_thread == 0
    }

    /// An I/O thread adopted all; the last one frees the queues for another receiver.
    pub(super) fn note_adopted(&self, io_thread: usize) {
        let all = u64::MAX >> (64 - self.lanes.len());
        if self.adopted.fetch_or(1 << io_thread, AcqRel) | 1 << io_thread == all {
            self.state.store(FREE, Release);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lanes.iter().all(|lane| lane.queue.is_empty())
    }

    /// Takes a block, from the lanes in turn; returns the lane.
    #[inline]
    pub(super) fn take(&self, block: &mut Block<Token>, first: usize) -> Option<usize> {
        let count = self.lanes.len();
        (0..count).map(|k| (first + k) % count).find(|&lane| self.lanes[lane].queue.take(block))
    }
}

impl Flows {
    /// For so many receivers at once, and as many that left a moment ago.
    pub(super) fn new(receivers: usize, store: &Arc<Store<Token>>, size: Size, io_threads: usize) -> Self {
        Self {
            receivers: (0..2 * receivers).map(|_| OnceLock::new()).collect(),
            plan: Mutex::new(Plan::empty()),
            changes: AtomicU32::new(0),
            store: store.clone(),
            size,
            io_threads,
        }
    }

    /// The queues of a receiver that once joined.
    #[inline]
    pub(super) fn receiver(&self, at: usize) -> Option<&Lanes> {
        self.receivers.get(at)?.get()
    }

    /// The queues of a receiver; `None` when it left, or was stuck and has to join again.
    #[inline]
    pub(super) fn queues(&self, receiver: Joined) -> Option<&Lanes> {
        let lanes = self.receiver(receiver.at.into())?;
        (lanes.has_joined() && lanes.joins.load(Acquire) == receiver.join).then_some(lanes)
    }

    /// Most receivers, with the ones that left a moment ago.
    pub(super) fn capacity(&self) -> usize {
        self.receivers.len()
    }

    /// All that ever joined, with their numbers.
    pub(super) fn ever_joined(&self) -> impl Iterator<Item = (usize, &Lanes)> {
        self.receivers.iter().enumerate().filter_map(|(at, lanes)| Some((at, lanes.get()?)))
    }

    /// Pins a part of the flows to the burst of a row, which gets queues; `None` while all queues are in use, which passes.
    ///
    /// # Errors
    /// The store has no block.
    pub(super) fn join(&self, row: usize) -> Result<Option<Joined>> {
        let mut plan = self.plan();
        let free =
            |lanes: &OnceLock<Lanes>| lanes.get().is_none_or(|lanes| lanes.state.load(Acquire) == FREE);
        let Some(at) = self.receivers.iter().position(free) else { return Ok(None) };
        if self.receivers[at].get().is_none() {
            let _ = self.receivers[at].set(self.lanes()?); // under the lock: nobody else sets it
        }
        let Some(lanes) = self.receiver(at) else { return Ok(None) };
        let at = at as Receiver;
        lanes.row.store(row as u32, Release);
        let join = lanes.joins.fetch_add(1, Release).wrapping_add(1);
        lanes.state.store(JOINED, Release);
        plan.receivers.push(at);
        self.change(&mut plan);
        Ok(Some(Joined { at, join }))
    }

    /// Pins the flows of a receiver to others; false when it has left already. What waits for it goes to them as well.
    pub(super) fn leave(&self, receiver: Joined) -> bool {
        self.leave_plan(self.plan(), receiver)
    }

    /// The same for an I/O thread; `None` when another thread joins or leaves now.
    pub(super) fn try_leave(&self, receiver: Joined) -> Option<bool> {
        Some(self.leave_plan(try_lock(&self.plan)?, receiver))
    }

    fn leave_plan(&self, mut plan: MutexGuard<'_, Plan>, receiver: Joined) -> bool {
        let Some(lanes) = self.queues(receiver) else { return false };
        lanes.adopted.store(0, Relaxed);
        lanes.state.store(LEFT, Release);
        plan.receivers.retain(|&other| other != receiver.at);
        self.change(&mut plan);
        true
    }

    /// The plan, when it changed since `seen`. While a thread is about to change it, the old one goes.
    pub(super) fn plan_since(&self, seen: &mut u32) -> Option<Plan> {
        if self.changes.load(Relaxed) == *seen {
            return None;
        }
        let plan = try_lock(&self.plan)?;
        *seen = self.changes.load(Acquire);
        Some(plan.clone())
    }

    pub(super) fn changed_since(&self, seen: u32) -> bool {
        self.changes.load(Acquire) != seen
    }

    fn change(&self, plan: &mut Plan) {
        let Plan { table, receivers } = plan;
        spread(table, receivers);
        self.changes.fetch_add(1, Release);
    }

    fn lanes(&self) -> Result<Lanes> {
        let lane = |_| Ok(Lane { queue: Queue::over(&self.store, self.size)?, finished: AtomicU64::new(0) });
        let lanes = (0..self.io_threads).map(lane).collect::<Result<_>>()?;
        Ok(Lanes {
            lanes,
            state: AtomicU32::new(FREE),
            row: AtomicU32::new(0),
            joins: AtomicU32::new(0),
            adopted: AtomicU64::new(0),
        })
    }

    pub(super) fn plan(&self) -> MutexGuard<'_, Plan> {
        lock(&self.plan)
    }
}
