//! Finishing checksums in received frames before the program sees them.

use super::view::RingView;
use crate::abi::cursor;
use crate::nic::leaves_checksums;
use ringway_wire::offload::finish_if_partial;

/// Finishes the checksums that a software interface leaves to its hardware, of which there is none.
///
/// XDP programs and AF_XDP sockets see a frame's bytes but not the kernel's note that its checksum
/// is unfinished. So the finisher looks at each frame; see [`finish_if_partial`] for what marks
/// one.
#[derive(Debug)]
pub(crate) struct Finisher {
    needed: bool,
    /// Frames of several slots are put together here; as large as the longest that came.
    scratch: Vec<u8>,
}

impl Finisher {
    /// For frames from an interface of this driver; none when they are to stay `raw`.
    pub(crate) fn new(driver: &str, raw: bool) -> Self {
        Self::when(!raw && leaves_checksums(driver))
    }

    /// For frames from anywhere, when `needed`.
    pub(crate) fn when(needed: bool) -> Self {
        Self { needed, scratch: Vec::new() }
    }

    /// Finishes the frames in `[from, to)`: slots that are filled and not yet published.
    #[inline]
    pub(crate) fn finish(&mut self, ring: &RingView, from: u32, to: u32) {
        if !self.needed {
            return;
        }
        let mut at = from;
        while at != to {
            let s = ring.slot(at);
            if s.more() {
                at = self.finish_chain(ring, at, to);
                continue;
            }
            if !s.offload() && ring.valid(s) {
                // SAFETY: `s` was just found valid. Slots not yet handed out belong to the backend,
                // which calls this from the one sync that may run, so this is the only slice.
                finish_if_partial(unsafe { ring.bytes_mut(s, s.len as usize) });
            }
            at = ring.next(at);
        }
    }

    /// A frame of several slots is finished in one piece and copied back; returns where the next one starts. A super-frame that comes
    /// whole stays as it is: its note says what is left to be done.
    #[cold]
    fn finish_chain(&mut self, ring: &RingView, from: u32, to: u32) -> u32 {
        self.scratch.clear();
        let whole = ring.slot(from).offload();
        let (mut at, mut slots, mut more) = (from, 0, true);
        while more && at != to {
            let s = ring.slot(at);
            if !whole && ring.valid(s) {
                // SAFETY: as in `finish`.
                self.scratch.extend_from_slice(unsafe { ring.bytes(s) });
            }
            more = s.more();
            slots += 1;
            at = ring.next(at);
        }
        if finish_if_partial(&mut self.scratch) {
            let mut left = self.scratch.as_slice();
            for k in 0..slots {
                let s = ring.slot(cursor::add(from, k, ring.num()));
                let n = left.len().min(s.len as usize);
                if ring.valid(s) {
                    // SAFETY: as in `finish`.
                    unsafe { ring.bytes_mut(s, n) }.copy_from_slice(&left[..n]);
                    left = &left[n..];
                }
            }
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Slot;
    use crate::abi::layout::NS_MOREFRAG;
    use crate::memory::{Region, RegionSpec};
    use ringway_wire::checksum;

    const BUF: usize = 64;

    /// A UDP frame of 200 bytes whose checksum holds the pseudo header's sum only.
    fn unfinished() -> Vec<u8> {
        let mut f = vec![0u8; 200];
        f[12..14].copy_from_slice(&[8, 0]);
        f[14] = 0x45;
        f[16..18].copy_from_slice(&186u16.to_be_bytes());
        (f[22], f[23]) = (64, 17);
        f[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        f[38..40].copy_from_slice(&166u16.to_be_bytes());
        (42..200).for_each(|i| f[i] = i as u8);
        let pseudo: u32 = [0x0a00u32, 1, 0x0a00, 2, 17, 166].iter().sum();
        f[40..42].copy_from_slice(&(pseudo as u16).to_be_bytes());
        f
    }

    fn put(ring: &RingView, at: u32, frame: &[u8]) {
        put_by(ring, at, frame, BUF);
    }

    /// The same in buffers of another size; the slots that it took.
    fn put_by(ring: &RingView, at: u32, frame: &[u8], size: usize) -> u32 {
        let last = frame.len().div_ceil(size) as u32 - 1;
        for (k, part) in (0..).zip(frame.chunks(size)) {
            let flags = if k < last { NS_MOREFRAG } else { 0 };
            let s = Slot { buf: at + k + 2, len: part.len() as u16, flags };
            ring.set_slot(at + k, s);
            // SAFETY: the test is the only user of the ring.
            unsafe { ring.bytes_mut(s, part.len()) }.copy_from_slice(part);
        }
        last + 1
    }

    fn get(ring: &RingView, at: u32, slots: u32) -> Vec<u8> {
        // SAFETY: the test is the only user of the ring.
        (at..at + slots).flat_map(|i| unsafe { ring.bytes(ring.slot(i)) }.to_vec()).collect()
    }

    fn complete(frame: &[u8]) -> bool {
        let mut sum = frame[34..].to_vec();
        sum.extend_from_slice(&frame[26..34]);
        sum.extend_from_slice(&[0, 17]);
        sum.extend_from_slice(&frame[38..40]);
        checksum::of(&sum) == 0
    }

    #[test]
    fn chains_are_finished_and_what_lies_between_stays() {
        let spec = RegionSpec { interfaces: 1, rings: 1, slots: 16, buffers: 18, buf_size: BUF as u32 };
        let ring = RingView::new(&Region::memfd(&spec).unwrap(), 0, 16);
        let other = [7u8; 60];
        put(&ring, 0, &other);
        put(&ring, 1, &unfinished());
        put(&ring, 5, &other);
        assert!(!complete(&unfinished()));
        for (driver, raw) in [("ixgbe", false), ("veth", true)] {
            Finisher::new(driver, raw).finish(&ring, 0, 6);
            assert_eq!(get(&ring, 1, 4), unfinished());
        }
        Finisher::new("veth", false).finish(&ring, 0, 6);
        assert!(complete(&get(&ring, 1, 4)));
        assert_eq!((get(&ring, 0, 1), get(&ring, 5, 1)), (other.to_vec(), other.to_vec()));
        let at = get(&ring, 1, 4);
        assert_eq!((&at[..40], &at[42..]), (&unfinished()[..40], &unfinished()[42..]));
    }

    /// Their notes say what is left to be done, in one slot as in several.
    #[test]
    fn super_frames_that_come_whole_stay_as_they_are() {
        for buf_size in [BUF as u32, 256] {
            let spec = RegionSpec { interfaces: 1, rings: 1, slots: 16, buffers: 18, buf_size };
            let ring = RingView::new(&Region::memfd(&spec).unwrap(), 0, 16);
            let slots = put_by(&ring, 0, &unfinished(), buf_size as usize);
            ring.set_offload(0, 1);
            Finisher::when(true).finish(&ring, 0, slots);
            assert_eq!(get(&ring, 0, slots), unfinished(), "{slots} slots");
            let s = ring.slot(0);
            ring.set_slot(0, Slot { flags: s.flags & NS_MOREFRAG, ..s });
            Finisher::when(true).finish(&ring, 0, slots);
            assert!(complete(&get(&ring, 0, slots)), "without the note, in {slots} slots");
        }
    }
}
