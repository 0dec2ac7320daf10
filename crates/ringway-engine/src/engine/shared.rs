//! What all threads of an engine share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};
use std::time::Duration;

use ringway::{BufToken, DropReason, Region, Result};

use super::bell::Bell;
use super::counts::{Counts, Drops};
use super::holders::{Holder, Holders, Row};
use super::home::Home;
use super::lanes::{Inbox, Joined, Way};
use super::outbox::Outbox;
use super::port::PortState;
use super::token::Token;
use crate::queue::{Block, Pool, Store};

/// What happens when a queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// The sender waits: an I/O thread leaves frames in the rx ring, and [`send`](super::Engine::send) blocks.
    #[default]
    Wait,
    /// Frames are dropped, and count as [`QueueFull`](DropReason::QueueFull).
    Drop,
}

/// What a program asks to be called with when a thread keeps frames for too long.
pub(super) type Warn = Box<dyn Fn(&Holder) + Send + Sync>;

/// What the builder was asked for.
pub(super) struct Choices {
    pub(super) slow_receiver: WhenFull,
    pub(super) slow_port: WhenFull,
    pub(super) gather: Duration,
    pub(super) spin: Duration,
    pub(super) patience: Duration,
    pub(super) warn: Option<Warn>,
}

/// What others see of an I/O thread.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct IoState {
    pub(super) bell: Bell,
    /// Free buffers in its hands.
    pub(super) buffers: AtomicU32,
    /// Frames that it received and can't deliver.
    pub(super) frames: AtomicU32,
    pub(super) ended: AtomicBool,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) region: Region,
    pub(super) store: Arc<Store<Token>>,
    pub(super) pool: Pool<BufToken>,
    pub(super) buffers: u64,
    pub(super) ports: Box<[PortState]>,
    pub(super) way: Way,
    pub(super) holders: Holders,
    pub(super) outboxes: Box<[Outbox]>,
    pub(super) io: Box<[IoState]>,
    pub(super) choices: Choices,
    /// Some I/O thread waits for room in queues to threads.
    pub(super) room_wanted: AtomicU32,
    pub(super) lost: Drops,
    pub(super) stuck: AtomicU64,
    /// No I/O thread works any more.
    pub(super) over: AtomicBool,
    /// I/O threads are to end.
    pub(super) stop: AtomicBool,
}

impl Shared {
    pub(super) fn home(&self) -> Result<Home> {
        Home::new(&self.region, &self.pool)
    }

    /// Puts a block into the queue of a port, which is then counted as sent; false when it is full.
    #[inline]
    pub(super) fn put(&self, port: &PortState, block: &mut Block<Token>, row: &Row) -> bool {
        let frames = block.len();
        // Before the I/O thread can count it as sent by the port.
        port.accepted.fetch_add(frames as u64, Relaxed);
        if !port.queue.put(block) {
            port.accepted.fetch_sub(frames as u64, Relaxed);
            return false;
        }
        row.sent.add(frames);
        self.io[port.io].bell.ring();
        true
    }

    /// Room was made in a queue to threads. I/O threads that wait for it wake once the queue is half empty, not for each block.
    #[inline]
    pub(super) fn made_room(&self) {
        fence(SeqCst);
        let wanted = self.room_wanted.load(Relaxed) != 0;
        if wanted && self.is_roomy() && self.room_wanted.swap(0, Relaxed) != 0 {
            self.io.iter().for_each(|io| io.bell.ring());
        }
    }

    /// Whether received frames have room again.
    pub(super) fn has_room(&self) -> bool {
        match &self.way {
            Way::Any(_) => self.is_roomy(),
            Way::Flows(_) => self.room_wanted.load(Relaxed) == 0,
        }
    }

    fn is_roomy(&self) -> bool {
        match &self.way {
            Way::Any(inbox) => inbox.queue.blocks() * 2 <= inbox.queue.slots(),
            Way::Flows(_) => true,
        }
    }

    /// An I/O thread waits for room. It tries once more before it sleeps.
    pub(super) fn want_room(&self) {
        self.room_wanted.store(1, Relaxed);
        fence(SeqCst);
    }

    /// Whether nothing will be received any more, but what is in queues.
    pub(super) fn has_ended(&self) -> bool {
        self.over.load(Acquire) || self.ports.iter().all(PortState::has_ended)
    }

    /// Wakes all who sleep, so that they see what changed for good.
    pub(super) fn wake_all(&self) {
        match &self.way {
            Way::Any(inbox) => inbox.bell.ring_always(),
            Way::Flows(_) => self.holders.bells().for_each(Bell::ring_always),
        }
        self.io.iter().for_each(|io| io.bell.ring_always());
        self.ports.iter().for_each(|port| port.room.ring_always());
    }

    /// The bell that rings for the frames of a row's burst; `None` when flows are pinned, and it never received.
    pub(super) fn bell(&self, row: usize) -> Option<&Bell> {
        match &self.way {
            Way::Any(Inbox { bell, .. }) => Some(bell),
            Way::Flows(_) => self.holders.bell(row),
        }
    }

