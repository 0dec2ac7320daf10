//! Charts over the time of a run.

use ringway_flows::run::report::Report;
use ringway_flows::run::second::Second;
use ringway_tester::report::plot::{Chart, Mark, Series};
use ringway_tester::report::scale::{short, ticks};

/// What a line of a chart is called, and its value in a second.
type Line = (&'static str, fn(&Second) -> f64);

/// Points of a line: a reader tells no more of them apart.
const POINTS: usize = 150;

/// All charts; nothing of a run that was too short for two samples.
pub(super) fn section(report: &Report) -> String {
    let seconds = points(report);
    if seconds.len() < 2 {
        return String::new();
    }
    let chart = |label: &str, lines: &[Line]| chart(label, &seconds, lines);
    let charts = [
        chart(
            "Flows a second, by time",
            &[("started", |s| s.started), ("complete", |s| s.complete), ("failed", |s| s.failed)],
        ),
        chart("Flows at the same time", &[("active", |s| s.active as f64)]),
        chart("Packets a second, by time", &[("sent", |s| s.packets_out), ("received", |s| s.packets_in)]),
        chart("Bits a second, by time", &[("sent", |s| s.bits_out), ("received", |s| s.bits_in)]),
    ];
    format!("<section>\n<h2>Over time</h2>\n{}</section>\n", charts.concat())
}

/// What attacks began, if there were some.
pub(super) fn attacks(report: &Report) -> String {
    let seconds = points(report);
    if seconds.iter().all(|second| second.attacks == 0.0) {
        return String::new();
    }
    let lines: [Line; 2] =
        [("packets and flows of attacks", |s| s.attacks), ("complete flows of stories", |s| s.complete)];
    chart("Attacks and stories a second, by time", &seconds, &lines)
}

/// Rates between samples, so few that a line shows them. Each has the time of its end.
fn points(report: &Report) -> Vec<Second> {
    let samples = report.history.samples();
    let step = samples.len().div_ceil(POINTS).max(1);
    let mut kept: Vec<_> = samples.iter().step_by(step).collect();
    // The last part may be too short for a rate.
    kept.dedup_by(|later, before| later.0 - before.0 < 50_000_000);
    kept.windows(2).map(|pair| Second::between(pair[0], pair[1])).collect()
}

fn chart(label: &str, seconds: &[Second], lines: &[Line]) -> String {
    let line = |(name, value): &Line| {
        let points = seconds.iter().map(|second| (second.seconds, value(second))).collect();
        Series::line(*name, points).marked(Mark::Curve)
    };
    let series: Vec<Series> = lines.iter().map(line).collect();
    let most = series.iter().flat_map(|line| &line.points).map(|point| point.1).fold(1.0, f64::max);
    let end = seconds.last().map_or(0.0, |second| second.seconds);
    Chart {
        label: label.to_owned(),
        x_ticks: ticks(end, |at| format!("{} s", short(at))),
        y_ticks: ticks(most, short),
        series,
    }
    .figure()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{RUN, STORY, report};
    use super::*;

    #[test]
    fn lines_have_the_rates_of_the_run() {
        let report = report(&format!("{STORY}{RUN}"));
        let seconds = points(&report);
        assert!((20..=POINTS).contains(&seconds.len()), "{}", seconds.len());
        let steady: Vec<f64> =
            seconds.iter().filter(|s| (1.5..4.9).contains(&s.seconds)).map(|s| s.complete).collect();
        assert!(steady.iter().all(|rate| (400.0..600.0).contains(rate)), "{steady:?}");
        let started: f64 =
            seconds.windows(2).map(|two| two[1].started * (two[1].seconds - two[0].seconds)).sum();
        assert!((started - report.total.started as f64).abs() < 20.0, "{started}");
        let text = attacks(&report);
        assert!(text.contains("packets and flows of attacks") && text.contains("1 k"), "{text}");
    }
}
