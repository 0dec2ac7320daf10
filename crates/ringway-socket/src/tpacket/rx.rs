//! Received frames in the program's ring: a frame a slot in versions 1 and 2, packed into blocks in version 3.

use super::{Geometry, KERNEL, LOSING, USER, VLAN, VLAN_TPID, header, offsets};
use crate::frame::{self, Frame};
use crate::options::Options;
use crate::sys::ring::Mapping;

/// `tpacket_block_desc`: where its words lie, and where packets begin without private bytes.
mod desc {
    pub(super) const STATUS: usize = 8;
    pub(super) const PACKETS: usize = 12;
    pub(super) const FIRST: usize = 16;
    pub(super) const LEN: usize = 20;
    pub(super) const SEQUENCE: usize = 24;
    pub(super) const FIRST_TIME: usize = 32;
    pub(super) const LAST_TIME: usize = 40;
    pub(super) const BYTES: usize = 48;
}

/// The producing side of a program's ring.
#[derive(Debug)]
pub(crate) struct RxMap {
    memory: Mapping,
    ring: Geometry,
    /// The next frame (block in version 3) to fill.
    head: usize,
    bytes_at: usize,
    net_at: usize,
    dgram: bool,
    vnet: bool,
    index: u32,
    hardware: u16,
    open: Option<Block>,
    sequence: u64,
    /// Whether frames were lost since the last one that was put: version 1 and 2 tell in the next frame.
    losing: bool,
}

/// A block of version 3 that is being filled.
#[derive(Debug, Clone, Copy)]
struct Block {
    packets: u32,
    /// Where the next packet goes, and where the last one lies.
    next: usize,
    last: usize,
    first_time: (u32, u32),
    last_time: (u32, u32),
}

impl RxMap {
    /// `None` when the mapping does not hold the ring.
    pub(crate) fn new(ring: Geometry, mapping: &Mapping, options: &Options, dgram: bool) -> Option<Self> {
        let memory = mapping.part(0, ring.bytes())?;
        let (bytes_at, net_at) = offsets(ring.version, options, dgram);
        let (index, hardware, open) = (0, libc::ARPHRD_ETHER, None);
        let (head, sequence, losing, vnet) = (0, 1, false, options.vnet);
        Some(Self {
            memory,
            ring,
            head,
            bytes_at,
            net_at,
            dgram,
            vnet,
            index,
            hardware,
            open,
            sequence,
            losing,
        })
    }

    /// Tells which interface frames are from.
    pub(crate) fn from(mut self, index: u32, hardware: u16) -> Self {
        (self.index, self.hardware) = (index, hardware);
        self
    }

    /// Puts a frame; false when the program has not given enough back.
    pub(crate) fn put(&mut self, frame: &Frame<'_>) -> bool {
        let put = if self.ring.version == 2 { self.put_packed(frame) } else { self.put_slot(frame) };
        self.losing = !put;
        put
    }

    /// Whether the program has frames to read: as the kernel sees it, whether it holds what lies before the head.
    pub(crate) fn readable(&mut self) -> bool {
        let count = if self.ring.version == 2 { self.ring.blocks } else { self.ring.frames() };
        let last = (self.head + count - 1) % count;
        self.status(last) != KERNEL
    }

    /// Whether a frame surely finds room.
    pub(crate) fn has_room(&self) -> bool {
        let blocks = self.ring.blocks;
        // An open block may be too full for the frame: then the one behind it has to be free.
        let at = if self.open.is_some() { (self.head + 1) % blocks } else { self.head };
        self.status(at) == KERNEL
    }

    /// Hands a block of version 3 over that has frames.
    pub(crate) fn publish(&mut self) {
        if self.ring.version == 2 && self.open.is_some_and(|b| b.packets > 0) {
            self.close();
        }
    }

    fn status_at(&self, at: usize) -> usize {
        if self.ring.version == 2 { at * self.ring.block + desc::STATUS } else { self.ring.at(at) }
    }

    fn status(&self, at: usize) -> u32 {
        self.memory.load(self.status_at(at))
    }

