//! What a benchmark is repeated with: numbers of flows, and the modifiers of RFC 2544, section 11.
//!
//! The tests run without any of them first, then again under each alone, so that results can be compared. A
//! modifier's own frames take the place of test frames: the load stays what it was.

use std::fmt;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use super::flow::Flows;
use super::format::Format;
use super::marks::Marks;
use super::mix::Mix;
use super::rate::SECOND;
use super::schedule::Schedule;

/// Every so many frames one is a broadcast: 1 % (RFC 2544, 11.1).
pub const BROADCAST_EVERY: u64 = 100;

/// A condition that makes a device's work harder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Modifier {
    /// One frame of a hundred goes to the broadcast address (11.1). A switch floods it and a router drops it: it is counted apart.
    Broadcast,
    /// The first frame of each second is an ICMP echo request to this address of the device (11.2).
    Management(Ipv4Addr),
    /// A command that sends a routing update, run before each trial and every 30 s of it; its last word is the number of the update (11.3).
    Routes(String),
    /// A command that sets filters up, and one that removes them (11.4).
    Filters {
        /// Run before the trials.
        set: String,
        /// Run after them.
        remove: String,
    },
    /// IPv4 and IPv6 frames by turns, as many of each.
    Protocols,
}

impl Modifier {
    /// Its name on the command line.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Broadcast => "broadcast",
            Self::Management(_) => "management",
            Self::Routes(_) => "routes",
            Self::Filters { .. } => "filters",
            Self::Protocols => "protocols",
        }
    }
}

/// How a run of the tests differs from the plain one; the default does not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// So many flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// Under this condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modifier: Option<Modifier>,
    /// Smallest frames that there can be; shorter ones are lengthened. 0 says nothing.
    #[serde(default)]
    pub least: u32,
}

impl Variant {
    /// With so many flows.
    #[must_use]
    pub fn flows(count: u32) -> Self {
        Self { flows: Some(count), ..Self::default() }
    }

    /// Under a condition, with frames of this format.
    #[must_use]
    pub fn modified(modifier: Modifier, format: &Format) -> Self {
        let mut variant = Self { modifier: Some(modifier), ..Self::default() };
        variant.least = variant.format(format).least();
        variant
    }

    /// Whether it is the plain run.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// A short name for files: `broadcast`, `flows-256`; nothing for the plain one.
    #[must_use]
    pub fn name(&self) -> String {
        let flows = self.flows.map(|n| format!("flows-{n}"));
        let modifier = self.modifier.as_ref().map(|m| m.name().to_owned());
        flows.into_iter().chain(modifier).collect::<Vec<_>>().join("-")
    }

    /// What frames look like.
    #[must_use]
    pub fn format(&self, plain: &Format) -> Format {
        let mut format = plain.clone();
        if let Some(count) = self.flows {
            format.flows = Flows::new(count, plain.flows.order(), plain.flows.seed());
        }
        format.mixed |= self.modifier == Some(Modifier::Protocols);
        format
    }

    /// The sizes that are measured. An error says why a mix can't be.
    #[must_use]
    pub fn sizes(&self, plain: &[Mix]) -> Vec<Result<Mix, (Mix, String)>> {
        let fits = |mix: &Mix| match mix.range() {
            (least, _) if least >= self.least => Ok(mix.clone()),
            _ if mix.is_fixed() => Ok(Mix::fixed(self.least)),
            (least, _) => {
                let why =
                    format!("{self}: its frames of {least} bytes are too short, {} is the least", self.least);
                Err((mix.clone(), why))
            }
        };
        plain.iter().map(fits).collect()
    }

    /// The frames whose place others take.
    #[must_use]
    pub fn marks(&self, schedule: &Schedule) -> Marks {
        match self.modifier {
            Some(Modifier::Broadcast) => Marks::every(BROADCAST_EVERY),
            Some(Modifier::Management(_)) => {
                let seconds = (0..schedule.end_ps().div_ceil(SECOND)).map(|s| s * SECOND);
                Marks::at(seconds.map(|at| if at == 0 { 0 } else { schedule.due_by(at - 1) }))
            }
            _ => Marks::default(),
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.modifier, self.flows) {
            (None, None) => f.write_str("unmodified"),
            (None, Some(1)) => f.write_str("one flow"),
            (None, Some(n)) => write!(f, "{n} flows"),
            (Some(Modifier::Broadcast), _) => f.write_str("1 % broadcast (RFC 2544, 11.1)"),
            (Some(Modifier::Management(to)), _) => write!(f, "a query to {to} each second (11.2)"),
            (Some(Modifier::Routes(_)), _) => f.write_str("routing updates (11.3)"),
            (Some(Modifier::Filters { .. }), _) => f.write_str("filters (11.4)"),
            (Some(Modifier::Protocols), _) => f.write_str("IPv4 and IPv6 by turns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::flow::FlowOrder;
    use crate::trial::rate::Rate;

    fn format() -> Format {
        Format::new(Flows::new(1, FlowOrder::Random, 7))
    }

    #[test]
    fn a_variant_changes_only_what_it_names() {
        let plain = format();
        assert_eq!(Variant::default().format(&plain), plain);
        let flows = Variant::flows(256);
        assert_eq!(
            flows.format(&plain),
            Format { flows: Flows::new(256, FlowOrder::Random, 7), ..plain.clone() }
        );
        assert_eq!((flows.name(), Variant::default().name()), ("flows-256".into(), String::new()));
        let both = Variant::modified(Modifier::Protocols, &plain);
        assert_eq!(both.format(&plain), Format { mixed: true, ..plain.clone() });
        assert_eq!(Variant::modified(Modifier::Broadcast, &plain).format(&plain), plain);
    }

    #[test]
    fn frames_that_are_too_short_are_lengthened_or_named() {
        let both = Variant::modified(Modifier::Protocols, &format());
        let sizes = both.sizes(&[Mix::fixed(64), Mix::fixed(128), Mix::imix()]);
        assert_eq!(sizes[..2], [Ok(Mix::fixed(78)), Ok(Mix::fixed(128))]);
        assert!(sizes[2].as_ref().unwrap_err().1.contains("78 is the least"), "{sizes:?}");
    }

    #[test]
    fn queries_are_the_first_frames_of_seconds() {
        let query = Variant::modified(Modifier::Management([198, 18, 0, 1].into()), &format());
        let mut schedule = Schedule::new(Mix::fixed(64));
        schedule.push(Rate::new(1000, 1), 2 * SECOND + SECOND / 2);
        schedule.push(Rate::new(10, 1), 2 * SECOND);
        let marks = query.marks(&schedule);
        // The rate changes at 2.5 s: 2500 frames are before, and the next second begins 5 frames later.
        let marked: Vec<u64> = (0..3000).filter(|&n| marks.contains(n)).collect();
        assert_eq!(marked, [0, 1000, 2000, 2505, 2515]);
    }

    #[test]
    fn data_is_read_back() {
        let filters = Modifier::Filters { set: "a".into(), remove: "b".into() };
        for modifier in [Modifier::Broadcast, Modifier::Management([1, 2, 3, 4].into()), filters] {
            let variant = Variant::modified(modifier, &format());
            let text = serde_json::to_string(&variant).unwrap();
            assert_eq!(serde_json::from_str::<Variant>(&text).unwrap(), variant);
        }
    }
}
