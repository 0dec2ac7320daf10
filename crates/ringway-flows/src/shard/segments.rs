//! Segments arrive: TCP takes them, and the program runs.

use crate::code::{End, Op};
use crate::machine::context::NO_ID;
use crate::transport::arrival::keep;
use crate::transport::input::{Now, Outcome, Over, input};
use crate::transport::net::QuickWay;
use crate::transport::plain::plain;
use crate::transport::reassembly::Incoming;
use crate::transport::segment::Segment;

use super::endpoint::{Endpoint, Owner, Tuple, room, settings_of};
use super::finish::free;
use super::run::Input;
use super::turn::Turn;
use super::{Failure, Shard, Wire};

impl Shard {
    /// A segment arrives, in any form.
    pub(super) fn segment(
        &mut self,
        (side, tuple, from): (End, Tuple, [u8; 6]),
        segment: &Segment<'_>,
        now: u64,
        wire: &mut impl Wire,
    ) {
        self.segment_of(self.find(tuple, false), (side, tuple, from), segment, now, wire);
    }

    /// A segment of a connection arrives, or of none.
    #[inline(never)]
    pub(super) fn segment_of(
        &mut self,
        found: Option<u32>,
        (side, tuple, from): (End, Tuple, [u8; 6]),
        segment: &Segment<'_>,
        now: u64,
        wire: &mut impl Wire,
    ) {
        let Some(id) = found else {
            // A new connection has taken all that its SYN says.
            return match self.passive(side, tuple, segment, now) {
                Some(id) => {
                    if let Some(back) = &mut self.back {
                        back.endpoint = id;
                    }
                    self.half_opened(id, now, wire);
                    self.flush_touched(now, wire);
                }
                None => self.stray(side, tuple, from, segment, wire),
            };
        };
        let outcome = self.take_segment(id, segment, now);
        if let Some(Over::Reopened) = outcome.over {
            self.end_connection(id, Over::Closed, now, wire);
            return self.segment((side, tuple, from), segment, now, wire);
        }
        self.after_any(id, outcome, now, wire);
    }

    /// TCP takes a segment, if it is just the next one: whether it acknowledged something.
    #[inline(always)]
    pub(super) fn take_plain(&mut self, id: u32, segment: &Segment<'_>, now: u64) -> Option<bool> {
        let Self { endpoints, queues, incoming, blocks, settings, narrow, contexts, .. } = self;
        let endpoint = &mut endpoints[id];
        let settings = settings_of(endpoint, settings, narrow, contexts);
        let room = room(endpoint, incoming, settings);
        let queue = queues.get_mut(endpoint.queue).map(|sending| &mut sending.queue);
        plain(&mut endpoint.tcp, queue, segment, Now { settings, ns: now, room }, |piece| free(blocks, piece))
    }

    /// Gives the program the bytes of such a segment, and sends what is due.
    #[inline(always)]
    pub(super) fn after_plain(
        &mut self,
        id: u32,
        acked: bool,
        data: &[u8],
        back: Option<(End, QuickWay)>,
        now: u64,
        wire: &mut impl Wire,
    ) {
        let record = &self.endpoints[id];
        let Endpoint { owner, incoming, .. } = *record;
        if owner.is_nobody() || incoming != NO_ID || data.is_empty() && self.awaits_room(owner) {
            return self.after_rare(id, Outcome { acked, data, ..Outcome::default() }, now, wire);
        }
        if !data.is_empty() {
            match self.turn(id, data, now) {
                Turn::Waits => {}
                Turn::Took => return self.go_on(id, &[], now, wire),
                Turn::None => return self.go_on(id, data, now, wire),
            }
        }
        self.answer(id, back, now, wire);
        if !self.touched.is_empty() {
            self.flush_touched(now, wire);
        }
    }

    /// The program takes what it can of `data`, which are the next bytes, and goes on.
    #[inline(never)]
    fn go_on(&mut self, id: u32, data: &[u8], now: u64, wire: &mut impl Wire) {
        let owner = self.endpoints[id].owner;
        let mut outcome = Outcome { data, ..Outcome::default() };
        let mut input = Input { slot: owner.slot(), data };
        self.touch(id);
        if self.hand(id, owner, &mut input, &mut outcome, now, wire) {
            self.touched.pop_if(|last| *last == id);
            self.flush(id, now, wire);
        }
        self.flush_touched(now, wire);
    }

