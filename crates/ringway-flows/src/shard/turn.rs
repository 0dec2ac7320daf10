//! A turn of a program: it gets just the bytes that it waits for, sends, and waits for the next ones.
//!
//! Most segments with bytes bring a turn. It does what [`run`](super::run) does, with each record looked up once. All else goes there.

use crate::base::slab::Slab;
use crate::code::{Instr, Op};
use crate::machine::context::{NO_ID, mark};
use crate::machine::message::MatchState;
use crate::transport::Settings;
use crate::transport::queue::{Origin, Piece, Queue};

use super::Shard;
use super::endpoint::{Endpoint, Sending};
use super::run::micros;

/// How far a turn came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// The program waits for more bytes of the connection.
    Waits,
    /// It has taken the bytes. The next instruction is for `run`.
    Took,
    /// Nothing was done.
    None,
}

impl Shard {
    /// Gives a program the bytes `data`, the next ones of a connection that is up and for which none wait.
    #[inline(always)]
    pub(super) fn turn(&mut self, endpoint: u32, data: &[u8], now: u64) -> Turn {
        let Self { contexts, endpoints, queues, programs, bundle, settings, tally, traits, .. } = self;
        let record = &mut endpoints[endpoint];
        let (id, slot) = (record.owner.context(), record.owner.slot());
        let context = &mut contexts[id];
        let instr = programs.fetch(context.pc);
        let waits = instr.op == Op::ExpectT
            && instr.a == slot
            && context.is(mark::HEARD)
            && context.matched == MatchState::default()
            && data == bundle.template(instr.c);
        if !waits || context.is(mark::ROW) && traits[context.place()].branches {
            return Turn::None;
        }
        context.retries = 0;
        context.advance();
        tally.instructions += 1;
        loop {
            let instr = programs.fetch(context.pc);
            if instr.a != slot {
                return Turn::Took;
            }
            match instr.op {
                Op::SendT if send_template(instr, bundle.template_len(instr.c), record, queues, settings) => {
                    context.advance();
                    tally.instructions += 1;
                }
                Op::ExpectT if bundle.template_len(instr.c) > 0 => break,
                Op::ExpectV | Op::ExpectP => break,
                _ => return Turn::Took,
            }
        }
        tally.instructions += 1;
        context.set(mark::ENTERED);
        context.since = micros(now);
        if !context.links.is_armed() {
            self.limit_wait(id, now);
        }
        Turn::Waits
    }
}

/// Puts a template into the queue of an endpoint, which gets one if it has none. False when there is no room.
#[inline(always)]
fn send_template(
    instr: Instr,
    len: u32,
    record: &mut Endpoint,
    queues: &mut Slab<Sending>,
    settings: &Settings,
) -> bool {
    if record.queue == NO_ID {
        let Some(queue) = queues.take() else { return false };
        record.queue = queue;
        queues[queue].queue.reset(record.tcp.next, settings.congestion(record.tcp.mss));
    }
    let queue: &mut Queue = &mut queues[record.queue].queue;
    queue.push(Piece { origin: Origin::Template, start: instr.c, len })
}
