//! Which port sends to which (RFC 2889, 5.1 to 5.4).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Most ports of a tester.
pub const MOST_PORTS: usize = 64;

/// A traffic pattern. Ports that send to several take them in turn, frame by frame, each sender with another
/// one first. So as long as all keep time, no port gets two frames at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Two and two, each to the other.
    Pairs,
    /// Each to all others (5.1).
    Mesh,
    /// The first to all others (5.2).
    OneToMany,
    /// All others to the first, which then gets the load of one port from all of them together (5.2).
    ManyToOne,
    /// Each of one half to all of the other half, and back: the two halves may be two devices (5.3).
    Backbone,
    /// Each of the first half to all of the second half (5.4).
    Partial,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Pairs, Self::Mesh, Self::OneToMany, Self::ManyToOne, Self::Backbone, Self::Partial];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pairs => "pairs",
            Self::Mesh => "mesh",
            Self::OneToMany => "one-to-many",
            Self::ManyToOne => "many-to-one",
            Self::Backbone => "backbone",
            Self::Partial => "partial",
        }
    }

    /// Whether it can be had with so many ports.
    ///
    /// # Errors
    /// When not, with the reason.
    pub fn check(self, ports: usize) -> Result<(), String> {
        match self {
            Self::Pairs | Self::Backbone | Self::Partial if ports % 2 == 1 => Err(format!(
                "pattern {self} needs an even number of ports, not {ports}; name one more or one less"
            )),
            _ => Ok(()),
        }
    }

    /// Ports that send, each with the ports that it sends to, in their order.
    ///
    /// ```
    /// use ringway_rfc::rfc2889::pattern::Pattern;
    /// assert_eq!(Pattern::Mesh.senders(3), [(0, vec![1, 2]), (1, vec![2, 0]), (2, vec![0, 1])]);
    /// ```
    #[must_use]
    pub fn senders(self, ports: usize) -> Vec<(usize, Vec<usize>)> {
        let half = ports / 2;
        // All of `to`, from the `k`th on.
        let turn = |to: Vec<usize>, k: usize| {
            let mut to = to;
            let k = k % to.len().max(1);
            to.rotate_left(k);
            to
        };
        let across = |from: usize| match from < half {
            true => turn((half..ports).collect(), from),
            false => turn((0..half).collect(), from - half),
        };
        match self {
            Self::Pairs => (0..ports).map(|p| (p, vec![p ^ 1])).collect(),
            Self::Mesh => (0..ports).map(|p| (p, (1..ports).map(|k| (p + k) % ports).collect())).collect(),
            Self::OneToMany => vec![(0, (1..ports).collect())],
            Self::ManyToOne => (1..ports).map(|p| (p, vec![0])).collect(),
            Self::Backbone => (0..ports).map(|p| (p, across(p))).collect(),
            Self::Partial => (0..half).map(|p| (p, across(p))).collect(),
        }
    }

    /// Senders that share the load of one port, since all of it goes to one.
    #[must_use]
    pub fn sharing(self, ports: usize) -> u64 {
        if self == Self::ManyToOne { ports as u64 - 1 } else { 1 }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_gets_more_than_its_share() {
        for pattern in Pattern::ALL {
            for ports in (2..=8).filter(|&n| pattern.check(n).is_ok()) {
                let senders = pattern.senders(ports);
                for turn in 0..ports * 4 {
                    let mut at = vec![0u64; ports];
                    for (from, to) in &senders {
                        assert!(!to.contains(from) && !to.is_empty(), "{pattern} {ports}");
                        at[to[turn % to.len()]] += 1;
                    }
                    let most = at.into_iter().max().unwrap();
                    assert_eq!(most, pattern.sharing(ports), "{pattern} with {ports} ports, turn {turn}");
                }
            }
        }
    }

    #[test]
    fn who_sends() {
        assert_eq!(Pattern::Pairs.senders(4).iter().map(|s| s.1[0]).collect::<Vec<_>>(), [1, 0, 3, 2]);
        assert_eq!(Pattern::Partial.senders(4), [(0, vec![2, 3]), (1, vec![3, 2])]);
        assert_eq!(Pattern::Backbone.senders(4)[2..], [(2, vec![0, 1]), (3, vec![1, 0])]);
        assert_eq!(Pattern::ManyToOne.senders(3), [(1, vec![0]), (2, vec![0])]);
        assert!(Pattern::Partial.check(5).unwrap_err().contains("even number of ports, not 5"));
        for pattern in Pattern::ALL {
            assert_eq!(serde_json::to_value(pattern).unwrap(), pattern.name());
        }
    }
}
