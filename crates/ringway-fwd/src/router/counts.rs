//! What became of the frames of each interface.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::decision::{Decision, DropReason, HostReason};

const HOST: usize = HostReason::ALL.len();
const DROP: usize = DropReason::ALL.len();

/// Counters of an interface: what came in by it, and what found no room in its port. What a port did not deliver is in its own counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InterfaceCounts {
    /// Frames received: `forwarded`, and all for the host, and all dropped.
    pub frames_in: u64,
    /// Frames that left by another interface or the same one, or were to.
    pub forwarded: u64,
    host: [u64; HOST],
    drops: [u64; DROP],
    /// Frames that were to leave by this interface, and those for its host, for which there was no room.
    pub device_full: u64,
}

impl InterfaceCounts {
    pub(super) fn full(frames: u64) -> Self {
        Self { device_full: frames, ..Self::default() }
    }

    /// Frames that went to the host for a reason.
    pub fn host(&self, why: HostReason) -> u64 {
        self.host[why as usize]
    }

    /// Frames that were dropped for a reason.
    pub fn drops(&self, why: DropReason) -> u64 {
        self.drops[why as usize]
    }

    /// Counts one that came in.
    pub fn count(&mut self, decision: Decision) {
        self.frames_in += 1;
        match decision {
            Decision::Forward(_) => self.forwarded += 1,
            Decision::Host(why) => self.host[why as usize] += 1,
            Decision::Drop(why) => self.drops[why as usize] += 1,
        }
    }

    /// All counters by name, in a fixed order; the host's counters are `host_ttl` and so on.
    ///
    /// ```
    /// use ringway_fwd::router::{Decision, HostReason, InterfaceCounts};
    /// let mut counts = InterfaceCounts::default();
    /// counts.count(Decision::Host(HostReason::Ttl));
    /// assert!(counts.named().any(|counter| counter == ("host_ttl".to_owned(), 1)));
    /// ```
    pub fn named(&self) -> impl Iterator<Item = (String, u64)> + use<> {
        let of = |name: &str, value| (name.to_owned(), value);
        let end = [of("device_full", self.device_full)];
        let host = HostReason::ALL.map(|why| (format!("host_{}", why.name()), self.host(why)));
        let drops = DropReason::ALL.map(|why| of(why.name(), self.drops(why)));
        let begins = [of("frames_in", self.frames_in), of("forwarded", self.forwarded)];
        begins.into_iter().chain(host).chain(drops).chain(end)
    }

    fn words(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        words[..2].copy_from_slice(&[self.frames_in, self.forwarded]);
        words[2..2 + HOST].copy_from_slice(&self.host);
        words[2 + HOST..2 + HOST + DROP].copy_from_slice(&self.drops);
        words[WORDS - 1] = self.device_full;
        words
    }

    fn of_words(words: &[u64; WORDS]) -> Self {
        let mut counts = Self { frames_in: words[0], forwarded: words[1], ..Self::default() };
        counts.host.copy_from_slice(&words[2..2 + HOST]);
        counts.drops.copy_from_slice(&words[2 + HOST..2 + HOST + DROP]);
        counts.device_full = words[WORDS - 1];
        counts
    }
}

const WORDS: usize = 2 + HOST + DROP + 1;

/// Counters of all interfaces: one writer, a forwarding thread, and any number of readers.
#[derive(Debug)]
pub struct Counts {
    all: Box<[[AtomicU64; WORDS]]>,
}

impl Counts {
    /// All 0, for so many interfaces.
    pub fn new(interfaces: usize) -> Self {
        let zero = |_| std::array::from_fn(|_| AtomicU64::new(0));
        Self { all: (0..interfaces).map(zero).collect() }
    }

    /// Adds to the counters of the interface at a position. One thread at a time may do so.
    ///
    /// # Panics
    /// When there is no such interface.
    #[inline]
    pub fn add(&self, position: usize, counts: &InterfaceCounts) {
        for (sum, more) in self.all[position].iter().zip(counts.words()) {
            if more > 0 {
                sum.store(sum.load(Relaxed).wrapping_add(more), Relaxed);
            }
        }
    }

    /// The counters of the interface at a position. Each is a value of now; sums hold when nothing is being forwarded.
    ///
    /// # Panics
    /// When there is no such interface.
    pub fn get(&self, position: usize) -> InterfaceCounts {
        InterfaceCounts::of_words(&self.all[position].each_ref().map(|word| word.load(Relaxed)))
    }

    /// How many interfaces there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_go_into_words_and_back() {
        let mut one = InterfaceCounts { device_full: 7, ..Default::default() };
        HostReason::ALL.into_iter().for_each(|why| one.count(Decision::Host(why)));
        DropReason::ALL.into_iter().for_each(|why| one.count(Decision::Drop(why)));
        let all = Counts::new(2);
        all.add(1, &one);
        assert_eq!((all.get(0), all.get(1)), (InterfaceCounts::default(), one));
        all.add(1, &one);
        assert_eq!(all.get(1).drops(DropReason::Budget), 2);
        assert_eq!(one.named().map(|(_, n)| n).sum::<u64>(), 2 * 19 + 7);
        assert_eq!(one.named().count(), WORDS);
    }
}
