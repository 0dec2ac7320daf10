//! Frames that the program put into its tx ring.

use super::{Geometry, KERNEL, SEND_REQUEST, WRONG_FORMAT, header};
use crate::options::Options;
use crate::sys::ring::Mapping;

/// Where the length and the offsets of a frame lie in its header, by version (counted from 0 as in `PACKET_VERSION`).
const LEN: [usize; 3] = [8, 4, 16];
const OFFSETS: [usize; 3] = [16, 12, 24];

/// The consuming side of a program's tx ring.
#[derive(Debug)]
pub(crate) struct TxMap {
    memory: Mapping,
    ring: Geometry,
    head: usize,
    /// Whether the header says where the bytes begin.
    offset: bool,
    pub(crate) scratch: Vec<u8>,
}

impl TxMap {
    /// `None` when the mapping, in which an rx ring comes first, does not hold the ring.
    pub(crate) fn new(ring: Geometry, rx: usize, mapping: &Mapping, options: &Options) -> Option<Self> {
        let memory = mapping.part(rx, ring.bytes())?;
        Some(Self { memory, ring, head: 0, offset: options.tx_offset, scratch: Vec::new() })
    }

    /// Frames of the ring.
    pub(crate) fn frames(&self) -> usize {
        self.ring.frames()
    }

    /// Copies the next frame that waits to `scratch`; returns its length. A header that makes no sense is marked as wrong
    /// and passed, as the kernel does: `Err`.
    pub(crate) fn next(&mut self) -> Option<Result<usize, ()>> {
        let at = self.ring.at(self.head);
        if self.memory.load(self.status(self.head)) != SEND_REQUEST {
            return None;
        }
        let v = usize::try_from(self.ring.version).unwrap_or(0).min(2);
        let len = self.memory.load(at + LEN[v]) as usize;
        let mut start = header(self.ring.version);
        if self.offset {
            let mut word = [0; 2];
            self.memory.read(at + OFFSETS[v], &mut word);
            start = u16::from_ne_bytes(word).into();
        }
        let fits = start >= header(self.ring.version)
            && start.checked_add(len).is_some_and(|end| end <= self.ring.frame);
        self.scratch.resize(if fits { len } else { 0 }, 0);
        if !fits || !self.memory.read(at + start, &mut self.scratch) {
            self.pass(WRONG_FORMAT);
            return Some(Err(()));
        }
        Some(Ok(len))
    }

    /// Gives the frame back to the program.
    pub(crate) fn done(&mut self) {
        self.pass(KERNEL);
    }

    /// The frame can't be sent.
    pub(crate) fn wrong(&mut self) {
        self.pass(WRONG_FORMAT);
    }

    fn pass(&mut self, status: u32) {
        self.memory.store(self.status(self.head), status);
        self.head = (self.head + 1) % self.ring.frames();
    }

    /// Version 3 has its status behind other words.
    fn status(&self, frame: usize) -> usize {
        self.ring.at(frame) + if self.ring.version == 2 { 20 } else { 0 }
    }
}
