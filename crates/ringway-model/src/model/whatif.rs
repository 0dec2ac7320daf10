//! Groups that get cheaper or dearer, and which of them pay most.

use std::str::FromStr;

use serde::Serialize;

use super::{Costs, Limits, Rate};

/// A change of one group, written `routing=-50%`, `alloc=0`, `RX=+20` or `TX=*1.1`.
///
/// ```
/// use ringway_model::model::whatif::Change;
/// let change: Change = "routing=-50%".parse()?;
/// assert_eq!((change.group.as_str(), change.of(200.0)), ("routing", 100.0));
/// assert_eq!("alloc=0".parse::<Change>()?.of(144.0), 0.0);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The group.
    pub group: String,
    to: To,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum To {
    /// So many ticks.
    Ticks(f64),
    /// So many ticks more or less.
    More(f64),
    /// Times a factor.
    Times(f64),
}

impl Change {
    /// Ticks of the group, which were so many; never negative.
    #[must_use]
    pub fn of(&self, ticks: f64) -> f64 {
        let changed = match self.to {
            To::Ticks(new) => new,
            To::More(more) => ticks + more,
            To::Times(factor) => ticks * factor,
        };
        changed.max(0.0)
    }
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || {
            format!("'{text}' is no change; accepted: GROUP=TICKS, GROUP=+TICKS, GROUP=-50% or GROUP=*FACTOR")
        };
        let (group, to) = text.split_once('=').ok_or_else(refused)?;
        let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite());
        let to = if let Some(percent) = to.strip_suffix('%') {
            number(percent).map(|p| To::Times(1.0 + p / 100.0))
        } else if let Some(factor) = to.strip_prefix('*') {
            number(factor).map(To::Times)
        } else if to.starts_with(['+', '-']) {
            number(to).map(To::More)
        } else {
            number(to).map(To::Ticks)
        };
        match to {
            Some(to) if !group.is_empty() => Ok(Self { group: group.to_owned(), to }),
            _ => Err(refused()),
        }
    }
}

/// The costs after all changes.
///
/// # Errors
/// The name of a group that the costs do not have, with the names of the groups there.
pub fn changed(costs: &Costs, changes: &[Change]) -> Result<Costs, String> {
    let mut new = costs.clone();
    for change in changes {
        let Some(ticks) = new.get(&change.group) else {
            let known: Vec<&str> = costs.iter().map(|g| g.0).collect();
            return Err(format!("there is no group '{}'; the groups are {}", change.group, known.join(", ")));
        };
        new.set(&change.group, change.of(ticks));
    }
    Ok(new)
}

/// A group, and the rate if it cost nothing or half.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gain {
    /// The group.
    pub group: String,
    /// Its ticks a packet.
    pub ticks: f64,
    /// Its part of all ticks.
    pub share: f64,
    /// The rate if it cost half.
    pub halved: Rate,
    /// The rate if it cost nothing.
    pub free: Rate,
}

/// All groups, the one first whose absence would gain most.
#[must_use]
pub fn ranking(costs: &Costs, limits: &Limits, size: u32) -> Vec<Gain> {
    let with = |group: &str, ticks: f64| {
        let mut new = costs.clone();
        new.set(group, ticks);
        limits.rate(&new, size)
    };
    let gain = |(group, ticks): (&str, f64)| Gain {
        group: group.to_owned(),
        ticks,
        share: costs.share(group),
        halved: with(group, ticks / 2.0),
        free: with(group, 0.0),
    };
    let mut all: Vec<Gain> = costs.iter().map(gain).collect();
    all.sort_by(|a, b| b.free.pps.total_cmp(&a.free.pps).then(b.ticks.total_cmp(&a.ticks)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Bottleneck, Link};

    fn costs() -> Costs {
        Costs::new([("RX", 400.0), ("routing", 200.0), ("TX", 400.0)])
    }

    #[test]
    fn changes_are_read_and_applied() {
        let changes: Vec<Change> =
            ["routing=-50%", "RX=+10", "TX=*0.5"].iter().map(|c| c.parse().unwrap()).collect();
        assert_eq!(changed(&costs(), &changes).unwrap().total(), 410.0 + 100.0 + 200.0);
        assert_eq!("RX=-500".parse::<Change>().unwrap().of(400.0), 0.0);
        let e = changed(&costs(), &["alloc=0".parse().unwrap()]).unwrap_err();
        assert_eq!(e, "there is no group 'alloc'; the groups are RX, routing, TX");
        for wrong in ["", "RX", "=5", "RX=", "RX=x%", "RX=inf", "RX=*nan"] {
            assert!(wrong.parse::<Change>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_dearest_group_is_first_and_the_link_ends_the_gains() {
        let core = Limits::core(2e9);
        let names = |limits| ranking(&costs(), &limits, 64).into_iter().map(|g| g.group).collect::<Vec<_>>();
        assert_eq!(names(core), ["RX", "TX", "routing"]);
        let behind = Limits { link: Some(Link { bits: 1.7e9 }), ..core };
        let first = &ranking(&costs(), &behind, 64)[0];
        assert_eq!(first.free.bottleneck, Bottleneck::Link);
        assert_eq!(first.halved.pps, 2.5e6);
    }
}
