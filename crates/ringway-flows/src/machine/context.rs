//! The context of one end of a flow.

use crate::base::slab::Record;
use crate::base::wheel::Links;
use crate::code::End;

use super::message::MatchState;

/// No record.
pub(crate) const NO_ID: u32 = u32::MAX;

/// Marks of a context.
pub(crate) mod mark {
    /// The end is the server's.
    pub(crate) const SERVER: u8 = 0x01;
    /// The instruction that waits has begun.
    pub(crate) const ENTERED: u8 = 0x02;
    /// The time of the instruction that waits is over.
    pub(crate) const EXPIRED: u8 = 0x04;
    /// The budget of instructions was used up: the context runs on with the next round.
    pub(crate) const QUEUED: u8 = 0x08;
    /// The context is a branch of another one.
    pub(crate) const BRANCH: u8 = 0x10;
    /// Bytes of the peer came.
    pub(crate) const HEARD: u8 = 0x20;
    /// The connections are in a row: there are several, or the program has branches.
    pub(crate) const ROW: u8 = 0x40;
    /// The end has not waited yet, or waits for the first time: what it measures counts from when it was due.
    pub(crate) const FRESH: u8 = 0x80;
    /// The record is free. No branch is fresh, so these two are together in no other one.
    pub(crate) const GONE: u8 = BRANCH | FRESH;
}

/// One end of a flow that runs, or one branch of it.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Context {
    /// The timer of the instruction that waits.
    pub(crate) links: Links,
    /// When the end began, or should have begun, in microseconds that wrap around. While the record is free: a word of the slab.
    pub(crate) started: u32,
    /// The generator of agreed draws.
    pub(crate) draws: u64,
    /// How far the message that is expected was taken.
    pub(crate) matched: MatchState,
    /// When the instruction that waits began, in microseconds.
    pub(crate) since: u32,
    /// When the latency began that the program measures.
    pub(crate) lap: u32,
    /// The endpoint of the only connection; or the number of the row of them.
    pub(crate) slots: u32,
    /// The number of the block of registers.
    pub(crate) registers: u32,
    /// The next instruction: its place among all programs.
    pub(crate) pc: u32,
    /// The flow, by its number in the bundle.
    pub(crate) flow: u16,
    /// The limit on waits: one more than the number of a constant; 0 without.
    pub(crate) limit: u16,
    /// See [`mark`].
    pub(crate) marks: u8,
    /// Attempts of `Retry` that are left.
    pub(crate) retries: u8,
    /// The instruction behind the last `Retry`: its place in the program.
    pub(crate) retry_at: u16,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            links: Links::IDLE,
            started: 0,
            draws: 0,
            matched: MatchState::default(),
            since: 0,
            lap: 0,
            slots: NO_ID,
            registers: NO_ID,
            pc: 0,
            flow: 0,
            limit: 0,
            marks: 0,
            retries: 0,
            retry_at: 0,
        }
    }
}

impl Record for Context {
    fn link(&self) -> u32 {
        self.started
    }

    fn set_link(&mut self, link: u32) {
        self.started = link;
    }
}

impl Context {
    /// The place of an end of the flow in lists that have two for each flow.
    #[inline]
    pub(crate) const fn place(&self) -> usize {
        self.flow as usize * 2 + self.end() as usize
    }

    /// The end that it runs.
    #[inline]
    pub(crate) const fn end(&self) -> End {
        if self.is(mark::SERVER) { End::Server } else { End::Client }
    }

    /// Whether a mark is set.
    #[inline]
    pub(crate) const fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// Whether the record is free.
    #[inline]
    pub(crate) const fn is_gone(&self) -> bool {
        self.marks & mark::GONE == mark::GONE
    }

    /// Sets a mark.
    #[inline]
    pub(crate) const fn set(&mut self, mark: u8) {
        self.marks |= mark;
    }

    /// Takes a mark away; tells whether it was there.
    #[inline]
    pub(crate) const fn take(&mut self, mark: u8) -> bool {
        let was = self.is(mark);
        self.marks &= !mark;
        was
    }

    /// Goes on behind the instruction that waited.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.pc += 1;
        let fresh = if self.is(mark::ENTERED) { mark::FRESH } else { 0 };
        self.marks &= !(mark::ENTERED | mark::EXPIRED | fresh);
    }
}