    /// TCP takes a segment. Blocks all of whose bytes were acknowledged are free.
    #[inline(always)]
    fn take_segment<'a>(&mut self, id: u32, segment: &Segment<'a>, now: u64) -> Outcome<'a> {
        let Self { endpoints, backlog, queues, incoming, blocks, settings, narrow, contexts, .. } = self;
        let endpoint = &mut endpoints[id];
        let before = endpoint.tcp.state;
        let settings = settings_of(endpoint, settings, narrow, contexts);
        let room = room(endpoint, incoming, settings);
        let queue = queues.get_mut(endpoint.queue).map(|sending| &mut sending.queue);
        let now = Now { settings, ns: now, room };
        let outcome = input(&mut endpoint.tcp, queue, segment, now, |piece| free(blocks, piece));
        if !before.is_synchronized() {
            backlog.changed(before, endpoint.tcp.state);
        }
        outcome
    }

    /// Does what [`after_any`](Self::after_any) does, for a segment that `plain` took.
    #[inline(never)]
    fn after_rare(&mut self, id: u32, outcome: Outcome<'_>, now: u64, wire: &mut impl Wire) {
        self.after_any(id, outcome, now, wire);
    }

    /// Gives the program what a segment brought, and sends what is due.
    #[inline(always)]
    fn after_any(&mut self, id: u32, mut outcome: Outcome<'_>, now: u64, wire: &mut impl Wire) {
        if let Some(oddity) = outcome.oddity {
            self.tally.odd(oddity);
        }
        if let Some(reset) = outcome.reset {
            self.send_reset(id, reset, wire);
        }
        let owner = self.endpoints[id].owner;
        let mut input = Input { slot: owner.slot(), data: outcome.data };
        if outcome.early.is_some() || self.endpoints[id].incoming != NO_ID && !input.data.is_empty() {
            // Bytes wait already, or some before these are missing: the program takes them from there.
            input.data = &[];
            if !self.keep(id, &mut outcome, 0, now) {
                return self.fail_endpoint(id, Failure::NoMemory, now, wire);
            }
        }
        if !owner.is_nobody()
            && self.concerns(owner, &outcome)
            && !self.hand(id, owner, &mut input, &mut outcome, now, wire)
        {
            return self.flush_touched(now, wire);
        }
        match outcome.over {
            Some(how) => {
                // The last acknowledgement goes before the connection does.
                self.flush(id, now, wire);
                self.end_connection(id, how, now, wire);
            }
            None => {
                self.touched.pop_if(|last| *last == id);
                self.flush(id, now, wire);
            }
        }
        self.flush_touched(now, wire);
    }

    /// Runs the program of an endpoint, and keeps what it does not take of `input`, the end of the bytes of `outcome`. Says whether the
    /// connection goes on: the program may close it, or fail.
    fn hand(
        &mut self,
        id: u32,
        owner: Owner,
        input: &mut Input<'_>,
        outcome: &mut Outcome<'_>,
        now: u64,
        wire: &mut impl Wire,
    ) -> bool {
        self.watched = id;
        self.wake(owner.context(), input, now, wire);
        if self.watched != id {
            return false;
        }
        if !input.data.is_empty() && self.belongs(id, owner) {
            let eaten = outcome.data.len() - input.data.len();
            if !self.keep(id, outcome, eaten, now) {
                self.fail_endpoint(id, Failure::NoMemory, now, wire);
                return false;
            }
        }
        true
    }

    /// Whether a program may have to do something.
    fn concerns(&self, owner: Owner, outcome: &Outcome<'_>) -> bool {
        let news = outcome.connected || outcome.fin || !outcome.data.is_empty();
        news || outcome.acked && self.awaits_room(owner)
    }

    /// Whether acknowledgements alone may matter to a program: it waits for room in a queue, or to reset.
    #[inline]
    fn awaits_room(&self, owner: Owner) -> bool {
        let waits = |op: Op| op.sends() || op == Op::Reset;
        waits(self.instruction(owner.context()).op) || self.has_branches(owner.context())
    }

    /// Keeps bytes that the program has not taken; false when there is no memory, and bytes are lost.
    #[cold]
    fn keep(&mut self, id: u32, outcome: &mut Outcome<'_>, eaten: usize, now: u64) -> bool {
        let record = &mut self.endpoints[id];
        if record.incoming == NO_ID {
            let Some(incoming) = self.incoming.take() else {
                self.tally.no_room += 1;
                return outcome.early.is_some();
            };
            self.incoming[incoming].records = Incoming::default();
            record.incoming = incoming;
        }
        if outcome.early.is_some() {
            self.tally.early += 1;
        }
        let Self { endpoints, incoming, blocks, settings, tally, .. } = self;
        let record = &mut endpoints[id];
        let incoming = &mut incoming[record.incoming].records;
        let now = Now { settings, ns: now, room: settings.window };
        let kept = keep(&mut record.tcp, incoming, outcome, eaten, now, blocks);
        tally.no_room += u64::from(kept.dropped > 0);
        !kept.lost
    }

    /// Whether an endpoint is still the one that it was before a program ran.
    pub(super) fn belongs(&self, id: u32, owner: Owner) -> bool {
        self.endpoints.get(id).is_some_and(|endpoint| endpoint.owner == owner)
    }
}
