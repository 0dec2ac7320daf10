//! One ring that an AF_XDP socket shares with the kernel.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::mmap::Mmap;

/// Bytes of an address, and of a descriptor: address u64, length u32, options u32.
pub(super) const ADDR: usize = 8;
pub(super) const DESC: usize = 16;

/// An address that lies in no memory.
const NOTHING: u64 = u64::MAX;

/// A descriptor of an rx or tx ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Desc {
    /// Where the frame is in the memory of the socket.
    pub addr: u64,
    /// Its bytes there.
    pub len: u32,
    /// Whether the frame goes on in the next one (`XDP_PKT_CONTD`).
    pub more: bool,
}

/// One ring shared with the kernel, used from one side: as producer ([`room`](Self::room), `put`,
/// [`publish`](Self::publish)) or as consumer ([`ready`](Self::ready), `take`, [`release`](Self::release)).
///
/// `mine` is this side's cursor, `theirs` the last one seen of the other side.
#[derive(Debug)]
pub struct Ring {
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<u8>,
    mine: u32,
    theirs: u32,
    /// Producer: entries behind `theirs` that the kernel took without showing it: it shows only with frames that it sent
    /// (Linux 6.17).
    unseen: u32,
    nothings: u32,
    mask: u32,
    _mem: Mmap,
}

// SAFETY: the pointers are into `_mem`, which moves along and stays mapped; all access is by atomics.
unsafe impl Send for Ring {}

impl Ring {
    pub(super) fn map(
        fd: &OwnedFd,
        page: i64,
        ofs: &libc::xdp_ring_offset,
        entry: usize,
        entries: u32,
    ) -> io::Result<Self> {
        let bytes = entries as usize * entry;
        let mem = Mmap::shared(fd.as_fd(), ofs.desc as usize + bytes, page, true)?;
        let word = |at: u64| NonNull::from(mem.u32(at as usize));
        Ok(Self {
            producer: word(ofs.producer),
            consumer: word(ofs.consumer),
            flags: word(ofs.flags),
            entries: mem.at(ofs.desc as usize, bytes),
            mine: 0,
            theirs: 0,
            unseen: 0,
            nothings: 0,
            mask: entries - 1,
            _mem: mem,
        })
    }

    #[inline]
    fn producer(&self) -> &AtomicU32 {
        // SAFETY: in bounds and aligned (made from a reference), alive as long as `_mem`.
        unsafe { self.producer.as_ref() }
    }

