//! Instructions that expect bytes.

use crate::base::blocks::SIZES;
use crate::code::{Instr, Op};
use crate::machine::context::{NO_ID, mark};
use crate::machine::message::{MatchState, Matcher, Scratch, Verdict};
use crate::transport::conn::State;
use crate::transport::input::Now;
use crate::transport::output::took;

use super::addresses::Addresses;
use super::endpoint::{DATAGRAM, room, settings_of};
use super::run::{Input, Step, micros};
use super::tally::FIRST;
use super::{Failure, Shard};

impl Shard {
    /// Expects bytes of a slot. Bytes that wait come first, then the bytes of the event.
    #[inline]
    pub(super) fn expect(&mut self, id: u32, instr: Instr, input: &mut Input<'_>, now: u64) -> Step {
        let endpoint = self.slot(id, instr.a);
        if endpoint == NO_ID {
            return Step::Failed(Failure::Reset);
        }
        if self.endpoints[endpoint].incoming != NO_ID
            && let Some(step) = self.expect_held(id, endpoint, instr, now)
        {
            return step;
        }
        let data = if input.slot == instr.a { input.data } else { &[] };
        if instr.op == Op::ExpectT
            && !data.is_empty()
            && let Some(rest) = self.takes_all(id, instr, data)
        {
            input.data = rest;
            self.contexts[id].retries = 0;
            self.first_bytes(id, now);
            return Step::Next;
        }
        let last = self.is_last(endpoint, !data.is_empty());
        if data.is_empty() && !last && !self.takes_nothing(id, instr) {
            return Step::Wait;
        }
        let (used, verdict) = self.matched(id, endpoint, instr, (data, last), now);
        if !data.is_empty() {
            input.data = &data[used..];
        }
        self.judge(id, verdict)
    }

    /// Expects bytes that waited. `None` when there are none, or more are needed and may be in the event.
    #[cold]
    fn expect_held(&mut self, id: u32, endpoint: u32, instr: Instr, now: u64) -> Option<Step> {
        let mut copy = [0; SIZES[SIZES.len() - 1]];
        loop {
            let record = &self.endpoints[endpoint];
            if record.incoming == NO_ID {
                return None;
            }
            let front = self.incoming[record.incoming].records.front(record.tcp.expected, &self.blocks);
            let len = front.len();
            if len == 0 {
                return None;
            }
            copy[..len].copy_from_slice(front);
            let last = record.owner.is_udp();
            let (used, verdict) = self.matched(id, endpoint, instr, (&copy[..len], last), now);
            self.eat(endpoint, used, now);
            match self.judge(id, verdict) {
                Step::Wait if used > 0 => {}
                step => return Some(step),
            }
        }
    }

    /// The program took bytes that had waited.
    fn eat(&mut self, endpoint: u32, len: usize, now: u64) {
        let Self { endpoints, incoming, blocks, settings, narrow, contexts, touched, .. } = self;
        let record = &mut endpoints[endpoint];
        let settings = settings_of(record, settings, narrow, contexts);
        let before = room(record, incoming, settings);
        let waiting = &mut incoming[record.incoming].records;
        waiting.eat(len, blocks);
        if waiting.is_empty() {
            incoming.give(record.incoming);
            record.incoming = NO_ID;
        }
        if !record.owner.is_udp() {
            let room = room(record, incoming, settings);
            took(&mut record.tcp, before, Now { settings, ns: now, room });
            touched.push(endpoint);
        }
    }

    /// Gives the bytes that wait for an endpoint back.
    pub(super) fn drop_incoming(&mut self, incoming: u32) {
        self.incoming[incoming].records.clear(&mut self.blocks);
        self.incoming.give(incoming);
    }

    /// Whether no byte can follow the event's bytes: a datagram is whole, or the peer closed.
    #[inline]
    fn is_last(&self, endpoint: u32, any: bool) -> bool {
        let endpoint = &self.endpoints[endpoint];
        match endpoint.owner.is_udp() {
            true => any,
            false => has_ended(endpoint.tcp.state),
        }
    }