    /// The bytes that the program sees, and how many there would be room for.
    fn visible<'a>(&self, frame: &Frame<'a>, room: usize) -> (&'a [u8], usize) {
        let from = if self.dgram { frame::HEADER } else { 0 };
        let all = frame.bytes.get(from..).unwrap_or_default();
        let snap = frame.meta.snap.saturating_sub(from).min(room);
        (&all[..snap.min(all.len())], all.len())
    }

    fn put_slot(&mut self, frame: &Frame<'_>) -> bool {
        if self.status(self.head) != KERNEL {
            return false;
        }
        let at = self.ring.at(self.head);
        let (bytes, len) = self.visible(frame, self.ring.frame.saturating_sub(self.bytes_at));
        let mut flags = USER | if self.losing { LOSING } else { 0 };
        let (sec, nanos) = time(frame);
        let ends = [self.bytes_at as u16, self.net_at as u16];
        let ends = u32::from_ne_bytes(
            [ends[0].to_ne_bytes(), ends[1].to_ne_bytes()].concat().try_into().unwrap_or_default(),
        );
        let words: [u32; 7] = if self.ring.version == 1 {
            let vlan = frame.meta.vlan.map_or(0, |(tci, tpid)| u32::from(tci) | u32::from(tpid) << 16);
            flags |= frame.meta.vlan.map_or(0, |_| VLAN | VLAN_TPID);
            [len as u32, bytes.len() as u32, ends, sec, nanos, vlan, 0]
        } else {
            // The status of version 1 has 64 bits.
            [0, len as u32, bytes.len() as u32, ends, sec, nanos / 1000, 0]
        };
        self.memory.write(at + 4, &words.map(u32::to_ne_bytes).concat());
        self.write_frame(at, frame, bytes);
        self.memory.store(at, flags);
        self.head = (self.head + 1) % self.ring.frames();
        true
    }

    fn put_packed(&mut self, frame: &Frame<'_>) -> bool {
        let first = desc::BYTES + self.ring.private.next_multiple_of(8);
        let (bytes, len) = self.visible(frame, self.ring.block.saturating_sub(first + self.bytes_at));
        let needs = (self.bytes_at + bytes.len()).next_multiple_of(8);
        if self.open.is_some_and(|b| b.next + needs > self.ring.block) {
            self.close();
        }
        let time = time(frame);
        let mut block = match self.open {
            Some(block) => block,
            None if self.status(self.head) != KERNEL => return false,
            None => Block { packets: 0, next: first, last: 0, first_time: time, last_time: time },
        };
        let base = self.head * self.ring.block;
        if block.packets > 0 {
            let gap = (block.next - block.last) as u32;
            self.memory.write(base + block.last, &gap.to_ne_bytes());
        }
        let flags = USER | frame.meta.vlan.map_or(0, |_| VLAN | VLAN_TPID);
        let (tci, tpid) = frame.meta.vlan.unwrap_or_default();
        let ends = self.bytes_at as u32 & 0xffff | (self.net_at as u32) << 16;
        let words = [
            0,
            time.0,
            time.1,
            bytes.len() as u32,
            len as u32,
            flags,
            ends.to_le(),
            0,
            tci.into(),
            tpid.into(),
            0,
            0,
        ];
        self.memory.write(base + block.next, &words.map(u32::to_ne_bytes).concat());
        self.write_frame(base + block.next, frame, bytes);
        (block.last, block.next) = (block.next, block.next + needs);
        (block.packets, block.last_time) = (block.packets + 1, time);
        self.open = Some(block);
        true
    }

    /// The address behind the header, and the bytes.
    fn write_frame(&self, at: usize, frame: &Frame<'_>, bytes: &[u8]) {
        let address = crate::address::of(frame, self.index, self.hardware);
        self.memory.write(at + header(self.ring.version), &address);
        if self.vnet {
            let len = ringway_wire::offload::Offload::HEADER_LEN;
            self.memory.write(at + self.bytes_at - len, &[0; ringway_wire::offload::Offload::HEADER_LEN]);
        }
        self.memory.write(at + self.bytes_at, bytes);
    }

    fn close(&mut self) {
        let Some(block) = self.open.take() else { return };
        let base = self.head * self.ring.block;
        let word = |at: usize, v: u32| self.memory.write(base + at, &v.to_ne_bytes());
        word(0, 1);
        word(4, desc::BYTES as u32);
        word(desc::PACKETS, block.packets);
        word(desc::FIRST, (desc::BYTES + self.ring.private.next_multiple_of(8)) as u32);
        word(desc::LEN, block.next as u32);
        self.memory.write(base + desc::SEQUENCE, &self.sequence.to_ne_bytes());
        for (at, (s, ns)) in [(desc::FIRST_TIME, block.first_time), (desc::LAST_TIME, block.last_time)] {
            word(at, s);
            word(at + 4, ns);
        }
        self.sequence += 1;
        self.memory.store(base + desc::STATUS, USER);
        self.head = (self.head + 1) % self.ring.blocks;
    }
}

fn time(frame: &Frame<'_>) -> (u32, u32) {
    (frame.meta.stamp.as_secs() as u32, frame.meta.stamp.subsec_nanos())
}
