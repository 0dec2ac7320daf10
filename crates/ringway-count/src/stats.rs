//! Counters: every frame that enters a port leaves it or ends in exactly one named drop.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::reason::DropReason;
use ringway_sys::mmap::{Mmap, Words};

/// Counters of one ring, or the sum of several.
///
/// For an rx ring, `frames_in` came from outside, and `frames_out` were put into the ring, read or not. For a tx ring,
/// `frames_in` came from the program and `frames_out` left the port. After quiescence
/// `frames_in == frames_out + dropped()`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that entered.
    pub frames_in: u64,
    /// Frames that left.
    pub frames_out: u64,
    /// Bytes of the frames that left, without FCS.
    pub bytes_out: u64,
    /// Exchanges with the other side.
    pub syncs: u64,
    /// Times a ring was re-initialised because its cursors were wrong.
    pub resets: u64,
    /// Times the doorbell was rung for a sleeping program.
    pub wakeups: u64,
    /// Syncs that moved something: that brought frames into an rx ring, or freed slots of a tx ring.
    pub busy_syncs: u64,
    /// Times a switch did not ring the doorbell though the program slept: rings of it held senders up for too long. The
    /// program then looks for itself, once a millisecond.
    pub wakeups_withheld: u64,
    /// Times the link to the peer of a shared-memory port (`memif:`) went up or down. While it is up the number of a ring is odd.
    pub link_changes: u64,
    drops: [u64; DropReason::ALL.len()],
}

impl Counters {
    /// Frames lost for one reason.
    #[must_use]
    pub fn drops(&self, why: DropReason) -> u64 {
        self.drops[why as usize]
    }

    /// Frames lost for any reason. Like all sums of counters it wraps: counters of another process
    /// may be any numbers.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.drops.iter().fold(0, |sum, n| sum.wrapping_add(*n))
    }

    /// The reasons that occurred, with their counts.
    pub fn reasons(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        DropReason::ALL.into_iter().map(|d| (d, self.drops(d))).filter(|&(_, n)| n > 0)
    }

    /// Adds `n` drops.
    pub fn add_drops(&mut self, why: DropReason, n: u64) {
        self.drops[why as usize] = self.drops[why as usize].wrapping_add(n);
    }

    /// The counters in a ring's statistics block.
    #[doc(hidden)]
    #[must_use]
    pub fn of_words(words: &[u64]) -> Self {
        let get = |word: usize| words.get(word).copied().unwrap_or_default();
        Self {
            frames_in: get(Field::In as usize),
            frames_out: get(Field::Out as usize),
            bytes_out: get(Field::Bytes as usize),
            syncs: get(Field::Syncs as usize),
            resets: get(Field::Resets as usize),
            wakeups: get(Field::Wakeups as usize),
            busy_syncs: get(Field::BusySyncs as usize),
            wakeups_withheld: get(Field::WakeupsWithheld as usize),
            link_changes: get(Field::LinkChanges as usize),
            drops: std::array::from_fn(|d| get(Field::FirstDrop as usize + d)),
        }
    }

    /// The same, for a ring that counts its syncs itself.
    #[doc(hidden)]
    #[must_use]
    pub fn without_syncs(&self) -> Self {
        Self { syncs: 0, busy_syncs: 0, ..*self }
    }

    /// Adds another ring's counters.
    pub fn add(&mut self, o: &Self) {
        self.frames_in = self.frames_in.wrapping_add(o.frames_in);
        self.frames_out = self.frames_out.wrapping_add(o.frames_out);
        self.bytes_out = self.bytes_out.wrapping_add(o.bytes_out);
        self.syncs = self.syncs.wrapping_add(o.syncs);
        self.resets = self.resets.wrapping_add(o.resets);
        self.wakeups = self.wakeups.wrapping_add(o.wakeups);
        self.busy_syncs = self.busy_syncs.wrapping_add(o.busy_syncs);
        self.wakeups_withheld = self.wakeups_withheld.wrapping_add(o.wakeups_withheld);
        self.link_changes = self.link_changes.wrapping_add(o.link_changes);
        for (a, b) in self.drops.iter_mut().zip(o.drops) {
            *a = a.wrapping_add(b);
        }
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in, {} out", self.frames_in, self.frames_out)?;
        for (d, n) in self.reasons() {
            write!(f, ", {n} {}", d.name())?;
        }
        Ok(())
    }
}

/// Counters of a port, all rings summed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Received.
    pub rx: Counters,
    /// Sent.
    pub tx: Counters,
}

pub(super) fn sum(rings: impl Iterator<Item = Counters>) -> Counters {
    rings.fold(Counters::default(), |mut all, one| {
        all.add(&one);
        all
    })
}

/// Where a field of [`Counters`] lies in a ring's statistics block, in words.
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
pub enum Field {
    /// [`Counters::frames_in`].
    In,
    /// [`Counters::frames_out`].
    Out,
    /// [`Counters::bytes_out`].
    Bytes,
    /// [`Counters::syncs`].
    Syncs,
    /// [`Counters::resets`].
    Resets,
    /// [`Counters::wakeups`].
    Wakeups,
    /// [`Counters::busy_syncs`].
    BusySyncs,
    /// No counter: the slots that the program had after its last sync.
    Avail,
    /// The first of [`DropReason::ALL`].
    FirstDrop,
    /// [`Counters::link_changes`], behind the places for drops, of which some are free.
    LinkChanges = 30,
    /// [`Counters::wakeups_withheld`].
    WakeupsWithheld = 31,
}

