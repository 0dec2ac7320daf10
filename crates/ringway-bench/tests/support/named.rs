//! What a report of a suite has.

use ringway_bench::suite::report::Report;

/// Variants of cases and systems with a number, or without any.
pub(crate) fn named(report: &Report) -> Vec<[String; 3]> {
    let name = |case: &str, variant: &str, system: &str| [case, variant, system].map(str::to_owned);
    let found = report.rows.iter().map(|r| name(&r.case, &r.variant, &r.system));
    let missing = report.missing.iter().filter(|m| m.runs == 0).map(|m| name(&m.case, &m.variant, &m.system));
    let mut named: Vec<_> = found.chain(missing).collect();
    named.sort();
    named
}
