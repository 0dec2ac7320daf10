//! A value over time, made of straight lines, and its integral.
//!
//! Values are thousandths of what the caller counts: flows or bits a second, or active flows. The integral is exact where a
//! phase ends, so a shape has its number of starts to the last one.

use std::fmt;

/// A straight line from one value to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    from: u64,
    to: u64,
    ns: u64,
}

impl Phase {
    /// From one value to another, in thousandths, during `ns` nanoseconds.
    pub const fn ramp(from_milli: u64, to_milli: u64, ns: u64) -> Self {
        Self { from: from_milli, to: to_milli, ns }
    }

    /// One value, in thousandths.
    pub const fn hold(milli: u64, ns: u64) -> Self {
        Self::ramp(milli, milli, ns)
    }

    /// Nothing starts, and flows end.
    pub const fn drain(ns: u64) -> Self {
        Self::hold(0, ns)
    }
}

/// Parts of a flow, or whatever is counted, in an integral: thousandths and nanoseconds, each twice as fine for the
/// halves of triangles.
pub(super) const UNIT: u128 = 2_000_000_000_000;

/// Longest shape: 78 hours.
pub const MAX_NS: u64 = 1 << 48;
/// Largest value, in thousandths: 562 Gbit/s, or 562 billion flows.
pub const MAX_MILLI: u64 = 1 << 49;

/// Why phases make no profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadProfile {
    /// The phases take longer than [`MAX_NS`].
    TooLong,
    /// A value is above the largest one, in thousandths.
    TooHigh(u64),
}

impl fmt::Display for BadProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => {
                write!(f, "the load takes longer than {} h; shorten its phases", MAX_NS / 3_600_000_000_000)
            }
            Self::TooHigh(most) => write!(f, "the load is above {}; lower its rates", most / 1000),
        }
    }
}

impl std::error::Error for BadProfile {}

/// Phases, one after the other from time 0.
#[derive(Clone, Debug)]
pub struct Profile {
    phases: Vec<Placed>,
    end_ns: u64,
    total: u128,
}

#[derive(Clone, Copy, Debug)]
struct Placed {
    phase: Phase,
    start_ns: u64,
    /// The integral before it, in parts of [`UNIT`].
    before: u128,
    /// Ramps are cut into pieces that are nearly straight in the integral.
    pieces: u64,
}

/// A part of a phase in which the integral is taken as straight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Piece {
    pub(super) phase: usize,
    pub(super) piece: u64,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// The integral at its two ends, in parts of [`UNIT`].
    pub(super) from: u128,
    pub(super) to: u128,
}

impl Profile {
    /// Phases one after the other.
    ///
    /// # Errors
    /// When they take longer than [`MAX_NS`], or a value is above [`MAX_MILLI`].
    pub fn new(phases: &[Phase]) -> Result<Self, BadProfile> {
        let mut profile = Self { phases: Vec::with_capacity(phases.len()), end_ns: 0, total: 0 };
        for &phase in phases.iter().filter(|phase| phase.ns > 0) {
            if phase.from.max(phase.to) > MAX_MILLI {
                return Err(BadProfile::TooHigh(MAX_MILLI));
            }
            let end_ns = profile.end_ns.checked_add(phase.ns).filter(|end| *end <= MAX_NS);
            // A piece of a ramp takes 8.4 ms or a 4096th of it. None takes longer than 8.6 s.
            let ramp = if phase.from == phase.to { 1 } else { (phase.ns >> 23).clamp(1, 4096) };
            let pieces = ramp.max((phase.ns >> 33) + 1);
            let placed = Placed { phase, start_ns: profile.end_ns, before: profile.total, pieces };
            profile.end_ns = end_ns.ok_or(BadProfile::TooLong)?;
            profile.total = placed.integral(pieces);
            profile.phases.push(placed);
        }
        Ok(profile)
    }

    /// When the last phase ends.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// The largest value, in thousandths.
    pub fn highest_milli(&self) -> u64 {
        self.phases.iter().map(|placed| placed.phase.from.max(placed.phase.to)).max().unwrap_or(0)
    }