/// Bytes of one ring's block of counters: two pairs of cache lines.
pub const BLOCK: usize = 256;

const _: () = assert!(Field::FirstDrop as usize + DropReason::ALL.len() <= Field::LinkChanges as usize);
const _: () = assert!(BLOCK == 8 * (Field::WakeupsWithheld as usize + 1));

/// Counters of one ring in memory that other threads and processes may read.
///
/// Thread-safety: one writer (the thread that syncs the ring), so an addition is a load and a store
/// without a lock prefix; readers see each word whole.
#[derive(Debug, Clone)]
pub struct RingStats(Words<{ BLOCK / 8 }>);

impl RingStats {
    /// The block that begins at byte `ofs`.
    #[must_use]
    pub fn new(mem: Arc<Mmap>, ofs: usize) -> Self {
        Self(Words::new(mem, ofs))
    }

    /// Adds to a field.
    #[inline]
    pub fn count(&self, field: Field, n: u64) {
        self.bump(field as usize, n);
    }

    /// Counts frames of a tx ring that entered and left, and their bytes.
    #[inline]
    pub fn sent(&self, frames: u64, bytes: u64) {
        self.count(Field::In, frames);
        self.count(Field::Out, frames);
        self.count(Field::Bytes, bytes);
    }

    /// Counts lost frames.
    #[inline]
    pub fn drop(&self, why: DropReason, n: u64) {
        self.bump(Field::FirstDrop as usize + why as usize, n);
    }

    /// Frames counted as sent did not leave.
    pub fn unsend(&self, why: DropReason, frames: u64, bytes: u64) {
        self.bump(Field::Out as usize, frames.wrapping_neg());
        self.bump(Field::Bytes as usize, bytes.wrapping_neg());
        self.drop(why, frames);
    }

    /// A frame counted as delivered turned out to be unusable.
    pub fn undeliver(&self, why: DropReason) {
        self.bump(Field::Out as usize, u64::MAX);
        self.drop(why, 1);
    }

    #[inline]
    fn bump(&self, word: usize, n: u64) {
        let w = self.0.get(word);
        w.store(w.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// A sync ended: whether it moved anything, and the slots that the program has now.
    #[inline]
    pub fn synced(&self, moved: bool, avail: u32) {
        self.count(Field::Syncs, 1);
        self.count(Field::BusySyncs, moved.into());
        self.set_avail(avail);
    }

    /// Says how many slots the program has now.
    pub fn set_avail(&self, avail: u32) {
        self.0.get(Field::Avail as usize).store(avail.into(), Relaxed);
    }

    /// Slots that the program had after its last sync.
    #[must_use]
    pub fn avail(&self) -> u32 {
        self.0.get(Field::Avail as usize).load(Relaxed) as u32
    }

    /// Only [`Counters::frames_out`].
    #[must_use]
    pub fn frames_out(&self) -> u64 {
        self.0.get(Field::Out as usize).load(Relaxed)
    }

    /// The counters now.
    #[must_use]
    pub fn read(&self) -> Counters {
        let words: [u64; BLOCK / 8] = std::array::from_fn(|word| self.0.get(word).load(Relaxed));
        Counters::of_words(&words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_apart_and_add_up() {
        let mem = Arc::new(Mmap::anonymous(2 * BLOCK).unwrap());
        let (a, b) = (RingStats::new(mem.clone(), 0), RingStats::new(mem, BLOCK));
        a.count(Field::In, 10);
        a.count(Field::Out, 7);
        for d in DropReason::ALL {
            b.drop(d, 1 + d as u64);
        }
        a.drop(DropReason::NoMemory, 3);
        a.count(Field::WakeupsWithheld, 5);
        a.synced(true, 9);
        a.synced(false, 4);
        assert_eq!((a.read().syncs, a.read().busy_syncs, a.avail(), b.avail()), (2, 1, 4, 0));
        let mut sum = a.read();
        assert_eq!(sum.frames_in, sum.frames_out + sum.dropped());
        sum.add(&b.read());
        assert_eq!((sum.drops(DropReason::RingFull), sum.wakeups_withheld), (1, 5));
        assert_eq!(sum.drops(DropReason::NoMemory), 3 + 7);
        assert_eq!(sum.reasons().count(), DropReason::ALL.len());
        assert!(sum.to_string().starts_with("10 in, 7 out, 1 ring_full"), "{sum}");
    }

    /// The file of another process's port may have any numbers.
    #[test]
    fn sums_of_any_numbers_wrap() {
        let mut counters = Counters { drops: [u64::MAX; DropReason::ALL.len()], ..Counters::default() };
        assert_eq!(counters.dropped(), (DropReason::ALL.len() as u64).wrapping_neg());
        counters.add_drops(DropReason::RingFull, 2);
        assert_eq!(counters.drops(DropReason::RingFull), 1);
        assert!(!counters.to_string().is_empty());
    }
}
