//! Sizes of a region, and where its parts lie.

use crate::abi::layout::{FIRST_BUF, HEADROOM, IF_SIZE, RING_HEADER, SLOT_SIZE};
use crate::error::{Error, ErrorKind, Result};

/// Bytes of a ring's control block: one cache line written by the program, one by the other side.
pub(crate) const CTL_SIZE: usize = 128;

const PAGE: usize = 4096;

/// How many objects a region holds. Bounds: 1-1024 interfaces, 0-4096 rings of 2-65536 slots, 3-4194304 buffers of
/// 64-65536 bytes (a multiple of 64), 2 GiB in all.
///
/// ```
/// let spec = ringway::RegionSpec { rings: 2, slots: 512, buffers: 1026, ..Default::default() };
/// assert!(ringway::Region::memfd(&spec)?.bytes() >= 1026 * 2048);
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionSpec {
    /// Ports that can be opened in the region.
    pub interfaces: u32,
    /// Rings of all ports together.
    pub rings: u32,
    /// Slots of the largest ring.
    pub slots: u32,
    /// Buffers, the two reserved ones included.
    pub buffers: u32,
    /// Bytes of a buffer.
    pub buf_size: u32,
}

impl Default for RegionSpec {
    fn default() -> Self {
        Self { interfaces: 1, rings: 0, slots: 1024, buffers: FIRST_BUF + 1, buf_size: 2048 }
    }
}

impl RegionSpec {
    /// Room for what both hold.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            interfaces: self.interfaces + other.interfaces,
            rings: self.rings + other.rings,
            slots: self.slots.max(other.slots),
            buffers: self.buffers + other.buffers - FIRST_BUF,
            buf_size: self.buf_size.max(other.buf_size),
        }
    }

    pub(crate) fn layout(&self) -> Result<Layout> {
        let ok = (1..=1024).contains(&self.interfaces)
            && self.rings <= 4096
            && (2..=65536).contains(&self.slots)
            && (FIRST_BUF + 1..=1 << 22).contains(&self.buffers)
            && (64..=65536).contains(&self.buf_size)
            && self.buf_size.is_multiple_of(64);
        let layout = Layout::of(self);
        if !ok || layout.total > 1 << 31 {
            return Err(Error::new(ErrorKind::Invalid, "region", format!("{self:?} is out of bounds"))
                .cure("see RegionSpec for the bounds"));
        }
        Ok(layout)
    }
}

/// Offsets and sizes of the parts of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) interfaces: u32,
    pub(crate) rings: u32,
    pub(crate) slots: u32,
    pub(crate) bufs: u32,
    pub(crate) buf_size: u32,
    pub(crate) if_ofs: usize,
    pub(crate) ring_ofs: usize,
    pub(crate) ring_size: usize,
    pub(crate) buf_ofs: usize,
    pub(crate) total: usize,
}

impl Layout {
    fn of(s: &RegionSpec) -> Self {
        let page_up = |n: usize| n.next_multiple_of(PAGE);
        let ring_size = (RING_HEADER + s.slots as usize * SLOT_SIZE).next_multiple_of(256);
        let if_ofs = page_up(s.rings as usize * CTL_SIZE);
        let ring_ofs = page_up(if_ofs + s.interfaces as usize * IF_SIZE);
        let buf_ofs = page_up(ring_ofs + s.rings as usize * ring_size) + HEADROOM;
        Self {
            interfaces: s.interfaces,
            rings: s.rings,
            slots: s.slots,
            bufs: s.buffers,
            buf_size: s.buf_size,
            if_ofs,
            ring_ofs,
            ring_size,
            buf_ofs,
            total: page_up(buf_ofs + s.buffers as usize * s.buf_size as usize),
        }
    }

    pub(crate) fn ctl(&self, ring: u32) -> usize {
        ring as usize * CTL_SIZE
    }

    pub(crate) fn interface(&self, i: u32) -> usize {
        self.if_ofs + i as usize * IF_SIZE
    }

    pub(crate) fn ring(&self, ring: u32) -> usize {
        self.ring_ofs + ring as usize * self.ring_size
    }

    #[inline]
    pub(crate) fn buf(&self, idx: u32) -> usize {
        self.buf_ofs + idx as usize * self.buf_size as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bounds_are_refused_by_name() {
        let bad = [
            RegionSpec { buffers: 2, ..RegionSpec::default() },
            RegionSpec { buf_size: 100, ..RegionSpec::default() },
            RegionSpec { slots: 1, ..RegionSpec::default() },
            RegionSpec { buffers: 1 << 22, ..RegionSpec::default() },
        ];
        for spec in bad {
            let e = spec.layout().unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
        }
    }

    proptest! {
        #[test]
        fn parts_do_not_overlap(interfaces in 1u32..9, rings in 0u32..64, slots in 2u32..3000, buffers in 3u32..5000) {
            let l = RegionSpec { interfaces, rings, slots, buffers, buf_size: 2048 }.layout().unwrap();
            prop_assert!(l.ctl(rings) <= l.if_ofs);
            prop_assert!(l.interface(interfaces) <= l.ring_ofs);
            prop_assert!(l.ring(rings) <= l.buf_ofs);
            prop_assert!(l.buf(buffers) <= l.total);
            prop_assert!([l.if_ofs, l.ring_ofs, l.buf_ofs - HEADROOM, l.total].iter().all(|o| o % PAGE == 0));
            prop_assert!(l.ring(rings) + HEADROOM <= l.buf_ofs);
            prop_assert!(l.ring_size >= RING_HEADER + slots as usize * SLOT_SIZE);
        }
    }
}
