//! Sizes of a region, and where its parts lie.

use crate::layout::{FIRST_BUF, HEADROOM, IF_SIZE, RING_HEADER, SLOT_SIZE};

/// Bytes of a ring's control block: one cache line written by the program, one by the other side.
pub const CTL_SIZE: usize = 128;

const PAGE: usize = 4096;

/// How many objects a region holds. Bounds: 1-1024 interfaces, 0-4096 rings of 2-65536 slots, 3-4194304 buffers of
/// 64-65536 bytes (a multiple of 64), 2 GiB in all.
///
/// ```
/// let spec = ringway_abi::RegionSpec { rings: 2, slots: 512, buffers: 1026, ..Default::default() };
/// assert!(spec.layout().is_some_and(|layout| layout.total >= 1026 * 2048));
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

    /// Where the parts of such a region lie; `None` when a number is out of bounds.
    ///
    /// ```
    /// use ringway_abi::RegionSpec;
    ///
    /// let spec = RegionSpec { rings: 2, buffers: 514, ..RegionSpec::default() };
    /// let layout = spec.layout().expect("it is within bounds");
    /// assert_eq!(layout.buf(3) - layout.buf(2), 2048);
    /// assert!(RegionSpec { buf_size: 100, ..spec }.layout().is_none());
    /// ```
    #[must_use]
    pub fn layout(&self) -> Option<Layout> {
        let ok = (1..=1024).contains(&self.interfaces)
            && self.rings <= 4096
            && (2..=65536).contains(&self.slots)
            && (FIRST_BUF + 1..=1 << 22).contains(&self.buffers)
            && (64..=65536).contains(&self.buf_size)
            && self.buf_size.is_multiple_of(64);
        let layout = Layout::of(self);
        (ok && layout.total <= 1 << 31).then_some(layout)
    }
}

/// Offsets and sizes of the parts of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Interface descriptors.
    pub interfaces: u32,
    /// Rings.
    pub rings: u32,
    /// Slots of the largest ring.
    pub slots: u32,
    /// Buffers, the two reserved ones included.
    pub bufs: u32,
    /// Bytes of a buffer.
    pub buf_size: u32,
    /// Where the interface descriptors begin.
    pub if_ofs: usize,
    /// Where the rings begin.
    pub ring_ofs: usize,
    /// Bytes of a ring with its slots.
    pub ring_size: usize,
    /// Where buffer 0 begins.
    pub buf_ofs: usize,
    /// Bytes of the region.
    pub total: usize,
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

    /// Where the control block of a ring begins.
    #[must_use]
    pub fn ctl(&self, ring: u32) -> usize {
        ring as usize * CTL_SIZE
    }

    /// Where an interface descriptor begins.
    #[must_use]
    pub fn interface(&self, i: u32) -> usize {
        self.if_ofs + i as usize * IF_SIZE
    }

    /// Where a ring begins.
    #[must_use]
    pub fn ring(&self, ring: u32) -> usize {
        self.ring_ofs + ring as usize * self.ring_size
    }

    /// Where a buffer begins.
    #[inline]
    #[must_use]
    pub fn buf(&self, idx: u32) -> usize {
        self.buf_ofs + idx as usize * self.buf_size as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_out_of_bounds_have_no_layout() {
        let bad = [
            RegionSpec { buffers: 2, ..RegionSpec::default() },
            RegionSpec { buf_size: 100, ..RegionSpec::default() },
            RegionSpec { slots: 1, ..RegionSpec::default() },
            RegionSpec { buffers: 1 << 22, ..RegionSpec::default() },
        ];
        for spec in bad {
            assert_eq!(spec.layout(), None, "{spec:?}");
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
