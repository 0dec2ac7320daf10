//! A wire that loses, repeats, delays and overtakes.

use std::collections::BTreeMap;

use super::dice::Dice;
use crate::transport::segment::{Outgoing, Segment};

/// A segment on its way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Flying {
    pub(super) header: Outgoing,
    pub(super) data: Vec<u8>,
}

impl Flying {
    pub(super) fn segment(&self) -> Segment<'_> {
        let Outgoing { seq, ack, window, flags, syn, .. } = self.header;
        let (mss, shift) = syn.unwrap_or_default();
        Segment { seq, ack, window, flags, mss, shift, data: &self.data }
    }

    pub(super) fn has(&self, flags: u8) -> bool {
        self.header.flags & flags == flags
    }
}

/// What the wire does to segments. Shares are of 1000.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weather {
    pub(super) loss: u64,
    pub(super) twice: u64,
    /// How many wait for up to `late` ns more.
    pub(super) overtaken: u64,
    pub(super) late: u64,
    pub(super) delay: u64,
}

impl Weather {
    pub(super) const FAIR: Self = Self { loss: 0, twice: 0, overtaken: 0, late: 1, delay: 100_000 };
}

#[derive(Debug)]
pub(super) struct Wire {
    weather: Weather,
    dice: Dice,
    sent: u64,
    /// By arrival; the second number keeps the order of segments that arrive at the same time. The end is 0 or 1.
    flying: BTreeMap<(u64, u64), (usize, Flying)>,
}

impl Wire {
    pub(super) fn new(weather: Weather, dice: Dice) -> Self {
        Self { weather, dice, sent: 0, flying: BTreeMap::new() }
    }

    pub(super) fn send(&mut self, to: usize, segment: Flying, now: u64) {
        if self.dice.chance(self.weather.loss) {
            return;
        }
        for _ in 0..1 + usize::from(self.dice.chance(self.weather.twice)) {
            let late =
                if self.dice.chance(self.weather.overtaken) { self.dice.below(self.weather.late) } else { 0 };
            self.sent += 1;
            self.flying.insert((now + self.weather.delay + late, self.sent), (to, segment.clone()));
        }
    }

    /// When the next segment arrives.
    pub(super) fn next(&self) -> Option<u64> {
        self.flying.first_key_value().map(|(&(at, _), _)| at)
    }

    /// The segment that arrives next.
    pub(super) fn first(&self) -> Option<&Flying> {
        self.flying.first_key_value().map(|(_, (_, segment))| segment)
    }

    pub(super) fn arrive(&mut self) -> Option<(usize, Flying)> {
        self.flying.pop_first().map(|(_, arrived)| arrived)
    }
}
