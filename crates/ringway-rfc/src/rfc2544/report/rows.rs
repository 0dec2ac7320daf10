//! Heads and rows of the tables of each test, for the terminal and the page.

use crate::rfc2544::measure::{BackToBack, Burst, Latency, Loss, Recovery, Reset, Throughput};
use crate::rfc2544::selftest::SelfTestAt;
use ringway_tester::report::text::grouped;
use ringway_tester::report::text::short_time;

pub(super) const THROUGHPUT: &[&str] = &[
    "size",
    "frames/s",
    "line rate",
    "kpps",
    "% of line",
    "layer 1 Mbit/s",
    "layer 2 Mbit/s",
    "trials",
    "ended by",
];

pub(super) fn throughput(t: &Throughput) -> Vec<Vec<String>> {
    let goals = t.found.goals.iter();
    let rows = goals.map(|goal| {
        let share = goal.conditional / 1e6;
        let fps = t.line_fps * share;
        let ended = serde_json::to_value(goal.reason)
            .ok()
            .and_then(|v| v.as_str().map(str::to_owned))
            .unwrap_or_default();
        let at_least = if t.limited { ">= " } else { "" };
        vec![
            if goal.loss_ppm == 0 {
                t.size.to_string()
            } else {
                format!("{} ({} % loss)", t.size, goal.loss_ppm as f64 / 1e4)
            },
            format!("{at_least}{fps:.2}"),
            format!("{:.2}", t.line_fps),
            grouped((fps / 1e3) as u64),
            format!("{:.4}", share * 100.0),
            format!("{:.3}", fps * 8.0 * (t.size.mean() + 20.0) / 1e6),
            format!("{:.3}", fps * 8.0 * t.size.mean() / 1e6),
            t.trials.to_string(),
            ended,
        ]
    });
    rows.collect()
}

pub(super) const ALONE: &[&str] = &["size", "frames/s", "measured", "ns a frame"];

/// No row for a device without a thread of this process.
pub(super) fn alone(t: &Throughput) -> Vec<Vec<String>> {
    let row = |fps: f64| {
        vec![t.size.to_string(), format!("{fps:.0}"), format!("{:.0}", t.fps), format!("{:.1}", 1e9 / fps)]
    };
    t.device_fps.map(row).into_iter().collect()
}

pub(super) const LATENCY: &[&str] = &[
    "size",
    "% of throughput",
    "min",
    "mean",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "p99.99",
    "max",
    "variation",
    "jitter",
];

pub(super) fn latency(l: &Latency) -> Vec<Vec<String>> {
    let rows = l.loads.iter().map(|at| {
        let ns = |n: u64| short_time(n as f64);
        let a = &at.all;
        vec![
            l.size.to_string(),
            format!("{:.1}{}", at.share.as_percent(), if at.limited { " (tester's limit)" } else { "" }),
            ns(a.min_ns),
            short_time(a.mean_ns),
            ns(a.p50_ns),
            ns(a.p90_ns),
            ns(a.p99_ns),
            ns(a.p99_9_ns),
            ns(a.p99_99_ns),
            ns(a.max_ns),
            ns(at.variation_ns),
            short_time(at.jitter_ns),
        ]
    });
    rows.collect()
}

pub(super) const REPEATS: &[&str] = &[
    "size",
    "repeats",
    "mean",
    "mean, last bit in",
    "p50: median",
    "1 %",
    "99 %",
    "p99.9: median",
    "1 %",
    "99 %",
];

pub(super) fn repeats(l: &Latency) -> Vec<Vec<String>> {
    let of_repeats = l.typical_ns.iter().chain(&l.worst_ns).map(|&ns| short_time(ns as f64));
    let stored = l.stored_mean_ns.map_or("-".into(), short_time);
    let row = [l.size.to_string(), l.repeated.to_string(), short_time(l.mean_ns), stored];
    vec![row.into_iter().chain(of_repeats).collect()]
}

pub(super) const LOSS: &[&str] = &["size", "% of line", "sent", "lost", "loss %", "offered/s", "forwarded/s"];

