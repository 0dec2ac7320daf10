//! One CSV file for each test.

use std::fmt::Write;

use super::Report;
use crate::rfc2544::measure::{BackToBack, Burst, Latency, Loss, Recovery, Reset, Results, Throughput};
use crate::rfc2544::selftest::SelfTest;
use crate::rfc2544::settings::Test;
use crate::trial::ledger::seconds;
use crate::trial::mix::Mix;
use crate::trial::rate::Load;

/// Files: name of the test, or `trials`, and contents. The name of a variant stands behind the test's. Tests without results have no
/// file.
#[must_use]
pub fn files(report: &Report) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (variant, results) in report.runs() {
        let variant = variant.name();
        let separator = if variant.is_empty() { "" } else { "-" };
        let of_run = tests(results);
        files.extend(of_run.into_iter().map(|(test, text)| (format!("{test}{separator}{variant}"), text)));
    }
    files.extend(report.self_test.as_ref().map(|found| ("self-test".into(), self_test(found))));
    files.push(("trials".into(), trials(report)));
    files
}

/// The tests of a run.
fn tests(r: &Results) -> Vec<(&'static str, String)> {
    let all = [
        throughput(&r.throughput),
        latency(&r.latency),
        latency_repeats(&r.latency),
        loss(&r.loss),
        back_to_back(&r.back_to_back),
        burst(&r.burst),
        recovery(&r.recovery),
        reset(&r.reset),
    ];
    let with_rows = all.into_iter().filter(|table| !table.rows.is_empty());
    with_rows.map(|table| (table.name, format!("{}\n{}\n", table.head, table.rows.join("\n")))).collect()
}

/// The file of a test.
struct Table {
    name: &'static str,
    head: &'static str,
    rows: Vec<String>,
}

impl Table {
    fn of(test: Test, head: &'static str, rows: impl Iterator<Item = String>) -> Self {
        Self { name: test.name(), head, rows: rows.collect() }
    }
}

fn size(size: &Mix) -> String {
    quoted(&size.to_string())
}

fn throughput(results: &[Throughput]) -> Table {
    let head = "size,load_percent,fps,line_fps,layer1_bps,layer2_bps,limited_by_tester,device_fps";
    let rows = results.iter().map(|t| {
        let load = t.load.map_or(0.0, Load::as_percent);
        let alone = t.device_fps.map_or(String::new(), |fps| fps.to_string());
        format!(
            "{},{load},{},{},{},{},{},{alone}",
            size(&t.size),
            t.fps,
            t.line_fps,
            t.layer1_bps,
            t.layer2_bps,
            t.limited
        )
    });
    Table::of(Test::Throughput, head, rows)
}

fn latency(results: &[Latency]) -> Table {
    let head = "size,percent_of_throughput,frames,min_ns,mean_ns,p50_ns,p90_ns,p99_ns,p99_9_ns,p99_99_ns,max_ns,variation_ns,jitter_ns,limited_by_tester";
    let rows = results.iter().flat_map(|l| l.loads.iter().map(move |at| (l, at))).map(|(l, at)| {
        let (s, a) = (size(&l.size), &at.all);
        let percentiles = format!("{},{},{},{},{}", a.p50_ns, a.p90_ns, a.p99_ns, a.p99_9_ns, a.p99_99_ns);
        let share = at.share.as_percent();
        format!(
            "{s},{share},{},{},{},{percentiles},{},{},{},{}",
            a.count, a.min_ns, a.mean_ns, a.max_ns, at.variation_ns, at.jitter_ns, at.limited
        )
    });
    Table::of(Test::Latency, head, rows)
}

fn latency_repeats(results: &[Latency]) -> Table {
    let head = "size,repeats,mean_ns,mean_from_last_bit_ns,p50_median_ns,p50_low_ns,p50_high_ns,p99_9_median_ns,p99_9_low_ns,p99_9_high_ns";
    let rows = results.iter().map(|l| {
        let of_repeats: Vec<String> = l.typical_ns.iter().chain(&l.worst_ns).map(u64::to_string).collect();
        let stored = l.stored_mean_ns.map_or(String::new(), |ns| ns.to_string());
        format!("{},{},{},{stored},{}", size(&l.size), l.repeated, l.mean_ns, of_repeats.join(","))
    });
    Table { name: "latency-repeats", head, rows: rows.collect() }
}

fn loss(results: &[Loss]) -> Table {
    let head = "size,load_percent,sent,lost,loss_percent,offered_fps,forwarded_fps,limited_by_tester";
    let rows = results.iter().flat_map(|l| l.loads.iter().map(move |at| (l, at))).map(|(l, at)| {
        format!(
            "{},{},{},{},{},{},{},{}",
            size(&l.size),
            at.load.as_percent(),
            at.tx,
            at.lost,
            at.percent,
            at.offered_fps,
            at.forwarded_fps,
            at.limited
        )
    });
    Table::of(Test::Loss, head, rows)
}