    /// Whether an expectation of no bytes at all is meant.
    fn takes_nothing(&self, id: u32, instr: Instr) -> bool {
        match instr.op {
            Op::ExpectR | Op::ExpectN | Op::ExpectW => self.register(id, instr.low()) == 0,
            Op::ExpectT => self.bundle.template(instr.c).is_empty(),
            _ => false,
        }
    }

    /// What a verdict means for the program.
    #[inline]
    fn judge(&mut self, id: u32, verdict: Verdict) -> Step {
        match verdict {
            Verdict::Done => {
                let context = &mut self.contexts[id];
                (context.matched, context.retries) = (MatchState::default(), 0);
                Step::Next
            }
            Verdict::More => Step::Wait,
            Verdict::Mismatch => Step::Failed(Failure::Mismatch),
        }
    }

    /// Compares bytes with what an instruction expects.
    #[inline]
    pub(super) fn matched(
        &mut self,
        id: u32,
        endpoint: u32,
        instr: Instr,
        (data, last): (&[u8], bool),
        now: u64,
    ) -> (usize, Verdict) {
        let Self { bundle, contents, registers: all, contexts, traits, rows, endpoints, nets, .. } = self;
        let context = contexts[id];
        let (end, block) = (context.end(), context.registers);
        let traits = traits[usize::from(context.flow) * 2 + end as usize];
        let addresses = Addresses {
            context: &context,
            present: endpoints[endpoint].tuple,
            rows,
            endpoints,
            hosts: nets[0].hosts(),
        };
        let matcher = Matcher {
            bundle: &*bundle,
            random: &*contents,
            end,
            address: |slot, end| addresses.of(slot, end),
        };
        let (values, scratch) = all.split(block, traits.registers);
        let state = &mut contexts[id].matched;
        let mut none = Scratch::default();
        let scratch = scratch.unwrap_or(&mut none);
        if *state == MatchState::default() && matches!(instr.op, Op::ExpectV | Op::ExpectP) {
            *scratch = Scratch::default();
        }
        let step = matcher.expect(instr, state, scratch, values, data, last);
        if !data.is_empty() {
            self.first_bytes(id, now);
        }
        (step.used, step.verdict)
    }

    /// What comes behind a template that is expected, when all of it came at once.
    #[inline]
    fn takes_all<'a>(&self, id: u32, instr: Instr, data: &'a [u8]) -> Option<&'a [u8]> {
        let begins = self.contexts[id].matched == MatchState::default();
        data.strip_prefix(self.bundle.template(instr.c)).filter(|_| begins)
    }

    /// Notes that bytes of the peer came, if they are the first ones.
    #[inline]
    fn first_bytes(&mut self, id: u32, now: u64) {
        if !self.contexts[id].is(mark::HEARD) {
            self.heard(id, now);
        }
    }

    /// The first bytes of the peer came.
    #[cold]
    fn heard(&mut self, id: u32, now: u64) {
        let context = &mut self.contexts[id];
        context.set(mark::HEARD);
        let (flow, end, took) = (context.flow, context.end(), micros(now).wrapping_sub(context.started));
        self.latency(flow, end, FIRST, took);
    }

    /// Whether the peer of a slot closed, and nothing is left of its bytes.
    pub(super) fn peer_closed(&self, endpoint: u32) -> bool {
        let record = &self.endpoints[endpoint];
        has_ended(record.tcp.state) && record.incoming == NO_ID
    }

    /// Whether a part of a datagram is left.
    pub(super) fn datagram_left(&self, endpoint: u32, input: &Input<'_>, slot: u8) -> bool {
        let waiting = self.endpoints[endpoint].incoming;
        let first = if waiting == NO_ID { None } else { self.incoming[waiting].records.first() };
        input.slot == slot && !input.data.is_empty() || first.is_some_and(|seq| seq % DATAGRAM != 0)
    }
}

/// Whether the peer's FIN came.
const fn has_ended(state: State) -> bool {
    matches!(state, State::CloseWait | State::Closing | State::LastAck | State::TimeWait | State::Closed)
}