    /// Pins the flows of a row's burst to others, if it has some. It learns that it has to join again.
    pub(super) fn leave(&self, row: usize) {
        if let (Way::Flows(flows), Some(receiver)) = (&self.way, self.holders.row(row).receiver())
            && flows.leave(receiver)
        {
            self.note_left(row);
        }
    }

    /// The same by an I/O thread; false when it has to try again.
    pub(super) fn try_leave(&self, row: usize) -> bool {
        let (Way::Flows(flows), Some(receiver)) = (&self.way, self.holders.row(row).receiver()) else {
            return true;
        };
        let left = flows.try_leave(receiver);
        if left == Some(true) {
            self.note_left(row);
        }
        left.is_some()
    }

    fn note_left(&self, row: usize) {
        self.holders.bell(row).into_iter().for_each(Bell::ring);
        self.io.iter().for_each(|io| io.bell.ring());
    }

    /// Whether frames wait for a receiver, as far as it can be seen without taking them.
    pub(super) fn has_frames(&self, receiver: Option<Joined>) -> bool {
        match &self.way {
            Way::Any(inbox) => !inbox.queue.is_empty(),
            Way::Flows(flows) => {
                receiver.and_then(|receiver| flows.queues(receiver)).is_some_and(|lanes| !lanes.is_empty())
            }
        }
    }

    /// Whether the burst of a row has something to do: to receive frames, to see the end, or to join again because it was stuck.
    pub(super) fn has_something(&self, row: usize) -> bool {
        let receiver = self.holders.row(row).receiver();
        let left = match &self.way {
            Way::Any(_) => false,
            Way::Flows(flows) => receiver.is_none_or(|receiver| flows.queues(receiver).is_none()),
        };
        left || self.has_frames(receiver) || self.has_ended()
    }

    /// Counts frames that threads lost on the way to a port.
    pub(super) fn lose(&self, why: DropReason, frames: usize) {
        self.lost.add(why, frames as u64);
    }

    pub(super) fn counts(&self) -> Counts {
        let sum = |of: fn(&Row) -> u64| self.holders.rows().iter().map(of).sum::<u64>();
        let ports: Vec<_> = self.ports.iter().map(PortState::counts).collect();
        let delivered = ports.iter().map(|port| port.rx.frames_out).sum();
        let left: u64 = ports.iter().map(|port| port.tx.frames_out + port.tx.dropped()).sum();
        let accepted: u64 = ports.iter().map(|port| port.tx.frames_in).sum();
        let taken = sum(|row| row.taken.get());
        let of_io = |of: fn(&IoState) -> &AtomicU32| {
            self.io.iter().map(|io| u64::from(of(io).load(Relaxed))).sum::<u64>()
        };
        let in_outboxes: u64 = self.outboxes.iter().map(Outbox::frames).sum();
        Counts {
            ports,
            delivered,
            taken,
            made: sum(|row| row.made.get()),
            sent: sum(|row| row.sent.get()),
            let_go: sum(|row| row.let_go.get()),
            lost: self.lost.counters(0, 0),
            held: sum(|row| row.frames().into()) + in_outboxes,
            in_io_threads: of_io(|io| &io.frames),
            waiting_for_threads: delivered - taken.min(delivered),
            waiting_for_ports: accepted - left.min(accepted),
            buffers: self.buffers,
            free_buffers: self.pool.available() as u64
                + sum(|row| row.cached().into())
                + of_io(|io| &io.buffers),
            stuck: self.stuck.load(Relaxed),
        }
    }
}

impl Drop for Shared {
    /// Gives all buffers back to the region, which the program may go on with. No cache is left, because each keeps this.
    fn drop(&mut self) {
        let region = self.region.clone();
        let back = |buf| _ = region.give_token(buf);
        if let Ok(mut cache) = self.pool.cache() {
            std::iter::from_fn(|| cache.take()).for_each(back);
        }
        let empty = |block: &mut Block<Token>| {
            std::iter::from_fn(|| block.pop()).for_each(|token| back(token.buf));
        };
        self.outboxes.iter().filter_map(Outbox::take).for_each(|mut block| empty(&mut block));
        let Some(mut block) = self.store.block() else { return };
        let (inbox, flows) = match &self.way {
            Way::Any(inbox) => (Some(&inbox.queue), None),
            Way::Flows(flows) => (None, Some(flows)),
        };
        let lanes = flows.iter().flat_map(|flows| flows.ever_joined()).flat_map(|(_, lanes)| &lanes.lanes);
        let of_receivers = inbox.into_iter().chain(lanes.map(|lane| &lane.queue));
        for queue in self.ports.iter().map(|port| &port.queue).chain(of_receivers) {
            while queue.take(&mut block) {
                empty(&mut block);
            }
        }
    }
}

impl fmt::Debug for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { slow_receiver, slow_port, gather, spin, patience, warn } = self;
        f.debug_struct("Choices")
            .field("slow_receiver", slow_receiver)
            .field("slow_port", slow_port)
            .field("gather", gather)
            .field("spin", spin)
            .field("patience", patience)
            .field("warn", &warn.is_some())
            .finish()
    }
}