    #[inline]
    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as in `producer`.
        unsafe { self.consumer.as_ref() }
    }

    /// Word `word` of entry `i` of entries of `size` bytes.
    #[inline]
    fn word(&self, i: u32, size: usize, word: usize) -> &AtomicU64 {
        let at = (i & self.mask) as usize * size + word * 8;
        // SAFETY: the masked index is below the number of entries mapped; a ring is used with the one entry size
        // that it was mapped with (see `TxRings`, `RxRings`), and entries are 8-byte aligned.
        unsafe { self.entries.add(at).cast::<AtomicU64>().as_ref() }
    }

    /// Whether the kernel asks to be woken (`XDP_RING_NEED_WAKEUP`).
    pub fn needs_wakeup(&self) -> bool {
        // SAFETY: as in `producer`.
        unsafe { self.flags.as_ref() }.load(Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// Producer: entries that may be put now.
    #[inline]
    pub fn room(&mut self, want: u32) -> u32 {
        let size = self.mask + 1;
        if size - self.mine.wrapping_sub(self.theirs) < want {
            self.waiting();
        }
        size - self.mine.wrapping_sub(self.theirs)
    }

    /// Producer: puts a descriptor; the caller has asked for room.
    #[inline]
    pub fn put(&mut self, d: Desc) {
        let options = if d.more { libc::XDP_PKT_CONTD } else { 0 };
        self.word(self.mine, DESC, 0).store(d.addr, Relaxed);
        self.word(self.mine, DESC, 1).store(u64::from(d.len) | u64::from(options) << 32, Relaxed);
        self.mine = self.mine.wrapping_add(1);
    }

    /// Producer: puts an address; the caller has asked for room.
    #[inline]
    pub fn put_addr(&mut self, addr: u64) {
        self.word(self.mine, ADDR, 0).store(addr, Relaxed);
        self.mine = self.mine.wrapping_add(1);
    }

    /// Producer: shows the kernel what was put.
    #[inline]
    pub fn publish(&mut self) {
        self.producer().store(self.mine, Release);
    }

    /// Producer: entries that the kernel has not taken.
    #[inline]
    pub fn waiting(&mut self) -> u32 {
        let theirs = self.consumer().load(Acquire);
        if theirs != self.theirs {
            (self.theirs, self.unseen) = (theirs, 0);
        }
        let waiting = self.mine.wrapping_sub(theirs);
        if waiting == 0 {
            self.nothings = 0;
        }
        waiting
    }

    /// Producer: the kernel took one more frame, of those not given up, and lost it; returns its bytes.
    #[cold]
    pub fn lost(&mut self) -> u64 {
        let (before, known) = (self.theirs, self.unseen);
        self.waiting();
        let taken = self.theirs.wrapping_sub(before);
        let last = self.theirs.wrapping_sub(1);
        if taken > known && self.read(last).addr != NOTHING {
            // Others were sent before it, so the kernel shows it.
            let first =
                (1..taken - known).take_while(|&i| self.read(last.wrapping_sub(i)).more).count() as u32;
            return (0..=first).map(|i| u64::from(self.read(last.wrapping_sub(i)).len)).sum();
        }
        let (mut bytes, mut ended) = (0, false);
        while !ended && self.unseen < self.mine.wrapping_sub(self.theirs) {
            let d = self.read(self.theirs.wrapping_add(self.unseen));
            self.unseen += 1;
            bytes += u64::from(d.len);
            ended = d.addr != NOTHING && !d.more;
        }
        bytes
    }

    /// Producer: gives up all entries that the kernel has not taken, oldest first. The kernel may remember how far it may
    /// read, so they can't be pulled out again: they become descriptors of nothing, which the kernel skips. Only where the
    /// kernel looks at the ring just while it is kicked: in copy mode without need-wakeup.
    #[cold]
    pub fn give_up(&mut self, mut each: impl FnMut(Desc)) {
        for i in 0..self.waiting() {
            let at = self.theirs.wrapping_add(i);
            let d = self.read(at);
            if d.addr != NOTHING {
                self.word(at, DESC, 0).store(NOTHING, Relaxed);
                self.word(at, DESC, 1).store(0, Relaxed);
                self.nothings += 1;
                if i >= self.unseen {
                    each(d);
                }
            }
        }
    }

    /// Producer: entries that stand for nothing, at most.
    pub fn nothings(&self) -> u32 {
        self.nothings
    }

    /// Consumer: entries to take.
    #[inline]
    pub fn ready(&mut self) -> u32 {
        if self.theirs == self.mine {
            self.theirs = self.producer().load(Acquire);
        }
        self.theirs.wrapping_sub(self.mine).min(self.mask + 1)
    }

    /// Consumer: whether the kernel has put entries that were not taken; changes nothing.
    pub fn has_more(&self) -> bool {
        self.producer().load(Acquire) != self.mine
    }

    /// Consumer: the next descriptor but `ahead`; the caller has asked how many there are.
    #[inline]
    pub fn peek(&self, ahead: u32) -> Desc {
        self.read(self.mine.wrapping_add(ahead))
    }

    /// Consumer: the next address; the caller has asked how many there are.
    #[inline]
    pub fn peek_addr(&self, ahead: u32) -> u64 {
        self.word(self.mine.wrapping_add(ahead), ADDR, 0).load(Relaxed)
    }

    /// Consumer: gives `n` entries back.
    #[inline]
    pub fn release(&mut self, n: u32) {
        self.mine = self.mine.wrapping_add(n);
        self.consumer().store(self.mine, Release);
    }

    /// Consumer: gives all entries back unread.
    pub fn release_all(&mut self) {
        self.theirs = self.producer().load(Acquire);
        self.mine = self.theirs;
        self.consumer().store(self.mine, Release);
    }

    #[inline]
    fn read(&self, i: u32) -> Desc {
        let (addr, rest) = (self.word(i, DESC, 0).load(Relaxed), self.word(i, DESC, 1).load(Relaxed));
        Desc { addr, len: rest as u32, more: (rest >> 32) as u32 & libc::XDP_PKT_CONTD != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENTRIES: u32 = 8;

    /// A ring over plain memory: producer, consumer, flags, and entries from byte 64 on.
    fn ring() -> Ring {
        let fd = crate::fd::memfd(c"ring", 4096).unwrap();
        let ofs = libc::xdp_ring_offset { producer: 0, consumer: 4, desc: 64, flags: 8 };
        Ring::map(&fd, 0, &ofs, DESC, ENTRIES).unwrap()
    }

    /// How the kernel reads a tx ring: it remembers how far it may read, shows what it took only with frames that it
    /// sent, and stops at a descriptor that it refuses.
    #[derive(Default)]
    struct Kernel {
        prod: u32,
        cons: u32,
    }

    impl Kernel {
        /// One kick that stops after `budget` frames, of which the last one may be lost; addresses sent, and the one lost.
        fn kick(&mut self, ring: &Ring, budget: u32, lose: bool) -> (Vec<u64>, Option<u64>) {
            let mut sent = Vec::new();
            let mut lost = None;
            for k in 1..=budget {
                if self.prod == self.cons {
                    ring.consumer().store(self.cons, Release);
                    self.prod = ring.producer().load(Acquire);
                }
                if self.prod == self.cons {
                    break;
                }
                let d = ring.read(self.cons);
                self.cons = self.cons.wrapping_add(1);
                if d.addr == NOTHING {
                    break;
                }
                if lose && k == budget {
                    lost = Some(d.addr);
                    break;
                }
                sent.push(d.addr);
            }
            if !sent.is_empty() {
                ring.consumer().store(self.cons, Release);
            }
            (sent, lost)
        }
    }

    proptest! {
        /// Whatever is put up is sent, lost or given up: once, and in order.
        #[test]
        fn each_entry_has_one_fate(steps in prop::collection::vec((0u8..4, 1u32..5), 1..200)) {
            let (mut ring, mut kernel, mut next) = (ring(), Kernel::default(), 0u64);
            let mut fate = Vec::new();
            for (step, n) in steps {
                match step {
                    0 => {
                        let n = n.min(ring.room(n));
                        for _ in 0..n {
                            ring.put(Desc { addr: next, len: next as u32 + 1, more: false });
                            next += 1;
                        }
                        ring.publish();
                    }
                    1 | 2 => {
                        let (sent, lost) = kernel.kick(&ring, n, step == 2);
                        fate.extend(sent);
                        if let Some(lost) = lost {
                            prop_assert_eq!(ring.lost(), lost + 1);
                            fate.push(lost);
                        }
                    }
                    _ => ring.give_up(|d| fate.push(d.addr)),
                }
                prop_assert!(ring.waiting() <= ENTRIES);
            }
            for _ in 0..=2 * ENTRIES {
                fate.extend(kernel.kick(&ring, ENTRIES, false).0);
            }
            prop_assert_eq!(ring.waiting(), 0);
            prop_assert_eq!(ring.nothings(), 0);
            prop_assert_eq!(fate, (0..next).collect::<Vec<_>>());
        }
    }
}
