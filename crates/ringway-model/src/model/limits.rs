//! The rate of several cores behind a link or a bus.

use std::fmt;

use serde::Serialize;

use super::{Costs, Link};

/// What packets a second are bounded by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Ticks a second of one core.
    pub frequency_hz: f64,
    /// Cores, each with queues of its own.
    pub cores: u32,
    /// Ticks a packet that only one core can spend at a time: a lock, or a queue that the cores share.
    pub serial: f64,
    /// The link, if there is one.
    pub link: Option<Link>,
    /// Packets a second of the bus or the memory, if they bound anything.
    pub bus_pps: Option<f64>,
}

impl Limits {
    /// One core and nothing else.
    #[must_use]
    pub fn core(frequency_hz: f64) -> Self {
        Self { frequency_hz, cores: 1, serial: 0.0, link: None, bus_pps: None }
    }

    /// The maximum rate of frames of `size` bytes with FCS.
    ///
    /// ```
    /// use ringway_model::model::{Bottleneck, Costs, Limits, Link};
    /// let costs = Costs::new([("all", 2056.0)]);
    /// let limits = Limits { link: Some(Link { bits: 10e9 }), ..Limits::core(3.3e9) };
    /// let rate = limits.rate(&costs, 1024);
    /// assert_eq!(rate.bottleneck, Bottleneck::Link);
    /// assert_eq!((rate.load * 100.0).round(), 75.0);
    /// ```
    #[must_use]
    pub fn rate(&self, costs: &Costs, size: u32) -> Rate {
        let total = costs.total();
        let cores = f64::from(self.cores.max(1));
        let bounds = [
            (Bottleneck::Core, Some(cores * self.frequency_hz / total)),
            (Bottleneck::Shared, (self.serial > 0.0).then(|| self.frequency_hz / self.serial)),
            (Bottleneck::Link, self.link.map(|link| link.line_rate(size))),
            (Bottleneck::Bus, self.bus_pps),
        ];
        let known = bounds.into_iter().filter_map(|(what, pps)| Some((what, pps?)));
        let (bottleneck, pps) = known
            .fold((Bottleneck::Core, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best });
        let load = if total > 0.0 { (pps * total / (cores * self.frequency_hz)).min(1.0) } else { 0.0 };
        Rate { pps, bottleneck, load }
    }
}

/// A maximum rate and its reason.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// Packets a second.
    pub pps: f64,
    /// What bounds it.
    pub bottleneck: Bottleneck,
    /// How busy the cores are then, 0 to 1.
    pub load: f64,
}

/// What bounds a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bottleneck {
    /// The cores.
    Core,
    /// What the cores share.
    Shared,
    /// The link.
    Link,
    /// The bus or the memory.
    Bus,
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Core => "core",
            Self::Shared => "shared queue or lock",
            Self::Link => "link",
            Self::Bus => "bus or memory",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(limits: Limits) -> Rate {
        limits.rate(&Costs::new([("a", 1000.0)]), 64)
    }

    #[test]
    fn the_lowest_bound_counts() {
        let one = Limits::core(2e9);
        assert_eq!(rate(one), Rate { pps: 2e6, bottleneck: Bottleneck::Core, load: 1.0 });
        let four = Limits { cores: 4, ..one };
        assert_eq!(rate(four).pps, 8e6);
        let locked = rate(Limits { serial: 500.0, ..four });
        assert_eq!((locked.pps, locked.bottleneck, locked.load), (4e6, Bottleneck::Shared, 0.5));
        let bus = rate(Limits { bus_pps: Some(1e6), ..four });
        assert_eq!((bus.pps, bus.bottleneck), (1e6, Bottleneck::Bus));
        let link = rate(Limits { link: Some(Link { bits: 1e9 }), ..one });
        assert_eq!((link.pps.round(), link.bottleneck), (1_488_095.0, Bottleneck::Link));
    }

    #[test]
    fn packets_that_cost_nothing_are_bound_by_the_rest_only() {
        let free = Limits::core(1e9).rate(&Costs::default(), 64);
        assert_eq!(free.pps, f64::INFINITY);
        let link = Limits { link: Some(Link { bits: 10e9 }), ..Limits::core(1e9) };
        assert_eq!(link.rate(&Costs::default(), 64).load, 0.0);
    }
}
