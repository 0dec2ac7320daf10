//! A port's place in a region, laid out for its first use.

use crate::layout::{self, RING_HEADER, SLOT_SIZE, interface as at, ring};
use crate::{Layout, Slot};

/// A port's place in a region: an interface descriptor, and rings whose slots have a buffer each.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Where the parts of the region lie.
    pub layout: &'a Layout,
    /// Number of the interface descriptor.
    pub interface: u32,
    /// Numbers of the rings, tx rings first.
    pub rings: &'a [u32],
    /// How many of them are tx rings.
    pub tx_rings: u32,
    /// Slots of each ring.
    pub slots: u32,
    /// Whether these are host rings.
    pub host: bool,
}

impl Place<'_> {
    /// Writes the place: the descriptor with the first 15 bytes of `name`, rx rings without frames, tx rings with all slots but one free.
    /// `take_buf` gives a buffer for each slot, in the order of rings and slots. `write` copies bytes to an offset of the region.
    ///
    /// ```
    /// use ringway_abi::{FIRST_BUF, Place, RegionSpec, layout};
    ///
    /// let layout = RegionSpec { rings: 2, slots: 8, buffers: 18, ..RegionSpec::default() }.layout().unwrap();
    /// let place = Place { layout: &layout, interface: 0, rings: &[0, 1], tx_rings: 1, slots: 8, host: false };
    /// let (mut memory, mut bufs) = (vec![0; layout.total], FIRST_BUF..);
    /// place.lay_out("p1", || bufs.next().unwrap(), |at, bytes| memory[at..][..bytes.len()].copy_from_slice(bytes));
    ///
    /// let tail = layout.ring(0) + layout::ring::TAIL;
    /// assert_eq!(memory[tail..tail + 4], 7u32.to_ne_bytes());
    /// assert!(memory[layout.interface(0)..].starts_with(b"p1"));
    /// ```
    pub fn lay_out(
        &self,
        name: &str,
        mut take_buf: impl FnMut() -> u32,
        mut write: impl FnMut(usize, &[u8]),
    ) {
        for (k, &number) in (0..).zip(self.rings) {
            let begin = self.layout.ring(number);
            for slot in 0..self.slots {
                let word = Slot { buf: take_buf(), len: 0, flags: 0 }.word();
                let at = begin + RING_HEADER + slot as usize * SLOT_SIZE;
                write(at, &word.to_ne_bytes());
                write(at + 8, &[0; 8]);
            }
            self.write_header(begin, k, &mut write);
        }
        self.describe(name, &mut write);
    }

    /// Writes the header of the `k`th ring, which begins at byte `begin`.
    fn write_header(&self, begin: usize, k: u32, write: &mut impl FnMut(usize, &[u8])) {
        let is_rx = k >= self.tx_rings;
        let ringid = if is_rx { k - self.tx_rings } else { k };
        let tail = if is_rx { 0 } else { self.slots - 1 };
        let to_bufs = (self.layout.buf_ofs - begin) as u64;
        write(begin + ring::BUF_OFS, &to_bufs.to_ne_bytes());
        let words = [
            (ring::NUM_SLOTS, self.slots),
            (ring::BUF_SIZE, self.layout.buf_size),
            (ring::RINGID, (ringid & 0xffff) | u32::from(is_rx) << 16),
            (ring::HEAD, 0),
            (ring::CUR, 0),
            (ring::TAIL, tail),
        ];
        for (at, word) in words {
            write(begin + at, &word.to_ne_bytes());
        }
    }

    /// Writes the interface descriptor.
    fn describe(&self, name: &str, write: &mut impl FnMut(usize, &[u8])) {
        let base = self.layout.interface(self.interface);
        let mut text = [0u8; 16];
        for (to, byte) in text[..15].iter_mut().zip(name.bytes()) {
            *to = byte;
        }
        write(base + at::NAME, &text);
        let rings = (self.tx_rings, self.rings.len() as u32 - self.tx_rings);
        let (nic, host) = if self.host { ((0, 0), rings) } else { (rings, (0, 0)) };
        let words = [
            (at::VERSION, layout::ABI_VERSION),
            (at::FLAGS, 1),
            (at::TX_RINGS, nic.0),
            (at::RX_RINGS, nic.1),
            (at::BUFS_HEAD, 0),
            (at::HOST_TX_RINGS, host.0),
            (at::HOST_RX_RINGS, host.1),
        ];
        for (at, word) in words {
            write(base + at, &word.to_ne_bytes());
        }
        for (k, &number) in self.rings.iter().enumerate() {
            let to_ring = self.layout.ring(number) as i64 - base as i64;
            write(base + at::RING_OFS + 8 * k, &to_ring.to_ne_bytes());
        }
    }
}