    /// The value at a time, in thousandths; 0 after the end.
    pub fn milli_at(&self, now_ns: u64) -> u64 {
        let Some(Placed { phase, start_ns, .. }) = self.placed_at(now_ns).map(|at| self.phases[at]) else {
            return 0;
        };
        let passed = u128::from(now_ns - start_ns);
        let change = u128::from(phase.from.abs_diff(phase.to)) * passed / u128::from(phase.ns);
        if phase.to >= phase.from { phase.from + change as u64 } else { phase.from - change as u64 }
    }

    /// The first time, from `now_ns` on, at which the value is at least `milli` thousandths.
    pub fn reaches(&self, milli: u64, now_ns: u64) -> Option<u64> {
        let first = self.placed_at(now_ns)?;
        if self.milli_at(now_ns) >= milli {
            return Some(now_ns);
        }
        self.phases[first..].iter().find_map(|&Placed { phase, start_ns, .. }| {
            if phase.from >= milli {
                // Of the present phase only a part is left, in which the value falls.
                return (start_ns >= now_ns).then_some(start_ns);
            }
            let [rise, wanted] = [phase.to.checked_sub(phase.from)?, milli - phase.from].map(u128::from);
            // At its end the next phase has begun.
            let passed = (wanted * u128::from(phase.ns)).div_ceil(rise.max(1));
            (passed < u128::from(phase.ns)).then(|| start_ns + passed as u64)
        })
    }

    /// The integral until `now_ns`, in whole units of what is counted.
    pub fn total_at(&self, now_ns: u64) -> u64 {
        let Some(at) = self.placed_at(now_ns) else { return self.total() };
        let placed = &self.phases[at];
        let passed = u128::from(now_ns - placed.start_ns);
        let piece = (passed * u128::from(placed.pieces) / u128::from(placed.phase.ns)) as u64;
        let mut piece = placed.piece(at, piece);
        // Where a piece begins was rounded down, so the time may lie in the next one.
        if piece.end_ns <= now_ns {
            piece = placed.piece(at, piece.piece + 1);
        }
        let length = u128::from(piece.end_ns - piece.start_ns);
        let part = (piece.to - piece.from) * u128::from(now_ns - piece.start_ns) / length;
        ((piece.from + part) / UNIT) as u64
    }

    /// The whole integral, in units of what is counted, rounded up: how many evenly spaced starts there are.
    pub fn total(&self) -> u64 {
        self.total.div_ceil(UNIT) as u64
    }

    /// The first piece. `None` without phases.
    pub(super) fn first_piece(&self) -> Option<Piece> {
        self.phases.first().map(|placed| placed.piece(0, 0))
    }

    /// The piece after another one.
    pub(super) fn piece_after(&self, piece: &Piece) -> Option<Piece> {
        let placed = self.phases.get(piece.phase)?;
        if piece.piece + 1 < placed.pieces {
            return Some(placed.piece(piece.phase, piece.piece + 1));
        }
        self.phases.get(piece.phase + 1).map(|placed| placed.piece(piece.phase + 1, 0))
    }

    fn placed_at(&self, now_ns: u64) -> Option<usize> {
        (now_ns < self.end_ns).then(|| self.phases.partition_point(|placed| placed.start_ns <= now_ns) - 1)
    }
}

impl Placed {
    /// The integral where piece number `piece` begins.
    fn integral(&self, piece: u64) -> u128 {
        let Phase { from, to, ns } = self.phase;
        let [low, change] = [from.min(to), from.abs_diff(to)].map(u128::from);
        let [at, pieces] = [piece, self.pieces].map(u128::from);
        // The triangle above a rectangle: twice its area, of pieces squared. Each term is below 2^128, and grows.
        let triangle = if to >= from { at * at } else { 2 * at * pieces - at * at };
        let passed = u128::from(self.passed(piece));
        self.before + 2 * low * passed + change * u128::from(ns) * triangle / (pieces * pieces)
    }

    /// Nanoseconds of the phase before a piece.
    fn passed(&self, piece: u64) -> u64 {
        (u128::from(self.phase.ns) * u128::from(piece) / u128::from(self.pieces)) as u64
    }

    fn piece(&self, phase: usize, piece: u64) -> Piece {
        Piece {
            phase,
            piece,
            start_ns: self.start_ns + self.passed(piece),
            end_ns: self.start_ns + self.passed(piece + 1),
            from: self.integral(piece),
            to: self.integral(piece + 1),
        }
    }
}

#[cfg(test)]
mod tests;
