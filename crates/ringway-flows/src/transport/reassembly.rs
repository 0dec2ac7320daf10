//! Bytes that arrived, and that the program has not taken: because bytes before them are missing, or because it waits for something else.

use super::seq::{before, not_after};
use super::settings::Settings;
use crate::base::blocks::Blocks;

/// Parts of a stream that are kept, at most: a window of 64 KiB, even with some holes.
pub(crate) const PARTS: usize = 40;

/// The bytes that one part may have.
const BLOCK: usize = 2048;

/// Some bytes of the stream, in a block.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    seq: u32,
    block: u32,
    /// Where they begin in the block.
    from: u16,
    len: u16,
}

impl Part {
    const fn end(&self) -> u32 {
        self.seq.wrapping_add(self.len as u32)
    }

    /// Bytes of the block that are free behind it.
    const fn free(&self) -> usize {
        BLOCK - self.from as usize - self.len as usize
    }
}

/// The bytes of one connection that wait. Of bytes that came twice, the first ones count.
///
/// Its blocks belong to the pool that each call gets. The owner calls [`clear`](Self::clear) before it drops this.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Incoming {
    /// Sorted and apart. Those before `Conn::expected` come first, without holes.
    parts: [Part; PARTS],
    count: u8,
    /// The number of the peer's FIN, if it came early.
    fin: Option<u32>,
}

impl Default for Incoming {
    /// Nothing waits.
    fn default() -> Self {
        Self { parts: [Part::default(); PARTS], count: 0, fin: None }
    }
}