pub(super) fn loss(l: &Loss) -> Vec<Vec<String>> {
    let rows = l.loads.iter().map(|at| {
        vec![
            l.size.to_string(),
            format!("{:.2}{}", at.load.as_percent(), if at.limited { " (tester's limit)" } else { "" }),
            grouped(at.tx),
            grouped(at.lost),
            format!("{:.6}", at.percent),
            format!("{:.0}", at.offered_fps),
            format!("{:.0}", at.forwarded_fps),
        ]
    });
    rows.collect()
}

pub(super) const BACK_TO_BACK: &[&str] =
    &["size", "frames", "min", "max", "deviation", "repeats", "buffer", "corrected"];

pub(super) fn back_to_back(b: &BackToBack) -> Vec<Vec<String>> {
    if let Some(why) = &b.not_applicable {
        let mut row = vec![String::new(); BACK_TO_BACK.len()];
        (row[0], row[1]) = (b.size.to_string(), format!("not applicable: {why}"));
        return vec![row];
    }
    let f = b.frames;
    vec![vec![
        b.size.to_string(),
        format!("{:.1}", f.mean),
        format!("{:.0}", f.min),
        format!("{:.0}", f.max),
        format!("{:.2}", f.deviation),
        b.repeats.to_string(),
        short_time(b.implied_buffer_s * 1e9),
        short_time(b.corrected_buffer_s * 1e9),
    ]]
}

pub(super) const BURST: &[&str] = &["size", "seconds", "frames", "sent", "received", "lost"];

pub(super) fn burst(b: &Burst) -> Vec<Vec<String>> {
    let seconds = format!("{}", ringway_tester::trial::ledger::seconds(b.length_ps));
    vec![vec![
        b.size.to_string(),
        seconds,
        grouped(b.scheduled),
        grouped(b.tx),
        grouped(b.rx),
        grouped(b.lost),
    ]]
}

pub(super) const RECOVERY: &[&str] =
    &["size", "overload %", "then %", "mean", "min", "max", "repeats", "resolution", "overloaded"];

pub(super) fn recovery(r: &Recovery) -> Vec<Vec<String>> {
    let s = |s: f64| short_time(s * 1e9);
    let yes = if r.overloaded { "yes" } else { "no" };
    vec![vec![
        r.size.to_string(),
        format!("{:.2}", r.overload.as_percent()),
        format!("{:.2}", r.relief.as_percent()),
        s(r.seconds.mean),
        s(r.seconds.min),
        s(r.seconds.max),
        r.values_s.len().to_string(),
        s(r.resolution_s),
        yes.into(),
    ]]
}

pub(super) const RESET: &[&str] = &["size", "reset", "by time", "by loss", "lost", "resolution"];

pub(super) fn reset(r: &Reset) -> Vec<Vec<String>> {
    let s = |s: f64| short_time(s * 1e9);
    vec![vec![
        r.size.to_string(),
        r.kind.clone(),
        s(r.by_time_s),
        s(r.by_loss_s),
        grouped(r.lost),
        s(r.resolution_s),
    ]]
}

pub(super) const SELF_TEST: &[&str] =
    &["size", "sent/s", "received/s", "latency at/s", "min", "p50", "p99", "p99.9", "max", "device at"];

pub(super) fn self_test(at: &SelfTestAt) -> Vec<Vec<String>> {
    let (fps, ns, l) = (|fps: f64| grouped(fps as u64), |ns: u64| short_time(ns as f64), &at.latency);
    let flag = if at.near_limit { "!" } else { "" };
    vec![vec![
        at.size.to_string(),
        fps(at.sent_fps),
        fps(at.received_fps),
        fps(at.latency_fps),
        ns(l.min_ns),
        ns(l.p50_ns),
        ns(l.p99_ns),
        ns(l.p99_9_ns),
        ns(l.max_ns),
        at.throughput_share.map_or("-".into(), |share| format!("{:.0} %{flag}", 100.0 * share)),
    ]]
}
