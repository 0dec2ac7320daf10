//! A region as this process has it: its memory, mapped, and its ledger.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use ringway_abi::layout::{ABI_VERSION, IF_SIZE, interface, ring as at};
use ringway_abi::{Layout, Slot};
use ringway_sys::error::{Error, Result};
use ringway_sys::mmap::Mmap;

use crate::ledger::Ledger;
use crate::ring_words::{FLAGS, RingWords};
use crate::space::Folder;

/// Rings that an interface descriptor has room for.
pub(crate) const RINGS_DESCRIBED: usize = (IF_SIZE - interface::RING_OFS) / 8;

/// A region, mapped.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) ledger: Ledger,
    /// `None` in a process that got a descriptor and can't reach the folder: it leaves cleaning up to others.
    pub(crate) folder: Option<Folder>,
    memory: OwnedFd,
    mem: Mmap,
}

/// What an interface descriptor says.
#[derive(Debug, Clone, Default)]
pub(crate) struct InterfaceFacts {
    pub(crate) name: String,
    /// tx, host tx, rx, host rx rings of the port.
    pub(crate) counts: [u32; 4],
    /// The rings in that order; `None`: the descriptor is not bound to the ring.
    pub(crate) rings: Vec<Option<u32>>,
    pub(crate) private: bool,
}

impl Region {
    /// Maps a region.
    pub(crate) fn map(ledger: Ledger, folder: Option<Folder>, memory: OwnedFd) -> Result<Self> {
        let mem = Mmap::shared(memory.as_fd(), ledger.layout().total, 0, true)
            .map_err(|e| Error::io(&ledger.key, "mapping the region failed", e))?;
        Ok(Self { ledger, folder, memory, mem })
    }

    pub(crate) fn layout(&self) -> &Layout {
        self.ledger.layout()
    }

    /// Bytes that a program maps.
    pub(crate) fn bytes(&self) -> usize {
        self.layout().total
    }

    pub(crate) fn memory(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }

    /// The words of a ring with so many slots.
    #[inline]
    pub(crate) fn ring(&self, number: u32, slots: u32) -> RingWords<'_> {
        let slots = slots.clamp(2, self.layout().slots);
        RingWords::new(&self.mem, self.layout(), number, slots)
    }

    /// Lays out the header and the slots of a new ring.
    pub(crate) fn lay_out_ring(&self, number: u32, (ringid, is_rx): (u32, bool), slots: u32, bufs: &[u32]) {
        let ring = self.ring(number, slots);
        for (i, &buf) in (0..slots).zip(bufs) {
            ring.set_slot(i, Slot { buf, len: 0, flags: 0 });
            ring.ptr(i).store(0, Relaxed);
        }
        let begin = self.layout().ring(number);
        self.mem.u64(begin + at::BUF_OFS).store((self.layout().buf_ofs - begin) as u64, Relaxed);
        let words = [
            (at::NUM_SLOTS, slots),
            (at::BUF_SIZE, self.layout().buf_size),
            (at::RINGID, ringid & 0xffff | u32::from(is_rx) << 16),
            (FLAGS, 0),
        ];
        for (at, word) in words {
            self.mem.u32(begin + at).store(word, Relaxed);
        }
        ring.set_cursors(0, if is_rx { 0 } else { slots - 1 });
    }

    /// Numbers a host's ring behind the rings of its NIC.
    pub(crate) fn set_ringid(&self, number: u32, ringid: u32) {
        let word = self.mem.u32(self.layout().ring(number) + at::RINGID);
        word.store(word.load(Relaxed) & 0xffff_0000 | ringid & 0xffff, Relaxed);
    }

    /// Writes the interface descriptor of a binding; returns its offset.
    pub(crate) fn describe(&self, index: u32, facts: &InterfaceFacts) -> usize {
        let base = self.interface(index);
        self.mem.write(base, &[0; IF_SIZE]);
        let len = facts.name.len().min(15);
        self.mem.write(base + interface::NAME, &facts.name.as_bytes()[..len]);
        let [tx, host_tx, rx, host_rx] = facts.counts;
        let words = [
            (interface::VERSION, ABI_VERSION),
            (interface::FLAGS, facts.private.into()),
            (interface::TX_RINGS, tx),
            (interface::RX_RINGS, rx),
            (interface::HOST_TX_RINGS, host_tx),
            (interface::HOST_RX_RINGS, host_rx),
        ];
        for (at, word) in words {
            self.mem.u32(base + at).store(word, Relaxed);
        }
        for (k, ring) in facts.rings.iter().take(RINGS_DESCRIBED).enumerate() {
            let ofs = ring.map_or(0, |ring| self.layout().ring(ring) as i64 - base as i64);
            self.mem.u64(base + interface::RING_OFS + 8 * k).store(ofs as u64, Relaxed);
        }
        base
    }

    fn interface(&self, index: u32) -> usize {
        self.layout().interface(index)
    }

    /// The first of a binding's extra buffers.
    pub(crate) fn extra_head(&self, index: u32) -> &AtomicU32 {
        self.mem.u32(self.interface(index) + interface::BUFS_HEAD)
    }

    /// The word at the start of a buffer that names the next one of a list.
    pub(crate) fn next_buffer(&self, buf: u32) -> Option<&AtomicU32> {
        (buf < self.layout().bufs).then(|| self.mem.u32(self.layout().buf(buf)))
    }

    /// Copies the bytes of a slot, which is valid, to the buffer of a slot of another region, as far as they go.
    pub(crate) fn copy_slot(&self, from: Slot, to: &Self, buf: u32) -> u16 {
        let len = usize::from(from.len).min(to.layout().buf_size as usize);
        let mut bytes = vec![0; len];
        self.mem.read(self.layout().buf(from.buf), &mut bytes);
        to.mem.write(to.layout().buf(buf), &bytes);
        len as u16
    }

    /// The bytes of a slot, which is valid.
    pub(crate) fn read_slot(&self, slot: Slot, out: &mut Vec<u8>) {
        let begin = out.len();
        out.resize(begin + usize::from(slot.len), 0);
        self.mem.read(self.layout().buf(slot.buf), &mut out[begin..]);
    }

    /// Writes the buffer of a slot, which is valid.
    pub(crate) fn write_slot(&self, buf: u32, bytes: &[u8]) {
        self.mem.write(self.layout().buf(buf), &bytes[..bytes.len().min(self.layout().buf_size as usize)]);
    }
}
