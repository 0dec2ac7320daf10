//! Instructions that send bytes.

use crate::base::blocks::SIZES;
use crate::code::{Instr, Op};
use crate::machine::context::NO_ID;
use crate::machine::message::{MatchState, Matcher};
use crate::transport::net::neighbours::Resolution;
use crate::transport::net::{Ports, Way};
use crate::transport::queue::{Origin, Piece};

use super::addresses::Addresses;
use super::run::Step;
use super::sources::Sources;
use super::wire::has_room;
use super::{Failure, Shard, Wire};

/// Most bytes of a datagram that go without a fragment.
const MAX_DATAGRAM: u32 = 1472;

impl Shard {
    /// Puts bytes into the queue of a slot.
    #[inline]
    pub(super) fn send(&mut self, id: u32, instr: Instr) -> Step {
        let endpoint = self.slot(id, instr.a);
        if endpoint == NO_ID {
            return Step::Failed(Failure::Reset);
        }
        if instr.op == Op::SendT {
            let len = self.bundle.template_len(instr.c);
            let piece = Piece { origin: Origin::Template, start: instr.c, len };
            return if len == 0 || self.push(endpoint, piece) { Step::Next } else { Step::Wait };
        }
        if !self.queue_has_room(endpoint) {
            return Step::Wait;
        }
        let piece = match instr.op {
            Op::SendR => {
                let (len, start) = (self.register(id, instr.low()), self.register(id, instr.third()));
                u32::try_from(len).ok().map(|len| Piece {
                    origin: Origin::Random,
                    start: start as u32 & 0xffff,
                    len,
                })
            }
            Op::SendW => return self.send_repeated(id, endpoint, instr),
            _ => match self.render(id, endpoint, instr) {
                Ok(piece) => Some(piece),
                Err(step) => return step,
            },
        };
        match piece {
            Some(piece) if piece.len == 0 => Step::Next,
            Some(piece) if self.push(endpoint, piece) => Step::Next,
            Some(_) => Step::Wait,
            None => Step::Failed(Failure::Check),
        }
    }

    /// A template again and again: as many copies at a time as the queue has room for. What is left is in the matcher's state.
    #[cold]
    fn send_repeated(&mut self, id: u32, endpoint: u32, instr: Instr) -> Step {
        let template = self.bundle.templates.get(instr.c as usize).copied().unwrap_or_default();
        let len = self.register(id, instr.low());
        if template.len == 0 {
            return Step::Next;
        }
        loop {
            let done = self.contexts[id].matched.position();
            let left = len.saturating_sub(done);
            if left == 0 {
                self.contexts[id].matched = MatchState::default();
                return Step::Next;
            }
            let part = u64::from(template.len).min(left) as u32;
            let piece = Piece { origin: Origin::Template, start: instr.c, len: part };
            if !self.push(endpoint, piece) {
                return Step::Wait;
            }
            self.contexts[id].matched = MatchState::at(done + u64::from(part));
        }
    }

    /// Renders a format into blocks.
    fn render(&mut self, id: u32, endpoint: u32, instr: Instr) -> Result<Piece, Step> {
        let longest = self.longest.get(instr.c as usize).copied().unwrap_or_default() as usize;
        let Self {
            bundle,
            contents,
            registers: all,
            blocks,
            scratch,
            contexts,
            traits,
            rows,
            endpoints,
            nets,
            ..
        } = self;
        let context = &contexts[id];
        let (end, block) = (context.end(), context.registers);
        let traits = traits[usize::from(context.flow) * 2 + end as usize];
        let addresses = Addresses {
            context,
            present: endpoints[endpoint].tuple,
            rows,
            endpoints,
            hosts: nets[0].hosts(),
        };
        let (values, _) = all.split(block, traits.registers);
        let matcher = Matcher {
            bundle: &*bundle,
            random: &*contents,
            end,
            address: |slot, end| addresses.of(slot, end),
        };
        let Some(len) = matcher.render(instr.c, values, scratch) else {
            return Err(Step::Failed(Failure::Check));
        };
        debug_assert!(len <= longest.max(1), "a format renders more than its pieces can");
        if len > SIZES[SIZES.len() - 1] {
            return Err(self.send_long(endpoint, len));
        }
        let Some(to) = blocks.take(len) else { return Err(Step::Failed(Failure::NoMemory)) };
        blocks[to][..len].copy_from_slice(&scratch[..len]);
        Ok(Piece { origin: Origin::Block, start: to, len: len as u32 })
    }

