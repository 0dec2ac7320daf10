//! What the demonstration found.

use ringway::{Counters, DropReason, PortCounters};
use serde::Serialize;

use crate::demo::compare::Integrity;
use crate::demo::frames::Frames;
use crate::suite::report::{Missing, Report, Row};
use ringway_lab::Conditions;

/// What was found.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The machine.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// What joins the systems to the traffic: "veth" or "pipe".
    pub over: &'static str,
    /// What was replayed.
    pub replay: Frames,
    /// At low load: how it came through each system.
    pub integrity: Vec<Passage>,
    /// Under a flood of 64-byte frames: how much came through.
    pub flood: Vec<Row>,
    /// Times as fast as the others, Ringway's median over theirs.
    pub ratios: Vec<Ratio>,
    /// Systems that could not be measured.
    pub missing: Vec<Missing>,
    /// Where Ringway lost frames of one flood, by name.
    pub drops: Vec<Drops>,
    /// What this run could not show.
    pub left_out: Vec<String>,
    /// Ended by the user.
    pub interrupted: bool,
    /// Whether nothing was lost or damaged at low load by any system, and every system that is there gave a number.
    pub ok: bool,
}

/// How the replay came through a system.
#[derive(Debug, Clone, Serialize)]
pub struct Passage {
    /// Name of the system.
    pub system: &'static str,
    /// What came through.
    #[serde(flatten)]
    pub integrity: Integrity,
}

/// Ringway beside another system.
#[derive(Debug, Clone, Serialize)]
pub struct Ratio {
    /// The other.
    pub to: String,
    /// How many times as fast Ringway is.
    pub times: f64,
}

/// Frames lost for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drops {
    /// Port and direction.
    pub place: String,
    /// Stable name of the reason.
    pub reason: &'static str,
    /// Frames.
    pub frames: u64,
    /// What to do about it.
    pub help: &'static str,
}

/// What came through, in words.
pub fn sentence(i: &Integrity) -> String {
    let intact = format!("{} of {} frames intact", i.intact, i.sent);
    if i.is_perfect() {
        return intact + " and in order";
    }
    format!("{intact}, {} missing, {} reordered, {} damaged or doubled", i.missing, i.reordered, i.foreign)
}

impl Outcome {
    pub(super) fn new(
        over: &'static str,
        replay: Frames,
        (integrity, mut missing): (Vec<Passage>, Vec<Missing>),
        report: Report,
    ) -> Self {
        let ours = report.rows.iter().find(|r| !r.is_peer());
        let ratio = |other: &Row| {
            let times = (ours?.ratio_to(other) * 100.0).round() / 100.0;
            Some(Ratio { to: other.system.clone(), times })
        };
        let ratios = report.rows.iter().filter(|r| r.is_peer()).filter_map(ratio).collect();
        let failed = missing.iter().any(Missing::is_failure) || report.failed().is_some();
        let intact = !integrity.is_empty() && integrity.iter().all(|p| p.integrity.is_intact());
        let interrupted = report.interrupted;
        missing.extend(report.missing);
        Self {
            conditions: report.conditions,
            over,
            replay,
            integrity,
            flood: report.rows,
            ratios,
            missing,
            drops: Vec::new(),
            left_out: Vec::new(),
            interrupted,
            ok: intact && !failed && !interrupted,
        }
    }

    pub(super) fn with_drops(mut self, ports: [(&str, PortCounters); 2]) -> Self {
        for (name, counters) in ports {
            self.drops.extend(drops(&format!("{name} received"), &counters.rx));
            self.drops.extend(drops(&format!("{name} sent"), &counters.tx));
        }
        self
    }
}

fn drops<'a>(place: &'a str, counters: &'a Counters) -> impl Iterator<Item = Drops> + 'a {
    counters.reasons().map(|(why, frames): (DropReason, u64)| Drops {
        place: place.to_owned(),
        reason: why.name(),
        frames,
        help: why.help(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Fault;

    #[test]
    fn losses_and_damage_are_told() {
        let mut i = Integrity { sent: 5, intact: 5, ..Integrity::default() };
        assert_eq!(sentence(&i), "5 of 5 frames intact and in order");
        i.foreign = 1;
        assert!(sentence(&i).contains("1 damaged"));
    }

    #[test]
    fn peers_may_be_absent_but_not_ringway() {
        let missing = |system| Missing::named("replay", system, &Fault::Unavailable("not here".into()));
        assert!(missing("ringway-ebpf").is_failure());
        assert!(!missing("libpcap").is_failure());
    }

    #[test]
    fn drops_have_names_and_cures() {
        let mut counters = PortCounters::default();
        counters.rx.add_drops(DropReason::RingFull, 7);
        let found: Vec<Drops> = drops("ebpf:a1 received", &counters.rx).collect();
        assert_eq!((found[0].reason, found[0].frames), ("ring_full", 7));
        assert!(!found[0].help.is_empty());
    }
}
