//! The shape that all ports of a switch have.

use std::sync::atomic::Ordering::Relaxed;

use super::layout::{BUF_SIZE, MAGIC, RINGS_MAX, info, state};
use ringway_abi::{Layout, RegionSpec};
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::mmap::Mmap;

/// The same for the program by which a user looks at the state of its port.
const LOOK_PROGRAM: usize = 44 << 10;

/// The shape that all ports of a switch have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Slots of each ring.
    pub slots: u32,
    /// Rings of each direction.
    pub rings: u32,
    /// Bytes of a buffer.
    pub buf_size: u32,
}

impl Shape {
    /// The shape of the switch whose `info` this is.
    pub(crate) fn of_info(info: &Mmap, name: &str) -> Result<Self> {
        let word = |at| info.u32(at).load(Relaxed);
        if info.u64(info::MAGIC).load(Relaxed) != MAGIC {
            return Err(Error::new(ErrorKind::Unfit, name, "another version of Ringway made this switch")
                .cure("delete it with that version and make it again"));
        }
        let shape =
            Self { slots: word(info::SLOTS), rings: word(info::RINGS), buf_size: word(info::BUF_SIZE) };
        shape.check(name).map(|()| shape)
    }

    /// The shape of the switch whose ports have regions with this layout; `None` when no switch has such ports.
    #[must_use]
    pub fn of_region(layout: &Layout) -> Option<Self> {
        let shape = Self { slots: layout.slots, rings: layout.rings / 2, buf_size: layout.buf_size };
        (shape.check("region").is_ok() && shape.region() == *layout).then_some(shape)
    }

    /// Refuses a size that is out of bounds.
    pub(crate) fn check(self, name: &str) -> Result<()> {
        let refuse = |what: String, cure: &str| Err(Error::new(ErrorKind::Invalid, name, what).cure(cure));
        if !self.slots.is_power_of_two() || !(64..=4096).contains(&self.slots) {
            return refuse(format!("{} slots a ring", self.slots), "take a power of two from 64 to 4096");
        }
        if !(1..=RINGS_MAX).contains(&self.rings) {
            return refuse(format!("{} rings", self.rings), "take 1 to 8");
        }
        if !self.buf_size.is_multiple_of(64) || !(256..=BUF_SIZE).contains(&self.buf_size) {
            let what = format!("buffers of {} bytes", self.buf_size);
            return refuse(what, "take a multiple of 64 from 256 to 2112");
        }
        Ok(())
    }

    pub(crate) fn region_spec(self) -> RegionSpec {
        let rings = 2 * self.rings;
        RegionSpec {
            interfaces: 1,
            rings,
            slots: self.slots,
            buffers: ringway_abi::layout::FIRST_BUF + rings * self.slots,
            buf_size: self.buf_size,
        }
    }

    /// Bytes of a port's region. The bounds of `check` lie inside the bounds of regions.
    #[must_use]
    pub fn region(self) -> Layout {
        self.region_spec().layout().expect("shapes are checked when the switch is made")
    }

    pub(crate) fn tx_state(ring: u32) -> usize {
        state::HEADER + ring as usize * state::TX_SIZE
    }

    pub(crate) fn rx_state(self, ring: u32) -> usize {
        let size = state::RX_DONE + 8 * self.slots as usize;
        Self::tx_state(self.rings) + ring as usize * size
    }

    /// Bytes of a port's state.
    pub(crate) fn state(self) -> usize {
        self.rx_state(self.rings)
    }

    /// Bytes of memory that one port takes: region, state, a doorbell of three pages for each rx ring, and its own program.
    pub(crate) fn port_bytes(self) -> usize {
        let page_up = |n: usize| n.next_multiple_of(4096);
        page_up(self.region().total) + page_up(self.state()) + self.rings as usize * 3 * 4096 + LOOK_PROGRAM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_tells_the_shape() {
        let shape = Shape { slots: 256, rings: 3, buf_size: 2112 };
        let layout = shape.region();
        assert_eq!(Shape::of_region(&layout), Some(shape));
        for other in [
            Layout { rings: 7, ..layout },
            Layout { bufs: layout.bufs + 1, ..layout },
            Layout { slots: 100, ..layout },
            Layout { rings: 0, ..layout },
        ] {
            assert_eq!(Shape::of_region(&other), None, "{other:?}");
        }
    }
}
