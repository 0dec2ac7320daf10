//! The record of a port: what serves consecutive rings.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use ringway_sys::mmap::Mmap;

/// Bytes of a record.
pub(super) const SIZE: usize = 128;

const IN_USE: usize = 0;
const FIRST_RING: usize = 4;
const TX_RINGS: usize = 8;
const RX_RINGS: usize = 12;
const SLOTS: usize = 16;
const KIND: usize = 20;
const HEADER: usize = 24;
const HOLDERS: usize = 32;
const NAME: usize = 64;
const NAME_MAX: usize = 64;

/// Processes that are noted as holders of a port's descriptors.
const HOLDERS_MAX: usize = 4;

/// What serves a port's rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum PortKind {
    /// A port of Ringway.
    Served = 1,
    /// The other end of a pipe.
    Pipe = 2,
    /// Rings of other ports, which are monitored.
    Monitor = 3,
    /// Nothing: frames that are sent are gone.
    Alone = 4,
    /// The rx rings of another port, whose frames come together in its one ring.
    Gathered = 5,
}

/// The record of a port. It changes under the region's control lock only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PortRecord<'a> {
    mem: &'a Mmap,
    at: usize,
    /// Its number.
    pub(crate) index: u32,
}

/// What a new port's record says.
#[derive(Debug, Clone)]
pub(crate) struct PortFacts {
    pub(crate) kind: PortKind,
    pub(crate) name: String,
    pub(crate) first_ring: u32,
    pub(crate) tx_rings: u32,
    pub(crate) rx_rings: u32,
    pub(crate) slots: u32,
}

impl<'a> PortRecord<'a> {
    pub(super) fn new(mem: &'a Mmap, at: usize, index: u32) -> Self {
        Self { mem, at, index }
    }

    fn word(&self, at: usize) -> &'a AtomicU32 {
        self.mem.u32(self.at + at)
    }

    fn number(&self, at: usize) -> u32 {
        self.word(at).load(Relaxed)
    }

    pub(crate) fn in_use(&self) -> bool {
        self.word(IN_USE).load(Acquire) != 0
    }

    /// Puts the port into the book.
    pub(crate) fn begin(&self, facts: &PortFacts) {
        let mut name = [0; NAME_MAX];
        let len = facts.name.len().min(NAME_MAX - 1);
        name[..len].copy_from_slice(&facts.name.as_bytes()[..len]);
        self.mem.write(self.at + NAME, &name);
        let words = [
            (FIRST_RING, facts.first_ring),
            (TX_RINGS, facts.tx_rings),
            (RX_RINGS, facts.rx_rings),
            (SLOTS, facts.slots),
            (KIND, facts.kind as u32),
            (HEADER, 0),
        ];
        for (at, word) in words {
            self.word(at).store(word, Relaxed);
        }
        for k in 0..HOLDERS_MAX {
            self.holder(k).store(0, Relaxed);
        }
        self.word(IN_USE).store(1, Release);
    }

    /// Takes it out.
    pub(crate) fn end(&self) {
        self.word(IN_USE).store(0, Release);
    }

    pub(crate) fn name(&self) -> String {
        let mut name = [0; NAME_MAX];
        self.mem.read(self.at + NAME, &mut name);
        let end = name.iter().position(|b| *b == 0).unwrap_or(NAME_MAX);
        String::from_utf8_lossy(&name[..end]).into_owned()
    }

    pub(crate) fn kind(&self) -> PortKind {
        match self.number(KIND) {
            1 => PortKind::Served,
            2 => PortKind::Pipe,
            3 => PortKind::Monitor,
            5 => PortKind::Gathered,
            _ => PortKind::Alone,
        }
    }

    /// Bytes of the virtio header before each frame, which the program sets.
    #[inline]
    pub(crate) fn header(&self) -> u16 {
        self.number(HEADER) as u16
    }

    pub(crate) fn set_header(&self, length: u16) {
        self.word(HEADER).store(length.into(), Relaxed);
    }

    pub(crate) fn slots(&self) -> u32 {
        self.number(SLOTS)
    }

    /// Numbers of its tx rings.
    pub(crate) fn tx(&self) -> std::ops::Range<u32> {
        let first = self.number(FIRST_RING);
        first..first.saturating_add(self.number(TX_RINGS))
    }

    /// Numbers of its rx rings, which follow the tx rings.
    pub(crate) fn rx(&self) -> std::ops::Range<u32> {
        let first = self.tx().end;
        first..first.saturating_add(self.number(RX_RINGS))
    }

    /// Numbers of all its rings.
    pub(crate) fn rings(&self) -> std::ops::Range<u32> {
        self.tx().start..self.rx().end
    }

    fn holder(&self, k: usize) -> &'a AtomicU64 {
        self.mem.u64(self.at + HOLDERS + 8 * k)
    }

    /// Notes a process that has the port's descriptors in the queue of its descriptor `fd`. It replaces one that ended, or the oldest.
    pub(crate) fn add_holder(&self, pid: u32, fd: i32) {
        let mut words: Vec<u64> = (0..HOLDERS_MAX).map(|k| self.holder(k).load(Relaxed)).collect();
        words.retain(|word| *word != 0 && is_there((word >> 32) as u32));
        words.insert(0, u64::from(pid) << 32 | u64::from(fd as u32));
        words.resize(HOLDERS_MAX, 0);
        for (k, word) in words.into_iter().enumerate() {
            self.holder(k).store(word, Relaxed);
        }
    }

    /// Forgets what a process had.
    pub(crate) fn remove_holder(&self, pid: u32, fd: i32) {
        let word = u64::from(pid) << 32 | u64::from(fd as u32);
        (0..HOLDERS_MAX)
            .filter(|k| self.holder(*k).load(Relaxed) == word)
            .for_each(|k| self.holder(k).store(0, Relaxed));
    }

    /// Processes and their descriptors.
    pub(crate) fn holders(&self) -> Vec<(u32, i32)> {
        let words = (0..HOLDERS_MAX).map(|k| self.holder(k).load(Relaxed));
        words.filter(|w| *w != 0).map(|w| ((w >> 32) as u32, w as u32 as i32)).collect()
    }
}

/// Whether the process runs.
fn is_there(pid: u32) -> bool {
    std::fs::exists(format!("/proc/{pid}")).unwrap_or(false)
}
