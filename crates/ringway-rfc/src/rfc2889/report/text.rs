//! Tables for the terminal.

use super::Report;
use crate::benchmark::table::Section;
use crate::rfc2889::measure::{Broadcast, Capacity, Congestion, Errored, Forwarding, ForwardingAt, Learning};
use ringway_tester::report::text::{grouped, short_time};
use ringway_traffic::units::many;

/// The whole report, for a terminal.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut out = report.origin.opening(&report.title(), &report.labels());
    sections(report).iter().for_each(|section| out += &section.text());
    if !report.results.missing.is_empty() {
        out += "\nWithout a result\n";
        let missing = &report.results.missing;
        missing.iter().for_each(|m| out += &format!("  {}: {}\n", named(m), m.reason));
    }
    out += &report.caveats.text();
    let invalid = report.trials.iter().filter(|t| !t.trial.faults.is_empty()).count();
    out + &format!("\n{}, {invalid} of them invalid\n", many(report.trials.len() as u64, "trial"))
}

/// A result that is not there, by name.
pub(super) fn named(m: &crate::rfc2889::measure::Missing) -> String {
    if m.what.is_empty() { m.test.to_string() } else { format!("{}, {}", m.test, m.what) }
}

/// Tables of the tests that have results.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    let r = &report.results;
    let all = [
        Section::of("Forwarding (RFC 2889, 5.1 to 5.4, 5.6)", FORWARDING, &r.forwarding, |found| {
            [forwarding(found)]
        }),
        Section::of("Congestion control (5.5)", CONGESTION, &r.congestion, |found| [congestion(found)]),
        Section::of("Address caching capacity (5.7)", CAPACITY, &r.capacity, |found| [capacity(found)]),
        Section::of("Address learning rate (5.8)", LEARNING, &r.learning, |found| [learning(found)]),
        Section::of("Errored frames (5.9)", ERRORED, &r.errored, |found| [errored(found)]),
        Section::of("Broadcast (5.10)", BROADCAST, &r.broadcast, |found| [broadcast(found)]),
        Section::of("Broadcast latency by port, first bit to first bit", LATENCY, &r.broadcast, latency),
    ];
    all.into_iter().filter(|s| !s.rows.is_empty()).collect()
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.into()
}

fn at_least(limited: bool, number: String) -> String {
    if limited { format!(">= {number}") } else { number }
}

const FORWARDING: &[&str] = &[
    "size, pattern",
    "throughput/s",
    "% of line",
    "offered at full/s",
    "forwarded at full/s",
    "lost %",
    "flooded",
    "most forwarded/s",
    "at load %",
    "trials",
];

fn forwarding(f: &Forwarding) -> Vec<String> {
    let ForwardingAt { offered_fps, forwarded_fps, percent, flooded, .. } = f.at_maximum;
    vec![
        format!("{}, {}", f.size, f.pattern),
        at_least(f.limited, format!("{:.0}", f.fps)),
        f.load.map_or("0".into(), |load| format!("{:.4}", load.as_percent())),
        format!("{offered_fps:.0}"),
        format!("{forwarded_fps:.0}"),
        format!("{percent:.4}"),
        grouped(flooded),
        format!("{:.0}", f.maximum.forwarded_fps),
        format!("{:.2}", f.maximum.load.as_percent()),
        f.trials.to_string(),
    ]
}

const CONGESTION: &[&str] = &[
    "size",
    "to free port",
    "lost %",
    "to full port",
    "lost %",
    "offered/s",
    "held back",
    "head-of-line blocking",
    "back pressure",
];

fn congestion(c: &Congestion) -> Vec<String> {
    let unknown = |known: String| if c.not_congested { "not known".into() } else { known };
    vec![
        c.size.to_string(),
        grouped(c.uncongested.expected),
        format!("{:.4}", c.uncongested.percent),
        grouped(c.congested.expected),
        format!("{:.4}", c.congested.percent),
        format!("{:.0}", c.offered_fps),
        grouped(c.held),
        unknown(yes(c.head_of_line_blocking)),
        unknown(yes(c.back_pressure)),
    ]
}

const CAPACITY: &[&str] =
    &["addresses of one port", "held in all", "not all of", "resolution", "taught/s", "trials"];

fn capacity(c: &Capacity) -> Vec<String> {
    vec![
        at_least(c.at_least, grouped(c.learned.unwrap_or(0))),
        at_least(c.at_least, grouped(c.cached)),
        c.failing.map_or("-".into(), grouped),
        grouped(c.step),
        grouped(c.learning_fps),
        c.trials.to_string(),
    ]
}

const LEARNING: &[&str] = &["addresses", "learned/s", "not at/s", "resolution", "trials"];

fn learning(l: &Learning) -> Vec<String> {
    vec![
        grouped(l.addresses),
        at_least(l.limited || l.at_least, grouped(l.fps.unwrap_or(0))),
        l.failing.map_or("-".into(), grouped),
        grouped(l.step),
        l.trials.to_string(),
    ]
}

const ERRORED: &[&str] = &["frames", "size", "sent", "forwarded", "right"];

fn errored(e: &Errored) -> Vec<String> {
    let numbers = match &e.impossible {
        Some(why) => ["-".into(), "-".into(), format!("not possible: {why}")],
        None => [grouped(e.sent), grouped(e.forwarded), yes(e.right)],
    };
    [e.flaw.to_string(), e.size.to_string()].into_iter().chain(numbers).collect()
}

const BROADCAST: &[&str] = &[
    "size",
    "throughput/s",
    "% of line",
    "offered at full/s",
    "forwarded at full/s, all ports",
    "lost %",
    "mean latency",
    "trials",
];

fn broadcast(b: &Broadcast) -> Vec<String> {
    vec![
        b.size.to_string(),
        at_least(b.limited, format!("{:.0}", b.fps)),
        b.load.map_or("0".into(), |load| format!("{:.4}", load.as_percent())),
        format!("{:.0}", b.at_maximum.offered_fps),
        format!("{:.0}", b.at_maximum.forwarded_fps),
        format!("{:.4}", b.at_maximum.percent),
        b.latency.as_ref().map_or("-".into(), |l| short_time(l.mean_ns)),
        b.trials.to_string(),
    ]
}

const LATENCY: &[&str] = &["size, port", "min", "mean", "p50", "p99", "p99.9", "max"];

fn latency(b: &Broadcast) -> Vec<Vec<String>> {
    let ns = |n: u64| short_time(n as f64);
    let rows = b.ports.iter().map(|p| {
        let l = &p.latency;
        vec![
            format!("{}, {}", b.size, p.port + 1),
            ns(l.min_ns),
            short_time(l.mean_ns),
            ns(l.p50_ns),
            ns(l.p99_ns),
            ns(l.p99_9_ns),
            ns(l.max_ns),
        ]
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rfc2889::report::tests::report;

    #[test]
    fn all_sections_have_their_rows() {
        let text = text(&report("switch:table=50,learn=1000,hol"));
        for part in [
            "Forwarding (",
            "Congestion control (",
            "Address caching capacity (",
            "Address learning rate (",
            "Errored frames (",
            "Broadcast (",
            "Broadcast latency by port",
            "64, mesh",
            "1518, 4",
            "Note: a & b",
            "0 of them invalid",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
