//! What the Python module is to reach, and whether it does.

use crate::suite::report::{Report, Row};

/// A case, its variant, a peer, and how many times as good as it the Python module is to be.
const BARS: [(&str, &str, &str, f64); 3] =
    [("receive", "", "scapy", 20.0), ("receive", "", "pcapy-ng", 3.0), ("lookups", "IPv4", "rust", 0.6)];

const OURS: &str = "ringway";

/// How many times as good as each peer the Python module is, one line for each case, and whether that is what it is to be.
pub fn bars(report: &Report) -> Vec<String> {
    let of_case = |group: &[Row]| {
        let ours = group.iter().find(|row| row.system == OURS)?;
        let peers: Vec<_> = group.iter().filter(|row| row.is_peer()).map(|peer| beside(ours, peer)).collect();
        let variant = if ours.variant.is_empty() { String::new() } else { format!(" {}", ours.variant) };
        (!peers.is_empty()).then(|| format!("{}{variant} {OURS}: {}", ours.case, peers.join(", ")))
    };
    report.rows.chunk_by(Row::beside).filter_map(of_case).collect()
}

fn beside(ours: &Row, peer: &Row) -> String {
    let ratio = ours.ratio_to(peer);
    let text = format!("{ratio:.2} times {}", peer.system);
    let bar = BARS.iter().find(|(case, variant, system, _)| {
        (*case, *variant, *system) == (&ours.case, &ours.variant, &peer.system)
    });
    match bar {
        Some((.., least)) if ratio >= *least => format!("{text} (the bar of {least} holds)"),
        Some((.., least)) => format!("{text} (the bar of {least} FAILS)"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Case, Options, Sample, Unit, run};
    use ringway_lab::Conditions;

    #[test]
    fn bars_hold_or_fail() {
        let case = |name, variant, systems: &'static [(&'static str, f64)]| {
            let case = Case::new(name, Unit::Mpps).variant(variant);
            systems
                .iter()
                .fold(case, |case, &(system, rate)| case.system(system, move || Ok(Sample::of(rate))))
        };
        let cases = vec![
            case(
                "receive",
                "",
                &[("ringway", 4.0), ("ringway-views", 2.0), ("scapy", 0.1), ("pcapy-ng", 2.0)],
            ),
            case("send", "", &[("ringway", 3.0), ("scapy", 0.1)]),
            case("lookups", "IPv4", &[("ringway", 50.0), ("rust", 100.0)]),
            case("lookups", "IPv6", &[("ringway", 50.0), ("rust", 100.0)]),
        ];
        let report = run("python", cases, &Options::default(), Conditions::default(), |_| ());
        let expected = [
            "receive ringway: 40.00 times scapy (the bar of 20 holds), 2.00 times pcapy-ng (the bar of 3 FAILS)",
            "send ringway: 30.00 times scapy",
            "lookups IPv4 ringway: 0.50 times rust (the bar of 0.6 FAILS)",
            "lookups IPv6 ringway: 0.50 times rust",
        ];
        assert_eq!(bars(&report), expected);
    }
}