impl Incoming {
    /// Whether nothing waits.
    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0 && self.fin.is_none()
    }

    /// Keeps bytes from `seq` on, which may repeat earlier ones. Returns how many of them it had to drop.
    ///
    /// Where parts or blocks run out, the bytes that are farthest ahead go first. So none of the next bytes is dropped as long as the caller
    /// heeds [`room`](Self::room), unless the pool is used up by other connections.
    pub(crate) fn store(&mut self, mut seq: u32, mut data: &[u8], blocks: &mut Blocks) -> usize {
        let mut dropped = 0;
        while !data.is_empty() {
            let at = self.used().iter().position(|part| before(seq, part.end())).unwrap_or(self.count.into());
            let next = self.used().get(at).map(|part| part.seq);
            let (skip, gap) = match next {
                Some(next) if not_after(next, seq) => (self.parts[at].end().wrapping_sub(seq) as usize, 0),
                Some(next) => (0, data.len().min(next.wrapping_sub(seq) as usize)),
                None => (0, data.len()),
            };
            let done = match gap {
                0 => skip.min(data.len()),
                _ => match self.put(at, seq, &data[..gap], blocks) {
                    0 if next.is_some() => {
                        dropped += self.drop_last(blocks);
                        continue;
                    }
                    0 => return dropped + data.len(),
                    put => put,
                },
            };
            (seq, data) = (seq.wrapping_add(done as u32), &data[done..]);
        }
        dropped
    }

    /// Notes that the peer's FIN has this number. The first one counts.
    pub(crate) fn note_fin(&mut self, seq: u32) {
        self.fin.get_or_insert(seq);
    }

    /// FIN counts now: it is no longer early.
    pub(crate) fn forget_fin(&mut self) {
        self.fin = None;
    }

    /// How many bytes wait from `expected` on without a hole, and whether FIN comes behind them.
    pub(crate) fn follows(&self, expected: u32) -> (u32, bool) {
        let mut end = expected;
        for part in self.used() {
            if not_after(part.seq, end) && before(end, part.end()) {
                end = part.end();
            }
        }
        (end.wrapping_sub(expected), self.fin == Some(end))
    }

    /// Whether bytes wait behind a hole. `expected` as of the connection.
    pub(crate) fn has_early(&self, expected: u32) -> bool {
        self.used().last().is_some_and(|part| before(expected, part.end()))
    }

    /// The first bytes that the program may take. More may follow once they are taken. `expected` as of the connection.
    pub(crate) fn front<'a>(&self, expected: u32, blocks: &'a Blocks) -> &'a [u8] {
        match self.used().first() {
            Some(part) if before(part.seq, expected) => {
                let len = u32::from(part.len).min(expected.wrapping_sub(part.seq));
                &blocks[part.block][part.from.into()..][..len as usize]
            }
            _ => &[],
        }
    }

    /// Forgets bytes before `until`: the program has taken them.
    pub(crate) fn taken(&mut self, until: u32, blocks: &mut Blocks) {
        let whole = self.used().iter().take_while(|part| not_after(part.end(), until)).count();
        self.used()[..whole].iter().for_each(|part| blocks.give(part.block));
        self.parts.copy_within(whole..self.count.into(), 0);
        self.count -= whole as u8;
        if let Some(part) = self.parts[..self.count.into()].first_mut()
            && before(part.seq, until)
        {
            let cut = until.wrapping_sub(part.seq) as u16;
            (part.seq, part.from, part.len) = (until, part.from + cut, part.len - cut);
        }
    }

    /// Forgets the next `len` bytes: the program has taken them.
    pub(crate) fn eat(&mut self, len: usize, blocks: &mut Blocks) {
        self.taken(self.parts[0].seq.wrapping_add(len as u32), blocks);
    }

    /// The number of the first byte that waits, if any does.
    pub(crate) fn first(&self) -> Option<u32> {
        self.used().first().map(|part| part.seq)
    }

    /// Bytes that may still arrive from `expected` on.
    ///
    /// Bytes of a block make room together, once all are taken, so that the window opens by no small steps (RFC 9293, section 3.8.6.2.2).
    /// It never shrinks, unless it is larger than what the parts hold: only a program that keeps up has all of it.
    pub(crate) fn room(&self, expected: u32, settings: &Settings) -> u32 {
        let waiting = self.used().partition_point(|part| before(part.seq, expected));
        let Some(last) = self.parts[..waiting].last() else { return settings.window };
        let first = &self.parts[0];
        let held = expected.wrapping_sub(first.seq) + u32::from(first.from);
        let storable = (PARTS - waiting) * BLOCK + last.free();
        settings.window.saturating_sub(held).min(storable as u32)
    }

    /// Gives all blocks back.
    pub(crate) fn clear(&mut self, blocks: &mut Blocks) {
        self.used().iter().for_each(|part| blocks.give(part.block));
        *self = Self::default();
    }

    fn used(&self) -> &[Part] {
        &self.parts[..self.count.into()]
    }

    /// Puts bytes, or the first of them, before part `at`. Returns how many there was a place for.
    fn put(&mut self, at: usize, seq: u32, data: &[u8], blocks: &mut Blocks) -> usize {
        if let Some(part) = self.parts[..at].last_mut()
            && part.end() == seq
            && part.free() > 0
        {
            let (from, len) = (usize::from(part.from + part.len), data.len().min(part.free()));
            blocks[part.block][from..from + len].copy_from_slice(&data[..len]);
            part.len += len as u16;
            return len;
        }
        if usize::from(self.count) == PARTS {
            return 0;
        }
        let Some(block) = blocks.take(BLOCK) else { return 0 };
        let len = data.len().min(BLOCK);
        blocks[block][..len].copy_from_slice(&data[..len]);
        self.parts.copy_within(at..self.count.into(), at + 1);
        self.parts[at] = Part { seq, block, from: 0, len: len as u16 };
        self.count += 1;
        len
    }

    /// Drops the bytes that are farthest ahead.
    fn drop_last(&mut self, blocks: &mut Blocks) -> usize {
        self.count -= 1;
        let part = self.parts[usize::from(self.count)];
        blocks.give(part.block);
        part.len.into()
    }
}

#[cfg(test)]
mod tests;
