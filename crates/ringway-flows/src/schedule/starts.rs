//! Starts at a rate.

use std::sync::Arc;

use super::profile::{BadProfile, Phase, Piece, Profile, UNIT};
use crate::base::hash::PeerKey;
use crate::content::math::ln;
use crate::content::random::SplitMix64;

/// Highest rate of starts, in thousandths a second: one in a nanosecond.
pub const MAX_MILLI: u64 = 1_000_000_000_000;

/// Distances between starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal distances. A shape has exactly as many starts as its integral says.
    Even,
    /// Independent events, a Poisson process, drawn from a seed.
    Poisson(u64),
}

/// One of several workers that share the starts of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Number of the worker, from 0.
    pub worker: u32,
    /// How many there are, at least 1.
    pub workers: u32,
}

impl Share {
    /// All starts.
    pub const ALL: Self = Self { worker: 0, workers: 1 };
}

/// The starts of one worker.
///
/// A start is due at an absolute time, and stays due until the caller makes it. So a late worker catches up, and latencies
/// count from the time at which a flow should have begun.
///
/// ```
/// use std::sync::Arc;
///
/// use ringway_flows::schedule::{profile::{Phase, Profile}, starts::{Share, Spacing, Starts}};
///
/// // 1000 flows a second for 3 ms.
/// let profile = Arc::new(Profile::new(&[Phase::hold(1_000_000, 3_000_000)])?);
/// let mut starts = Starts::new(profile, Spacing::Even, Share::ALL, u64::MAX)?;
/// assert_eq!(starts.due(1_000_000), 2);
/// assert_eq!((starts.start(), starts.due(1_000_000)), (Some(0), 1));
/// starts.postpone();
/// assert_eq!((starts.start(), starts.start()), (Some(1_000_000), None));
/// assert_eq!((starts.next_ns(), starts.postponed(), starts.started()), (Some(2_000_000), 1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Starts {
    profile: Arc<Profile>,
    /// Finds which starts are due.
    ahead: Cursor,
    /// Finds when the due ones were due.
    behind: Cursor,
    /// Most starts.
    limit: u64,
    /// Starts before this one were counted if they were postponed.
    seen: u64,
    postponed: u64,
}

impl Starts {
    /// The starts of a worker's share, at most `limit`.
    ///
    /// # Errors
    /// When the rate exceeds [`MAX_MILLI`].
    pub fn new(
        profile: Arc<Profile>,
        spacing: Spacing,
        share: Share,
        limit: u64,
    ) -> Result<Self, BadProfile> {
        if profile.highest_milli() > MAX_MILLI {
            return Err(BadProfile::TooHigh(MAX_MILLI));
        }
        let cursor = Cursor::new(&profile, spacing, share);
        Ok(Self { profile, ahead: cursor, behind: cursor, limit, seen: 0, postponed: 0 })
    }

    /// The packets of an attack: a rate in thousandths a second from one time to another, at most `cap` packets in all.
    ///
    /// # Errors
    /// When the rate exceeds [`MAX_MILLI`], or the attack ends too late.
    pub fn attack(milli: u64, from_ns: u64, to_ns: u64, share: Share, cap: u64) -> Result<Self, BadProfile> {
        let phases = [Phase::drain(from_ns), Phase::hold(milli, to_ns.saturating_sub(from_ns))];
        let Share { worker, workers } = share;
        // The first `cap` of all packets, of which this worker has each `workers`th from its own on.
        let workers = u64::from(workers.max(1));
        let limit = cap.saturating_sub(u64::from(worker)).div_ceil(workers);
        Self::new(Arc::new(Profile::new(&phases)?), Spacing::Even, share, limit)
    }

    /// How many flows may start now: all that are due at `now_ns` and not yet started.
    #[inline]
    pub fn due(&mut self, now_ns: u64) -> u64 {
        let now_ns = now_ns.min(NEVER - 1);
        while self.ahead.at_ns <= now_ns && self.ahead.count < self.limit {
            self.ahead.step(&self.profile);
        }
        self.ahead.count - self.behind.count
    }

