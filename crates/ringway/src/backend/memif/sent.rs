//! What was published on a ring and not given back: the lengths are kept in private memory, for the peer may write the shared ones.

/// The frames in the slots of a shared ring.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Bytes of each slot; the highest bit marks the last slot of a frame.
    lens: Box<[u32]>,
}

const LAST: u32 = 1 << 31;

impl Sent {
    /// Nothing sent on a ring of `size` slots, a power of two.
    pub(super) fn new(size: u16) -> Self {
        Self { lens: vec![0; size.into()].into() }
    }

    /// Notes what lies in the slot at a counter.
    #[inline]
    pub(super) fn note(&mut self, at: u16, len: u32, last: bool) {
        let mask = self.lens.len() - 1;
        self.lens[usize::from(at) & mask] = len | if last { LAST } else { 0 };
    }

    /// Frames and bytes in the `count` slots before `at`. Slots that were never filled hold nothing.
    pub(super) fn last(&self, at: u16, count: u16) -> (u64, u64) {
        if self.lens.is_empty() {
            return (0, 0);
        }
        let mask = self.lens.len() - 1;
        let slots = (1..=count.min(self.lens.len() as u16))
            .map(|k| self.lens[usize::from(at.wrapping_sub(k)) & mask]);
        slots.fold((0, 0), |(frames, bytes), len| {
            (frames + u64::from(len & LAST != 0), bytes + u64::from(len & !LAST))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_slots_are_summed() {
        let mut sent = Sent::new(4);
        assert_eq!(sent.last(0, 4), (0, 0));
        for (at, len, last) in [(65534, 60, true), (65535, 2048, false), (0, 100, true)] {
            sent.note(at, len, last);
        }
        assert_eq!(sent.last(1, 1), (1, 100));
        assert_eq!(sent.last(1, 2), (1, 2148));
        assert_eq!(sent.last(1, 4), (2, 2208));
        assert_eq!(Sent::default().last(7, 3), (0, 0));
    }
}
