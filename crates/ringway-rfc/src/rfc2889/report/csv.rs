//! One CSV file for each test.

use super::Report;
use crate::benchmark::table::{CsvTable, faults, percent, quoted};
use crate::rfc2889::measure::{Broadcast, Capacity, Congestion, Errored, Forwarding, ForwardingAt, Learning};
use crate::rfc2889::session::Record;
use crate::rfc2889::settings::Test;
use ringway_tester::trial::rate::Load;

/// Files: name of the test, or `trials`, and contents. Tests without results have none.
#[must_use]
pub fn files(report: &Report) -> Vec<(&'static str, String)> {
    let r = &report.results;
    let all = [
        forwarding(&r.forwarding),
        congestion(&r.congestion),
        capacity(&r.capacity),
        learning(&r.learning),
        errored(&r.errored),
        broadcast(&r.broadcast),
        CsvTable::of("trials", TRIALS, report.trials.iter().map(trial)),
    ];
    all.into_iter().filter(|table| !table.is_empty()).map(CsvTable::file).collect()
}

fn forwarding(results: &[Forwarding]) -> CsvTable {
    let head = "size,pattern,throughput_percent,throughput_fps,line_fps,limited_by_tester,load_percent,offered_fps,forwarded_fps,lost,loss_percent,flooded";
    let rows = results.iter().flat_map(|f| {
        let load = f.load.map_or(0.0, Load::as_percent);
        let head = format!("{},{},{load},{},{},{}", f.size, f.pattern, f.fps, f.line_fps, f.limited);
        f.loads.iter().map(move |at| format!("{head},{}", loaded(at)))
    });
    CsvTable::of(Test::Forwarding.name(), head, rows)
}

fn loaded(at: &ForwardingAt) -> String {
    let (load, flooded) = (at.load.as_percent(), at.flooded);
    format!("{load},{},{},{},{},{flooded}", at.offered_fps, at.forwarded_fps, at.lost, at.percent)
}

fn congestion(results: &[Congestion]) -> CsvTable {
    let head = "size,to_free_port,lost_there,to_full_port,lost_there,intended_fps,offered_fps,held_back,head_of_line_blocking,back_pressure,not_congested";
    let rows = results.iter().map(|c| {
        let [free, full] = [&c.uncongested, &c.congested].map(|d| format!("{},{}", d.expected, d.lost));
        let found = format!("{},{},{}", c.head_of_line_blocking, c.back_pressure, c.not_congested);
        format!("{},{free},{full},{},{},{},{found}", c.size, c.intended_fps, c.offered_fps, c.held)
    });
    CsvTable::of(Test::Congestion.name(), head, rows)
}

/// A number; nothing where there is none.
fn number(n: Option<u64>) -> String {
    n.map_or(String::new(), |n| n.to_string())
}

fn capacity(results: &[Capacity]) -> CsvTable {
    let rows = results.iter().map(|c| {
        let (learned, failing) = (number(c.learned), number(c.failing));
        format!("{learned},{},{failing},{},{},{}", c.cached, c.at_least, c.step, c.learning_fps)
    });
    let head = "addresses_of_one_port,held_in_all,not_all_of,at_least,step,taught_fps";
    CsvTable::of(Test::Capacity.name(), head, rows)
}

fn learning(results: &[Learning]) -> CsvTable {
    let rows = results.iter().map(|l| {
        let (fps, failing) = (number(l.fps), number(l.failing));
        format!("{},{fps},{failing},{},{},{}", l.addresses, l.at_least, l.limited, l.step)
    });
    let head = "addresses,learned_fps,not_at_fps,at_least,limited_by_tester,step";
    CsvTable::of(Test::Learning.name(), head, rows)
}

fn errored(results: &[Errored]) -> CsvTable {
    let rows = results.iter().map(|e| {
        let why = quoted(e.impossible.as_deref().unwrap_or_default());
        format!("{},{},{},{},{},{why}", e.flaw, e.size, e.sent, e.forwarded, e.right)
    });
    CsvTable::of(Test::Errored.name(), "flaw,size,sent,forwarded,right,impossible", rows)
}

fn broadcast(results: &[Broadcast]) -> CsvTable {
    let head = "size,throughput_percent,throughput_fps,line_fps,limited_by_tester,load_percent,offered_fps,forwarded_fps,lost,loss_percent,flooded,port,min_ns,mean_ns,p50_ns,p99_ns,p99_9_ns,max_ns";
    let rows = results.iter().flat_map(|b| {
        let load = b.load.map_or(0.0, Load::as_percent);
        let head =
            format!("{},{load},{},{},{},{}", b.size, b.fps, b.line_fps, b.limited, loaded(&b.at_maximum));
        b.ports.iter().map(move |p| {
            let l = &p.latency;
            let percentiles = format!("{},{},{}", l.p50_ns, l.p99_ns, l.p99_9_ns);
            format!("{head},{},{},{},{percentiles},{}", p.port + 1, l.min_ns, l.mean_ns, l.max_ns)
        })
    });
    CsvTable::of(Test::Broadcast.name(), head, rows)
}

const TRIALS: &str = "number,test,what,size,load_percent,attempt,scheduled,tx,expected,rx,lost,flooded,offered_fps,forwarded_fps,faults";

fn trial(r: &Record) -> String {
    let t = &r.trial;
    let (load, faults) = (percent(r.load), faults(&t.faults));
    let counts = [t.scheduled, t.tx, t.expected, t.rx, t.lost, t.flooded].map(|n| n.to_string()).join(",");
    let (number, test, what, size) = (r.number, r.test, quoted(&r.what), r.order.size);
    let (offered, forwarded) = (t.offered_fps, t.forwarded_fps);
    format!("{number},{test},{what},{size},{load},{},{counts},{offered},{forwarded},{faults}", r.attempt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rfc2889::report::tests::report;

    #[test]
    fn rows_have_as_many_fields_as_heads() {
        let files = files(&report("switch:table=50,learn=1000"));
        let names: Vec<_> = files.iter().map(|f| f.0).collect();
        let tests = Test::ALL.map(Test::name);
        assert_eq!(names, [&tests[..], &["trials"]].concat());
        for (name, text) in files {
            let fields: Vec<usize> = text.lines().map(fields).collect();
            assert!(fields.len() > 1 && fields.iter().all(|n| *n == fields[0]), "{name}\n{text}");
        }
    }

    fn fields(line: &str) -> usize {
        let outside = line.split('"').step_by(2);
        1 + outside.map(|part| part.matches(',').count()).sum::<usize>()
    }
}
