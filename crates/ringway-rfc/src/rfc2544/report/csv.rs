//! One CSV file for each test.

use super::Report;
use crate::benchmark::table::{CsvTable, faults, percent, quoted};
use crate::rfc2544::measure::{BackToBack, Burst, Latency, Loss, Recovery, Reset, Results, Throughput};
use crate::rfc2544::record::Record;
use crate::rfc2544::selftest::SelfTest;
use crate::rfc2544::settings::Test;
use ringway_tester::trial::ledger::seconds;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::Load;

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
    let more = report.self_test.as_ref().map(self_test).into_iter().chain([trials(report)]);
    files.extend(more.map(CsvTable::file).map(|(name, text)| (name.into(), text)));
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
    all.into_iter().filter(|table| !table.is_empty()).map(CsvTable::file).collect()
}

fn size(size: &Mix) -> String {
    quoted(&size.to_string())
}

fn throughput(results: &[Throughput]) -> CsvTable {
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
    CsvTable::of(Test::Throughput.name(), head, rows)
}

fn latency(results: &[Latency]) -> CsvTable {
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
    CsvTable::of(Test::Latency.name(), head, rows)
}

fn latency_repeats(results: &[Latency]) -> CsvTable {
    let head = "size,repeats,mean_ns,mean_from_last_bit_ns,p50_median_ns,p50_low_ns,p50_high_ns,p99_9_median_ns,p99_9_low_ns,p99_9_high_ns";
    let rows = results.iter().map(|l| {
        let of_repeats: Vec<String> = l.typical_ns.iter().chain(&l.worst_ns).map(u64::to_string).collect();
        let stored = l.stored_mean_ns.map_or(String::new(), |ns| ns.to_string());
        format!("{},{},{},{stored},{}", size(&l.size), l.repeated, l.mean_ns, of_repeats.join(","))
    });
    CsvTable::of("latency-repeats", head, rows)
}

fn loss(results: &[Loss]) -> CsvTable {
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
    CsvTable::of(Test::Loss.name(), head, rows)
}

fn back_to_back(results: &[BackToBack]) -> CsvTable {
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
    CsvTable::of(Test::BackToBack.name(), head, rows)
}

fn burst(results: &[Burst]) -> CsvTable {
    let rows = results.iter().map(|b| {
        format!("{},{},{},{},{},{}", size(&b.size), seconds(b.length_ps), b.scheduled, b.tx, b.rx, b.lost)
    });
    CsvTable::of(Test::Burst.name(), "size,seconds,frames,sent,received,lost", rows)
}

fn recovery(results: &[Recovery]) -> CsvTable {
    let rows = results.iter().flat_map(|r| r.values_s.iter().map(move |v| (r, v))).map(|(r, v)| {
        let (overload, relief) = (r.overload.as_percent(), r.relief.as_percent());
        format!("{},{overload},{relief},{v},{}", size(&r.size), r.resolution_s)
    });
    CsvTable::of(Test::Recovery.name(), "size,overload_percent,relief_percent,seconds,resolution_s", rows)
}

fn reset(results: &[Reset]) -> CsvTable {
    let rows = results.iter().map(|r| {
        let (size, kind) = (size(&r.size), quoted(&r.kind));
        format!("{size},{kind},{},{},{},{}", r.by_time_s, r.by_loss_s, r.lost, r.resolution_s)
    });
    CsvTable::of(Test::Reset.name(), "size,reset,by_time_s,by_loss_s,lost,resolution_s", rows)
}

fn self_test(found: &SelfTest) -> CsvTable {
    let head = "size,sent_fps,received_fps,latency_fps,min_ns,mean_ns,p50_ns,p90_ns,p99_ns,p99_9_ns,max_ns,throughput_share,near_limit";
    let rows = found.sizes.iter().map(|at| {
        let (l, share) = (&at.latency, at.throughput_share.map_or(String::new(), |share| share.to_string()));
        let rates = format!("{},{},{}", at.sent_fps, at.received_fps, at.latency_fps);
        let percentiles = format!("{},{},{},{}", l.p50_ns, l.p90_ns, l.p99_ns, l.p99_9_ns);
        let latency = format!("{},{},{percentiles},{}", l.min_ns, l.mean_ns, l.max_ns);
        format!("{},{rates},{latency},{share},{}", size(&at.size), at.near_limit)
    });
    CsvTable::of("self-test", head, rows)
}

fn trials(report: &Report) -> CsvTable {
    let head = "number,test,size,load_percent,attempt,intended_fps,offered_fps,forwarded_fps,tx,rx,lost,duplicated,reordered,late,\
                stragglers,corrupted,misdirected,foreign,seconds,verdict,faults,variant";
    CsvTable::of("trials", head, report.trials.iter().map(trial))
}

fn trial(record: &Record) -> String {
    let (t, r) = (&record.trial, record.trial.received);
    let (size, load, faults) = (size(&record.size), percent(record.load), faults(&t.faults));
    let rates = format!("{},{},{}", t.intended_fps, t.offered_fps, t.forwarded_fps);
    let counts = [t.tx, t.rx, t.lost, r.duplicated, r.reordered, r.late, r.stragglers, r.corrupted];
    let counts = counts.into_iter().chain([r.misdirected, r.foreign]).map(|n| n.to_string());
    let counts = counts.collect::<Vec<_>>().join(",");
    let (number, test, attempt, variant) =
        (record.number, record.test, record.attempt, record.order.variant.name());
    let (length, verdict) = (seconds(t.length_ps), t.verdict(0));
    format!("{number},{test},{size},{load},{attempt},{rates},{counts},{length},{verdict},{faults},{variant}")
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
    }
}
