//! The charts of the page.

use super::Report;
use crate::rfc2544::measure::{LatencyAt, Loss, Results, Throughput};
use ringway_tester::report::plot::{Chart, Mark, Series};
use ringway_tester::report::scale::{log_ticks, percents, short, short_ns, ticks};
use ringway_tester::trial::mix::Mix;
/// Sizes at even distances.
fn sizes<'a>(sizes: impl Iterator<Item = &'a Mix>) -> Vec<(f64, String)> {
    sizes
        .enumerate()
        .map(|(k, size)| (k as f64, if size.is_fixed() { size.to_string() } else { "mix".into() }))
        .collect()
}

/// The graph of RFC 2544, 26.1: frame size, theoretical and measured frame rate, that of each run.
pub(super) fn throughput(report: &Report) -> String {
    let t = &report.results.throughput;
    let most = t.iter().map(|t| t.line_fps).fold(0.0, f64::max);
    let line = |of: &[Throughput], value: fn(&Throughput) -> f64| {
        of.iter().enumerate().map(|(k, t)| (k as f64, value(t))).collect()
    };
    let measured = report.runs().filter(|(_, r)| r.throughput.len() == t.len()).map(|(variant, r)| {
        let name = if variant.is_plain() { "measured".into() } else { variant.to_string() };
        Series::line(name, line(&r.throughput, |t| t.fps))
    });
    let theoretical = Series::line("theoretical", line(t, |t| t.line_fps)).marked(Mark::Theory);
    let chart = Chart {
        label: "Frames per second by frame size".into(),
        x_ticks: sizes(t.iter().map(|t| &t.size)),
        y_ticks: ticks(most, short),
        series: measured.chain([theoretical]).collect(),
    };
    chart.figure()
}

/// Percentiles at the throughput, both axes logarithmic.
pub(super) fn latency(results: &Results) -> String {
    let nines = |share: f64| -(1.0 - share.min(0.999_999)).log10();
    let log = |ns: u64| (ns.max(1) as f64).log10();
    let at_throughput = || results.latency.iter().filter_map(|l| Some((&l.size, l.loads.last()?)));
    let curve = |at: &LatencyAt| at.curve.iter().map(|&(share, ns)| (nines(share), log(ns))).collect();
    let values = || at_throughput().flat_map(|(_, at)| at.curve.iter().map(|c| c.1));
    let (Some(low), Some(high)) = (values().min(), values().max()) else { return String::new() };
    let x_ticks = [
        (0.0, "0"),
        (0.9, "90 %"),
        (0.99, "99 %"),
        (0.999, "99.9 %"),
        (0.9999, "99.99 %"),
        (0.99999, "99.999 %"),
        (1.0, "all"),
    ];
    let chart = Chart {
        label: "Latency that a share of the frames does not exceed, at the throughput".into(),
        x_ticks: x_ticks.map(|(share, text)| (nines(share), text.to_owned())).to_vec(),
        y_ticks: log_ticks(low as f64, high as f64, short_ns),
        series: at_throughput().map(|(size, at)| Series::line(size.to_string(), curve(at))).collect(),
    };
    chart.figure()
}

/// The graph of 26.3: load and loss, both in percent.
pub(super) fn loss(results: &Results) -> String {
    let line = |l: &Loss| {
        Series::line(
            l.size.to_string(),
            l.loads.iter().rev().map(|at| (at.load.as_percent(), at.percent)).collect(),
        )
    };
    let series = results.loss.iter().map(line).collect();
    Chart { label: "Loss by load".into(), x_ticks: percents(), y_ticks: percents(), series }.figure()
}

/// A bar for each size; none where bursts can't be lost.
pub(super) fn back_to_back(results: &Results) -> String {
    let all = &results.back_to_back;
    let measured = || all.iter().enumerate().filter(|(_, b)| b.not_applicable.is_none());
    let most = measured().map(|(_, b)| b.frames.max).fold(0.0, f64::max);
    if measured().next().is_none() {
        return String::new();
    }
    let points = measured().map(|(k, b)| (k as f64, b.frames.mean)).collect();
    let chart = Chart {
        label: "Longest burst without loss, frames by frame size".into(),
        x_ticks: sizes(all.iter().map(|b| &b.size)),
        y_ticks: ticks(most, short),
        series: vec![Series::line("frames", points).marked(Mark::Bars)],
    };
    chart.figure()
}