    /// A rendered message of several blocks.
    #[cold]
    fn send_long(&mut self, endpoint: u32, len: usize) -> Step {
        let size = SIZES[SIZES.len() - 1];
        let scratch = std::mem::take(&mut self.scratch);
        let mut step = Step::Next;
        for part in scratch[..len].chunks(size) {
            let Some(to) = self.blocks.take(part.len()) else {
                step = Step::Failed(Failure::NoMemory);
                break;
            };
            self.blocks[to][..part.len()].copy_from_slice(part);
            let piece = Piece { origin: Origin::Block, start: to, len: part.len() as u32 };
            if !self.push(endpoint, piece) {
                self.blocks.give(to);
                step = Step::Failed(Failure::NoMemory);
                break;
            }
        }
        self.scratch = scratch;
        step
    }

    /// Whether the queue of an endpoint takes another piece.
    #[inline]
    fn queue_has_room(&self, endpoint: u32) -> bool {
        match self.endpoints[endpoint].queue {
            NO_ID => true,
            queue => self.queues[queue].queue.has_room(),
        }
    }

    /// Puts a piece into the queue of an endpoint, which gets one if it has none.
    #[inline]
    pub(super) fn push(&mut self, endpoint: u32, piece: Piece) -> bool {
        let Some(queue) = self.queue_of(endpoint) else { return false };
        self.touch(endpoint);
        self.queues[queue].queue.push(piece)
    }

    /// The queue of an endpoint, which gets one if it has none.
    #[inline(always)]
    pub(super) fn queue_of(&mut self, endpoint: u32) -> Option<u32> {
        let record = &mut self.endpoints[endpoint];
        if record.queue == NO_ID {
            let queue = self.queues.take()?;
            let window = self.settings.congestion(record.tcp.mss);
            self.queues[queue].queue.reset(record.tcp.next, window);
            record.queue = queue;
        }
        Some(record.queue)
    }

    /// Sends the datagram that a slot's queue holds.
    pub(super) fn send_datagram(&mut self, id: u32, slot: u8, now: u64, wire: &mut impl Wire) -> Step {
        let endpoint = self.slot(id, slot);
        if endpoint == NO_ID {
            return Step::Failed(Failure::Reset);
        }
        let (side, tuple) = (self.contexts[id].end(), self.endpoints[endpoint].tuple);
        let mac = match self.nets[side as usize].resolve(tuple.local, tuple.remote, now) {
            Resolution::Known(mac) if has_room(wire, side) => mac,
            Resolution::Unreachable => return Step::Failed(Failure::Unreachable),
            _ => return Step::Wait,
        };
        let record = &mut self.endpoints[endpoint];
        let queue = std::mem::replace(&mut record.queue, NO_ID);
        let len = if queue == NO_ID { 0 } else { self.queues[queue].queue.left(record.tcp.next) };
        if len > MAX_DATAGRAM {
            return Step::Failed(Failure::Check);
        }
        let before = self.tally.bytes_out;
        let Self { nets, queues, contents, blocks, bundle, sums, tally, .. } = self;
        let sources = Sources { bundle, sums, contents, blocks };
        let way = Way { from: tuple.local, to: tuple.remote, mac };
        let ports = Ports { source: tuple.local_port, target: tuple.remote_port };
        let from = record.tcp.next;
        wire.send(side, |out| {
            let stream = queues.get(queue).map(|sending| &sending.queue);
            let payload = |data: &mut [u8]| sources.fill(stream, from, data);
            let written = nets[side as usize].udp(out, way, ports, len as usize, payload);
            tally.sent(written)
        });
        if queue != NO_ID {
            self.drop_queue(queue);
        }
        self.measure(side, endpoint, self.tally.bytes_out - before);
        Step::Next
    }
}
