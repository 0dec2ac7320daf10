//! Records of a burst come into the cache before its frames are taken.
//!
//! With many flows, a segment finds the records of its flow in main memory, one after the other. First comes the place in the table, then
//! the connection, its context with the queue, at last the row and the registers. Each frame asks for one of these when it is so many
//! frames from its turn. So the processor fetches them while it works on the frames before.

use std::array::from_fn;

use crate::code::End;
use crate::machine::context::{NO_ID, mark};

use super::Shard;
use super::endpoint::Tuple;

/// Connections from which on it is worth a look: fewer stay in the cache by themselves.
const MANY: usize = 1 << 14;
/// Frames between two looks at the records of a frame.
const STEP: usize = 6;
/// Frames that wait for their turn.
const DEPTH: usize = 4 * STEP;

/// What is known of the connection of a frame that waits.
#[derive(Clone, Copy)]
struct Known {
    tuple: Tuple,
    hash: u64,
    endpoint: u32,
}

/// The frames that wait for their turn, in a circle.
struct Ahead<F> {
    waiting: [Option<(F, Option<Known>)>; DEPTH],
    /// The one whose turn is next.
    first: usize,
    len: usize,
}

impl<F> Ahead<F> {
    fn new() -> Self {
        Self { waiting: from_fn(|_| None), first: 0, len: 0 }
    }

    /// Puts a frame, or nothing, behind the others, and looks at some of them. Returns the frame whose turn it is.
    #[inline(always)]
    fn turn(&mut self, shard: &Shard, new: Option<(F, Option<Known>)>) -> Option<F> {
        self.len += usize::from(new.is_some());
        let taken = std::mem::replace(&mut self.waiting[self.first], new);
        for (steps, look) in
            [Shard::look_at_endpoint, Shard::look_at_context, Shard::look_at_rest].iter().enumerate()
        {
            let place = (self.first + DEPTH - STEP * (steps + 1)) % DEPTH;
            if let Some((_, Some(known))) = &mut self.waiting[place] {
                look(shard, known);
            }
        }
        self.first = (self.first + 1) % DEPTH;
        self.len -= usize::from(taken.is_some());
        taken.map(|(frame, _)| frame)
    }
}

impl Shard {
    /// Gives each frame of a burst to `take`, in order, which hands it to [`receive`](Self::receive). `bytes` gives a frame's bytes,
    /// all or the first ones with all headers.
    ///
    /// With many connections, the records of a frame come into the cache while `take` has the frames before it.
    #[inline]
    pub fn burst<F>(
        &mut self,
        side: End,
        frames: impl Iterator<Item = F>,
        bytes: impl Fn(&F) -> &[u8],
        mut take: impl FnMut(&mut Self, F),
    ) {
        let looks = self.table.len() >= MANY;
        let (mut frames, mut ahead) = (frames.fuse(), Ahead::new());
        loop {
            let new = frames.next();
            if new.is_none() && ahead.len == 0 {
                return;
            }
            let next = if looks {
                let new = new.map(|frame| {
                    let known = self.look_at_place(side, bytes(&frame));
                    (frame, known)
                });
                ahead.turn(self, new)
            } else {
                new
            };
            if let Some(frame) = next {
                take(self, frame);
            }
        }
    }

    /// Asks for the records of connections whose segments wait for a slot, before their turn.
    #[inline]
    pub(super) fn look_at_blocked(&self, side: End) {
        let blocked = &self.blocked[side as usize];
        if let Some(&id) = blocked.get(2 * STEP) {
            self.endpoints.fetch(id);
        }
        if let Some(endpoint) = blocked.get(STEP).and_then(|&id| self.endpoints.get(id)) {
            self.queues.fetch(endpoint.queue);
        }
    }

    /// Asks for what the timer that is due next needs, and for the timer behind it.
    #[inline]
    pub(super) fn look_at_upcoming(&self) {
        let Some(id) = self.wheel.upcoming() else { return };
        let links = if id % 2 == 0 {
            let endpoint = &self.endpoints[id / 2];
            self.queues.fetch(endpoint.queue);
            endpoint.links
        } else {
            let context = &self.contexts[id / 2];
            self.registers.fetch(context.registers);
            match context.is(mark::ROW) {
                true => self.rows.fetch(context.slots),
                false => self.endpoints.fetch(context.slots),
            }
            context.links
        };
        match links.behind() {
            Some(id) if id % 2 == 0 => self.endpoints.fetch(id / 2),
            Some(id) => self.contexts.fetch(id / 2),
            None => {}
        }
    }

    /// Asks for the place in the table.
    #[inline]
    fn look_at_place(&self, side: End, frame: &[u8]) -> Option<Known> {
        let (local, remote, ports) = self.nets[side as usize].glance(frame)?;
        let tuple = Tuple { local, remote, local_port: ports.target, remote_port: ports.source };
        let hash = self.places.hash(tuple.words(false));
        self.table.prefetch(hash);
        Some(Known { tuple, hash, endpoint: NO_ID })
    }

    /// Asks for the endpoint, or for the places of listeners.
    #[inline]
    fn look_at_endpoint(&self, known: &mut Known) {
        match self.guess(known.hash) {
            NO_ID if self.listeners > 0 => {
                for tuple in known.tuple.listeners() {
                    self.table.prefetch(self.places.hash(tuple.words(false)));
                }
            }
            endpoint => {
                known.endpoint = endpoint;
                self.endpoints.fetch(endpoint);
            }
        }
    }

    /// Asks for the context and the queue, or for the listener.
    #[inline]
    fn look_at_context(&self, known: &mut Known) {
        if let Some(endpoint) = self.endpoints.get(known.endpoint) {
            self.queues.fetch(endpoint.queue);
            if !endpoint.owner.is_nobody() {
                self.contexts.fetch(endpoint.owner.context());
            }
        } else if self.listeners > 0 {
            let guess = |tuple: Tuple| self.guess(self.places.hash(tuple.words(false)));
            let ids = known.tuple.listeners().map(guess);
            known.endpoint = ids.into_iter().find(|&id| id != NO_ID).unwrap_or(NO_ID);
            self.endpoints.fetch(known.endpoint);
        }
    }

    /// Asks for the registers and the row.
    #[inline]
    fn look_at_rest(&self, known: &mut Known) {
        let owner = self.endpoints.get(known.endpoint).map(|endpoint| endpoint.owner);
        let owner = owner.filter(|owner| !owner.is_nobody());
        let Some(context) = owner.and_then(|owner| self.contexts.get(owner.context())) else { return };
        self.registers.fetch(context.registers);
        if context.is(mark::ROW) {
            self.rows.fetch(context.slots);
        }
    }

    /// The endpoint that a hash most likely leads to. No endpoint is read for it.
    #[inline]
    fn guess(&self, hash: u64) -> u32 {
        self.table.find(hash, |_| true).unwrap_or(NO_ID)
    }
}