    /// Makes one start that is due. Returns the time at which it was due.
    #[inline]
    pub fn start(&mut self) -> Option<u64> {
        (self.behind.count < self.ahead.count).then(|| {
            let at_ns = self.behind.at_ns;
            self.behind.step(&self.profile);
            at_ns
        })
    }

    /// The caller can't make the starts that are due. Each is counted once, and stays due.
    #[inline]
    pub fn postpone(&mut self) {
        self.postponed += self.ahead.count - self.seen.max(self.behind.count);
        self.seen = self.ahead.count;
    }

    /// When the next start is due. It is over when starts are due already. `None` after the last one.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        (self.behind.count < self.limit && self.behind.at_ns != NEVER).then_some(self.behind.at_ns)
    }

    /// Starts that were made.
    pub fn started(&self) -> u64 {
        self.behind.count
    }

    /// Starts that were late because the caller postponed them.
    pub fn postponed(&self) -> u64 {
        self.postponed
    }
}

const NEVER: u64 = u64::MAX;
/// Bits behind the point of a number of starts.
const FRACTION: u32 = 32;
/// Bits behind the point of the nanoseconds for a start.
const SLOPE_FRACTION: u32 = 60;

/// Walks from start to start.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    /// When the next start is due, or [`NEVER`].
    at_ns: u64,
    /// Starts before it.
    count: u64,
    /// The integral at which it is due, with [`FRACTION`] bits.
    next: u128,
    piece: Piece,
    /// The same numbers of the piece: where it begins, where it ends, and nanoseconds for a start.
    from: u128,
    to: u128,
    slope: u128,
    workers: u32,
    random: Option<SplitMix64>,
}

impl Cursor {
    fn new(profile: &Profile, spacing: Spacing, Share { worker, workers }: Share) -> Self {
        let random = match spacing {
            Spacing::Even => None,
            Spacing::Poisson(seed) => Some(SplitMix64(PeerKey::new(seed, u64::from(worker)).hash([]))),
        };
        let mut cursor = Self {
            at_ns: NEVER,
            count: 0,
            next: 0,
            piece: profile.first_piece().unwrap_or_default(),
            from: 0,
            to: 0,
            slope: 0,
            workers: workers.max(1),
            random,
        };
        cursor.enter();
        cursor.next = if random.is_some() { cursor.distance() } else { u128::from(worker) << FRACTION };
        cursor.place(profile);
        cursor
    }

    /// Goes to the next start.
    #[inline]
    fn step(&mut self, profile: &Profile) {
        self.count += 1;
        self.next += self.distance();
        self.place(profile);
    }

    /// The integral between two starts.
    #[inline]
    fn distance(&mut self) -> u128 {
        let workers = u64::from(self.workers);
        match &mut self.random {
            None => u128::from(workers) << FRACTION,
            Some(random) => {
                let drawn = -ln(random.unit()) * (1u64 << FRACTION) as f64;
                u128::from(drawn as u64) * u128::from(workers)
            }
        }
    }

    /// Finds the time at which the integral reaches the next start.
    #[inline]
    fn place(&mut self, profile: &Profile) {
        while self.next >= self.to {
            let Some(piece) = profile.piece_after(&self.piece) else {
                self.at_ns = NEVER;
                return;
            };
            self.piece = piece;
            self.enter();
        }
        const HALF: u128 = 1 << (FRACTION + SLOPE_FRACTION - 1);
        let after = ((self.next - self.from) * self.slope + HALF) >> (FRACTION + SLOPE_FRACTION);
        self.at_ns = (self.piece.start_ns + after as u64).min(self.piece.end_ns - 1);
    }

    /// Prepares a piece: the divisions of all its starts are made here.
    #[cold]
    fn enter(&mut self) {
        let in_starts = |parts: u128| (parts << FRACTION).div_ceil(UNIT);
        (self.from, self.to) = (in_starts(self.piece.from), in_starts(self.piece.to));
        let ns = u128::from(self.piece.end_ns - self.piece.start_ns);
        self.slope = (ns << (FRACTION + SLOPE_FRACTION)) / (self.to - self.from).max(1);
    }
}

#[cfg(test)]
mod tests;
