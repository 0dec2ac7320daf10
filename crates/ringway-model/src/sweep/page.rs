//! A sweep as a page of its own: costs as stacked bars, and rate out against rate in.

use ringway_tester::report::page::{head, origin, section, table, whole};
use ringway_tester::report::plot::{Chart, Mark, Series};
use ringway_tester::report::scale::{short, ticks};

use super::bars::{Bar, bars};
use super::report::{groups, heads, row, value};
use super::{Measured, Sweep, Swept};

/// The whole page.
#[must_use]
pub fn html(sweep: &Sweep, results: &[Measured], command: &str) -> String {
    let title = format!("Cost of a packet over {}", sweep.spec.swept);
    let labels = [
        format!("tier B: time of the thread that forwards, in {}", sweep.clock.unit()),
        format!("{} runs of {} ms a point", sweep.spec.runs, sweep.spec.counted_ms),
        if sweep.partial { "partial: runs are missing".into() } else { "complete".into() },
    ];
    let mut body = head(&title, sweep.spec.device.name(), &labels);
    body += &origin(&sweep.conditions, command, true);
    body += "</header>\n";
    let heads = heads(sweep);
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let rows: Vec<Vec<String>> = results.iter().map(|m| row(sweep, m)).collect();
    body += &section("Cost", &costs(sweep, results), &heads, &rows, &group_table(sweep, results));
    if sweep.spec.swept == Swept::Rate {
        body += &format!("<section>\n<h2>Rate</h2>\n{}</section>\n", rate(results));
    }
    whole(&title, &body)
}

/// Ticks a packet, a bar for each point.
fn costs(sweep: &Sweep, results: &[Measured]) -> String {
    let scale = sweep.clock.ticks_per_ns();
    let bar = |m: &Measured| Bar {
        name: value(sweep.spec.swept, m),
        parts: match &m.costs {
            Some(costs) => costs.iter().map(|(name, ticks)| (name.to_owned(), ticks)).collect(),
            None => vec![("all groups".into(), m.ns.value * scale)],
        },
        interval: m.ns.times(scale),
    };
    bars("Ticks a packet, with 95 % intervals", &results.iter().map(bar).collect::<Vec<_>>())
}

/// Ticks by group.
fn group_table(sweep: &Sweep, results: &[Measured]) -> String {
    let groups = groups(results);
    if groups.is_empty() {
        return String::new();
    }
    let heads: Vec<&str> =
        std::iter::once(sweep.spec.swept.name()).chain(groups.iter().map(String::as_str)).collect();
    let cell = |m: &Measured, group: &String| {
        m.costs.as_ref().and_then(|c| c.get(group)).map_or_else(|| "-".into(), |ticks| format!("{ticks:.0}"))
    };
    let row = |m: &Measured| {
        std::iter::once(value(sweep.spec.swept, m)).chain(groups.iter().map(|g| cell(m, g))).collect()
    };
    table(&heads, &results.iter().map(row).collect::<Vec<Vec<String>>>())
}

/// Rate out against rate in, with the line of a device that loses nothing.
fn rate(results: &[Measured]) -> String {
    let mut points: Vec<(f64, f64)> = results.iter().map(|m| (m.offered_pps, m.passed_pps.value)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let most = points.iter().map(|p| p.0).fold(0.0, f64::max);
    let chart = Chart {
        label: "Packets a second out against packets a second in".into(),
        x_ticks: ticks(most, short),
        y_ticks: ticks(most, short),
        series: vec![
            Series::line("without loss", vec![(0.0, 0.0), (most, most)]).marked(Mark::Theory),
            Series::line("measured", points),
        ],
    };
    chart.figure()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::file::tests::sweep;
    use crate::sweep::results;
    use ringway_tester::report::check::faults;

    #[test]
    fn pages_are_whole() {
        for (swept, values) in [(Swept::Size, [64.0, 1518.0]), (Swept::Rate, [1e5, 2e6])] {
            let mut found = sweep(swept, &[(values[0], 1000.0), (values[1], 1100.0)]);
            found.runs[1][0].samples = vec![("R<X".into(), 3), ("TX".into(), 1)];
            let page = html(&found, &results(&found), "ringway prof sweep");
            assert_eq!(faults(&page), Vec::<String>::new());
            assert!(page.contains("R&lt;X") && !page.contains("R<X"));
            assert_eq!(page.contains("Rate</h2>"), swept == Swept::Rate);
        }
    }
}
