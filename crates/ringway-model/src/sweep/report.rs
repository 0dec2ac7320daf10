//! A sweep for people and for programs.

use serde_json::{Value, json};

use super::{Measured, Sweep, Swept};
use ringway_tester::report::text::table;

/// The results as one object.
#[must_use]
pub fn json(sweep: &Sweep, results: &[Measured]) -> Value {
    let ticks = sweep.clock.ticks_per_ns();
    let point = |m: &Measured| {
        json!({
            "point": m.point,
            "ns": m.ns,
            "ticks": m.ns.times(ticks),
            "max_pps": m.max_pps(),
            "offered_pps": m.offered_pps,
            "passed_pps": m.passed_pps,
            "load": m.load,
            "share": m.share,
            "batch": m.batch,
            "runs": m.runs,
            "outliers": m.outliers,
        })
    };
    let with_groups = |m: &Measured| {
        let mut object = point(m);
        if let Some(costs) = &m.costs {
            object["groups"] = json!(costs);
        }
        object
    };
    json!({
        "device": sweep.spec.device,
        "swept": sweep.spec.swept,
        "partial": sweep.partial,
        "tier": "B",
        "conditions": sweep.conditions,
        "clock": sweep.clock,
        "caches": sweep.caches,
        "points": results.iter().map(with_groups).collect::<Vec<_>>(),
    })
}

/// Heads of the table, without groups.
pub(super) fn heads(sweep: &Sweep) -> Vec<String> {
    let own = [
        "Mpps of a core",
        "ticks",
        "95 %",
        "offered Mpps",
        "out Mpps",
        "load",
        "share",
        "batch",
        "runs",
        "outliers",
    ];
    std::iter::once(sweep.spec.swept.name()).chain(own).map(str::to_owned).collect()
}

/// A row of the table, without groups.
pub(super) fn row(sweep: &Sweep, m: &Measured) -> Vec<String> {
    let ticks = m.ns.times(sweep.clock.ticks_per_ns());
    let percent = |part: f64| format!("{:.0} %", 100.0 * part);
    vec![
        value(sweep.spec.swept, m),
        format!("{:.3}", m.max_pps().value / 1e6),
        format!("{:.0}", ticks.value),
        format!("{:.0}-{:.0}", ticks.low, ticks.high),
        format!("{:.3}", m.offered_pps / 1e6),
        format!("{:.3}", m.passed_pps.value / 1e6),
        percent(m.load),
        percent(m.share),
        format!("{:.0}", m.batch),
        m.runs.to_string(),
        m.outliers.to_string(),
    ]
}

/// The value of what is swept.
pub(super) fn value(swept: Swept, m: &Measured) -> String {
    match swept.of(&m.point) {
        v if v.is_infinite() => "max".into(),
        v if swept == Swept::Rate => format!("{:.3} M", v / 1e6),
        v => format!("{v:.0}"),
    }
}

/// The groups of all points, in the order in which they are met.
pub(super) fn groups(results: &[Measured]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in results.iter().filter_map(|m| m.costs.as_ref()).flat_map(|c| c.iter()) {
        if !names.iter().any(|n| n == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The results as a table.
#[must_use]
pub fn text(sweep: &Sweep, results: &[Measured]) -> String {
    let groups = groups(results);
    let heads: Vec<String> = heads(sweep).into_iter().chain(groups.iter().cloned()).collect();
    let cost = |m: &Measured, group: &String| {
        m.costs.as_ref().and_then(|c| c.get(group)).map_or_else(|| "-".into(), |ticks| format!("{ticks:.0}"))
    };
    let rows: Vec<Vec<String>> = results
        .iter()
        .map(|m| row(sweep, m).into_iter().chain(groups.iter().map(|g| cost(m, g))).collect())
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let partial = if sweep.partial { "Partial: runs are missing.\n" } else { "" };
    format!("{}\n{}{}{partial}", head(sweep), table(&heads, &rows), short_of(results).unwrap_or_default())
}

/// Part of a rate below which the generator did not offer it.
const OFFERED: f64 = 0.9;

/// Points at which the generator was too slow for what it was to offer.
fn short_of(results: &[Measured]) -> Option<String> {
    let short = results.iter().filter(|m| m.point.offered.is_some_and(|pps| m.offered_pps < OFFERED * pps));
    match short.count() {
        0 => None,
        n => Some(format!(
            "At {n} points the generator offered less than it was to: the rates that it offered count. A larger --burst offers more.\n"
        )),
    }
}

/// What stands next to every number.
pub(super) fn head(sweep: &Sweep) -> String {
    let Sweep { spec, clock, conditions, .. } = sweep;
    format!(
        "{} over {}, tier B (thread time), {}, {} runs of {} ms, {conditions}",
        spec.device,
        spec.swept,
        clock.unit(),
        spec.runs,
        spec.counted_ms
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::file::tests::sweep;
    use crate::sweep::results;

    #[test]
    fn points_are_rows_and_objects() {
        let mut sizes = sweep(Swept::Size, &[(64.0, 1000.0), (1518.0, 1100.0)]);
        sizes.runs[0][0].samples = vec![("RX".into(), 3), ("TX".into(), 1)];
        let found = results(&sizes);
        let text = text(&sizes, &found);
        for part in ["linux-router over size", "ticks (TSC 2.00 GHz)", "RX", "1500", "2200-2200", "0.909"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("Partial"));
        let json = json(&sizes, &found);
        assert_eq!(json["points"][1]["ticks"]["value"], 2200.0);
        assert_eq!(json["points"][0]["groups"][0], json!({ "group": "RX", "ticks": 1500.0 }));
        assert_eq!(json["points"][1]["groups"], Value::Null);
        sizes.partial = true;
        assert!(super::text(&sizes, &found).ends_with("Partial: runs are missing.\n"));
    }

    #[test]
    fn a_rate_without_limit_is_the_maximum() {
        let rates = sweep(Swept::Rate, &[(500_000.0, 1000.0)]);
        let mut found = results(&rates);
        assert_eq!(value(Swept::Rate, &found[0]), "0.500 M");
        assert_eq!(short_of(&found), None);
        found[0].offered_pps = 100.0;
        assert!(text(&rates, &found).contains("At 1 points the generator offered less"));
        found[0].point.offered = None;
        assert_eq!(value(Swept::Rate, &found[0]), "max");
    }
}