fn back_to_back(results: &[BackToBack]) -> Table {
    let head =
        "size,mean_frames,min,max,deviation,repeats,step,implied_buffer_s,corrected_buffer_s,not_applicable";
    let rows = results.iter().map(|b| {
        let (f, why) = (b.frames, quoted(b.not_applicable.as_deref().unwrap_or_default()));
        let buffers = format!("{},{}", b.implied_buffer_s, b.corrected_buffer_s);
        format!(
            "{},{},{},{},{},{},{},{buffers},{why}",
            size(&b.size),
            f.mean,
            f.min,
            f.max,
            f.deviation,
            b.repeats,
            b.step
        )
    });
    Table::of(Test::BackToBack, head, rows)
}

fn burst(results: &[Burst]) -> Table {
    let rows = results.iter().map(|b| {
        format!("{},{},{},{},{},{}", size(&b.size), seconds(b.length_ps), b.scheduled, b.tx, b.rx, b.lost)
    });
    Table::of(Test::Burst, "size,seconds,frames,sent,received,lost", rows)
}

fn recovery(results: &[Recovery]) -> Table {
    let rows = results.iter().flat_map(|r| r.values_s.iter().map(move |v| (r, v))).map(|(r, v)| {
        let (overload, relief) = (r.overload.as_percent(), r.relief.as_percent());
        format!("{},{overload},{relief},{v},{}", size(&r.size), r.resolution_s)
    });
    Table::of(Test::Recovery, "size,overload_percent,relief_percent,seconds,resolution_s", rows)
}

fn reset(results: &[Reset]) -> Table {
    let rows = results.iter().map(|r| {
        let (size, kind) = (size(&r.size), quoted(&r.kind));
        format!("{size},{kind},{},{},{},{}", r.by_time_s, r.by_loss_s, r.lost, r.resolution_s)
    });
    Table::of(Test::Reset, "size,reset,by_time_s,by_loss_s,lost,resolution_s", rows)
}

fn self_test(found: &SelfTest) -> String {
    let mut out = String::from(
        "size,sent_fps,received_fps,latency_fps,min_ns,mean_ns,p50_ns,p90_ns,p99_ns,p99_9_ns,max_ns,throughput_share,near_limit\n",
    );
    for at in &found.sizes {
        let (l, share) = (&at.latency, at.throughput_share.map_or(String::new(), |share| share.to_string()));
        // Writing to a String can't fail.
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{},{share},{}",
            quoted(&at.size.to_string()),
            at.sent_fps,
            at.received_fps,
            at.latency_fps,
            l.min_ns,
            l.mean_ns,
            l.p50_ns,
            l.p90_ns,
            l.p99_ns,
            l.p99_9_ns,
            l.max_ns,
            at.near_limit
        );
    }
    out
}

fn trials(report: &Report) -> String {
    let mut out = String::from(
        "number,test,size,load_percent,attempt,intended_fps,offered_fps,forwarded_fps,tx,rx,lost,duplicated,reordered,late,stragglers,corrupted,\
         misdirected,foreign,seconds,verdict,faults,variant\n",
    );
    for record in &report.trials {
        let (t, load) =
            (&record.trial, record.load.map_or(String::new(), |load| load.as_percent().to_string()));
        let (r, faults) =
            (t.received, t.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
        // Writing to a String can't fail.
        let _ = writeln!(
            out,
            "{},{},{},{load},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            record.number,
            record.test,
            quoted(&record.size.to_string()),
            record.attempt,
            t.intended_fps,
            t.offered_fps,
            t.forwarded_fps,
            t.tx,
            t.rx,
            t.lost,
            r.duplicated,
            r.reordered,
            r.late,
            r.stragglers,
            r.corrupted,
            r.misdirected,
            r.foreign,
            seconds(t.length_ps),
            t.verdict(0),
            quoted(&faults),
            record.order.variant.name(),
        );
    }
    out
}

/// A field, in quotes if it needs them (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rfc2544::report::tests::report;

    #[test]
    fn rows_are_as_wide_as_their_heads() {
        let mut report = report("1M");
        report.self_test = Some(super::super::tests::self_test(&report.results));
        let files = files(&report);
        let names: Vec<_> = files.iter().map(|f| f.0.as_str()).collect();
        assert_eq!(
            names,
            [
                "throughput",
                "latency",
                "latency-repeats",
                "loss",
                "back-to-back",
                "burst",
                "recovery",
                "reset",
                "self-test",
                "trials"
            ]
        );
        for (name, text) in &files {
            let widths: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
            assert!(widths.len() > 1 && widths.iter().all(|w| *w == widths[0]), "{name}: {text}");
        }
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
