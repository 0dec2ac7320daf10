//! The frames that the senders of this suite make.

use ringway::TxRing;

/// Address of the sender.
/// Frames handled per iteration where a case says nothing else.
pub(super) const BURST: u32 = 256;

const SENDER: [u8; 6] = [2, 1, 0, 0, 0, 0];

/// First two bytes of the addresses of the receiver; its number is in the other four.
const RECEIVER: [u8; 2] = [2, 2];

/// Local experimental: no stack takes it for its own.
const ETHERTYPE: [u8; 2] = [0x88, 0xb5];

/// Written in each frame: a whole frame of 64 with FCS.
const HEAD: usize = 60;

const FCS: u32 = 4;
const SEQUENCE_AT: usize = 16;

/// Where frames go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    /// The receiver's first address.
    One,
    /// One of so many addresses of the receiver, a power of two, at random.
    Random(u32),
    /// All.
    Broadcast,
    /// The receiver's first address, and one frame in 256 to all.
    OneAndSomeAll,
}

/// A source of frames of one size.
///
/// Each frame's first 60 bytes are written; the rest of a buffer stays as it is, as with most generators.
/// Frames longer than a buffer are written whole.
#[derive(Debug)]
pub(super) struct Frames {
    bytes: Vec<u8>,
    to: To,
    sequence: u64,
    dice: u64,
}

impl Frames {
    /// Frames of `size` bytes with FCS, at least 64.
    pub(super) fn new(size: u32, to: To) -> Self {
        let mut bytes = vec![0; size.saturating_sub(FCS) as usize];
        bytes.resize(bytes.len().max(HEAD), 0);
        let receiver = if to == To::Broadcast { [0xff; 6] } else { receiver(0) };
        bytes[..14].copy_from_slice(&[&receiver[..], &SENDER, &ETHERTYPE].concat());
        Self { bytes, to, sequence: 0, dice: 0x9e37_79b9_7f4a_7c15 }
    }

    /// Fills up to `burst` frames into the free slots; returns how many.
    pub(super) fn fill(&mut self, ring: &mut TxRing, burst: u32) -> u32 {
        let long = self.bytes.len() > ring.region().buf_size() as usize;
        let mut slots = ring.burst();
        for done in 0..burst {
            self.advance();
            if long {
                if !slots.push(&self.bytes) {
                    return done;
                }
                continue;
            }
            let Some(mut slot) = slots.next_slot() else { return done };
            slot.buf()[..HEAD].copy_from_slice(&self.bytes[..HEAD]);
            slot.send(self.bytes.len());
        }
        burst
    }

    /// Numbers the next frame and gives it its address.
    #[inline]
    fn advance(&mut self) {
        self.sequence += 1;
        self.bytes[SEQUENCE_AT..SEQUENCE_AT + 8].copy_from_slice(&self.sequence.to_le_bytes());
        if self.to == To::OneAndSomeAll {
            let all = self.sequence.is_multiple_of(256);
            self.bytes[..6].copy_from_slice(&if all { [0xff; 6] } else { receiver(0) });
        }
        if let To::Random(count) = self.to {
            // Marsaglia's xorshift: the addresses need no memory and no order that a cache could guess.
            self.dice ^= self.dice << 13;
            self.dice ^= self.dice >> 7;
            self.dice ^= self.dice << 17;
            let number = (self.dice >> 32) as u32 & (count - 1);
            self.bytes[2..6].copy_from_slice(&number.to_be_bytes());
        }
    }
}

/// A frame to the sender from address `number` of the receiver, by which a switch learns that.
pub(super) fn hello(number: u32) -> [u8; HEAD] {
    let mut frame = [0; HEAD];
    frame[..14].copy_from_slice(&[&SENDER[..], &receiver(number), &ETHERTYPE].concat());
    frame
}

fn receiver(number: u32) -> [u8; 6] {
    let [a, b, c, d] = number.to_be_bytes();
    [RECEIVER[0], RECEIVER[1], a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway::Port;
    use std::collections::HashSet;

    fn sent(mut frames: Frames, count: u32) -> Vec<Vec<u8>> {
        let mut port = Port::open("loop:").unwrap();
        assert_eq!(frames.fill(&mut port.tx[0], count), count);
        port.tx[0].sync().unwrap();
        port.rx[0].sync().unwrap();
        port.rx[0].burst(u32::MAX).map(|f| f.parts().flatten().copied().collect()).collect()
    }

    #[test]
    fn sizes_count_the_fcs_and_long_frames_span_slots() {
        for size in [64, 1518, 9000] {
            let frames = sent(Frames::new(size, To::One), 3);
            assert_eq!(frames.len(), 3);
            assert!(frames.iter().all(|f| f.len() as u32 == size - 4 && f[..6] == receiver(0)), "{size}");
        }
        assert_eq!(sent(Frames::new(64, To::Broadcast), 1)[0][..6], [0xff; 6]);
    }

    #[test]
    fn random_addresses_are_those_that_are_learned() {
        let learned: HashSet<_> = (0..16).map(|n| hello(n)[6..12].to_vec()).collect();
        let used: HashSet<_> =
            sent(Frames::new(64, To::Random(16)), 500).iter().map(|f| f[..6].to_vec()).collect();
        assert_eq!(used, learned);
        assert!(hello(3)[..6] == SENDER);
    }
}
