//! What one thread holds of an engine: a burst of frames, and a cache of buffers.

use std::sync::Arc;
use std::time::Duration;

use ringway::{Error, ErrorKind, Result};

use super::frame::{Frame, LONGEST};
use super::holders::Row;
use super::home::Home;
use super::lanes::{Joined, Lanes, Way};
use super::shared::Shared;
use super::token::Token;
use crate::queue::Block;

/// Up to 64 frames in the hands of one thread, which the engine's calls fill and empty.
///
/// A thread makes one with [`Engine::burst`](super::Engine::burst) and uses it again and again: it has the thread's cache of
/// buffers as well. Dropping it, also by a panic, gives all of that back. One that is leaked costs its frames and its cache,
/// and [`Engine::holders`](super::Engine::holders) says who has them.
#[derive(Debug)]
pub struct Burst {
    pub(super) at: usize,
    pub(super) block: Block<Token>,
    pub(super) home: Home,
    /// A block for each port, for bursts of which not all frames leave by one port.
    pub(super) sorted: Vec<Option<Block<Token>>>,
    /// How long the next wait looks before it sleeps.
    pub(super) spin: Duration,
    /// When flows are pinned: the lane that the frames came by, and how many they were.
    lane: Option<(usize, usize)>,
    next_lane: usize,
    /// When flows are pinned: the receiver that it is.
    pub(super) receiver: Option<Joined>,
    /// The last field: when the last one goes, no cache is left.
    pub(super) shared: Arc<Shared>,
}

impl Burst {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Self> {
        let none_left = || {
            Error::new(ErrorKind::Busy, "engine", "as many threads have bursts as it was built for")
                .cure("drop bursts that are not in use, or build the engine with `threads(N)`")
        };
        let at = shared.holders.enter().ok_or_else(none_left)?;
        let parts = || Some((shared.store.block()?, shared.home().ok()?));
        let Some((block, home)) = parts() else {
            shared.holders.leave(at);
            return Err(none_left());
        };
        let spin = shared.choices.spin;
        let sorted = shared.ports.iter().map(|_| None).collect();
        Ok(Self {
            shared: shared.clone(),
            at,
            block,
            home,
            sorted,
            spin,
            lane: None,
            next_lane: 0,
            receiver: None,
        })
    }

    /// The frames.
    #[inline]
    pub fn frames(&mut self) -> impl ExactSizeIterator<Item = Frame<'_>> {
        let (region, ports) = (self.home.region(), self.shared.ports.len());
        self.block.tokens_mut().iter_mut().map(move |token| Frame::new(token, region, ports))
    }

    /// Frames in it.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.block.len()
    }

    /// Whether there is none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.block.is_empty()
    }

    /// Adds a frame of `len` bytes, which hold anything. `None` when the burst is full, when all buffers are in use, or when `len`
    /// is more than [`LONGEST`].
    ///
    /// ```
    /// use ringway_engine::Engine;
    /// let engine = Engine::builder().port("loop:").build()?;
    /// let mut burst = engine.burst()?;
    /// let mut frame = burst.make(60).expect("no other burst is there");
    /// frame.bytes_mut().fill(7);
    /// frame.send_to(0);
    /// engine.send(&mut burst)?;
    /// engine.receive(&mut burst)?;
    /// assert_eq!(burst.frames().next().map(|f| f.bytes()[59]), Some(7));
    /// # Ok::<(), ringway::Error>(())
    /// ```
    pub fn make(&mut self, len: usize) -> Option<Frame<'_>> {
        if len > LONGEST || self.block.free() == 0 {
            return None;
        }
        let token = self.home.make(len)?;
        self.block.push(token).ok()?; // there is room
        self.row().made.add(1);
        self.row().still_holds(self.block.len(), self.home.held());
        let last = self.block.tokens_mut().last_mut()?;
        Some(Frame::new(last, self.home.region(), self.shared.ports.len()))
    }

    /// Lets all frames go.
    pub fn clear(&mut self) {
        let count = self.home.release_all(&mut self.block);
        self.row().let_go.add(count);
        self.finish_lane();
        self.row().now_holds(0, self.home.held());
    }

    /// When flows are pinned, gets some, unless it has some or can't yet.
    ///
    /// A burst joins the receivers when it first receives, so one that only sends has no flows. I/O threads see it in their
    /// next round.
    pub(super) fn join_receivers(&mut self) -> Result<()> {
        let Way::Flows(flows) = &self.shared.way else { return Ok(()) };
        if self.lanes().is_some() {
            return Ok(());
        }
        self.shared.holders.make_bell(self.at)?;
        self.receiver = flows.join(self.at)?;
        self.row().receives_as(self.receiver);
        self.shared.io.iter().for_each(|io| io.bell.ring());
        Ok(())
    }

    /// Its queues, when flows are pinned to it. A thread that was stuck has none: its flows went elsewhere.
    fn lanes(&self) -> Option<&Lanes> {
        let Way::Flows(flows) = &self.shared.way else { return None };
        flows.queues(self.receiver?)
    }

    /// Whether frames may come to it: always, unless flows are pinned and it could not join yet.
    pub(super) fn may_receive(&self) -> bool {
        matches!(self.shared.way, Way::Any(_)) || self.receiver.is_some()
    }

    /// Takes frames that wait, unless it has some.
    #[inline]
    pub(super) fn take(&mut self) -> Result<usize> {
        if matches!(self.shared.way, Way::Flows(_)) {
            self.join_receivers()?;
        }
        let shared = &*self.shared;
        let taken = match &shared.way {
            Way::Any(inbox) => inbox.queue.take(&mut self.block),
            Way::Flows(flows) => {
                let Some(lanes) = self.receiver.and_then(|receiver| flows.queues(receiver)) else {
                    return Ok(0);
                };
                let lane = lanes.take(&mut self.block, self.next_lane);
                self.lane = lane.map(|lane| (lane, self.block.len()));
                self.next_lane = lane.map_or(0, |lane| lane + 1);
                lane.is_some()
            }
        };
        if !taken {
            return Ok(0);
        }
        let count = self.block.len();
        let row = shared.holders.row(self.at);
        row.taken.add(count);
        row.now_holds(count, self.home.held());
        shared.made_room();
        Ok(count)
    }

    /// The frames that came by a lane are done with.
    pub(super) fn finish_lane(&mut self) {
        if let Some((lane, frames)) = self.lane.take()
            && let Some(lanes) = self.lanes()
        {
            lanes.lanes[lane].finish(frames);
        }
    }

    #[inline]
    pub(super) fn row(&self) -> &Row {
        self.shared.holders.row(self.at)
    }
}

impl Drop for Burst {
    fn drop(&mut self) {
        self.clear();
        self.flush(); // an I/O thread takes what finds no room now
        self.shared.leave(self.at);
        self.shared.holders.leave(self.at);
    }
}
