//! One CSV file for each test.

use super::Report;
use crate::rfc2889::measure::ForwardingAt;
use crate::rfc2889::settings::Test;

/// Files: name of the test, or `trials`, and contents. Tests without results have none.
#[must_use]
pub fn files(report: &Report) -> Vec<(&'static str, String)> {
    let r = &report.results;
    let mut files = Vec::new();
    let mut add = |name: &'static str, head: &str, rows: Vec<String>| {
        if !rows.is_empty() {
            files.push((name, format!("{head}\n{}\n", rows.join("\n"))));
        }
    };
    let rows = r.forwarding.iter().flat_map(|f| {
        let load = f.load.map_or(0.0, |load| load.as_percent());
        let head = format!("{},{},{load},{},{},{}", f.size, f.pattern, f.fps, f.line_fps, f.limited);
        f.loads.iter().map(move |at| format!("{head},{}", loaded(at)))
    });
    let head = "size,pattern,throughput_percent,throughput_fps,line_fps,limited_by_tester,load_percent,offered_fps,forwarded_fps,lost,loss_percent,flooded";
    add(Test::Forwarding.name(), head, rows.collect());
    let rows = r.congestion.iter().map(|c| {
        let [free, full] = [&c.uncongested, &c.congested].map(|d| format!("{},{}", d.expected, d.lost));
        let found = format!("{},{},{}", c.head_of_line_blocking, c.back_pressure, c.not_congested);
        format!("{},{free},{full},{},{},{},{found}", c.size, c.intended_fps, c.offered_fps, c.held)
    });
    let head = "size,to_free_port,lost_there,to_full_port,lost_there,intended_fps,offered_fps,held_back,head_of_line_blocking,back_pressure,not_congested";
    add(Test::Congestion.name(), head, rows.collect());
    let number = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
    let rows = r.capacity.iter().map(|c| {
        let (learned, failing) = (number(c.learned), number(c.failing));
        format!("{learned},{},{failing},{},{},{}", c.cached, c.at_least, c.step, c.learning_fps)
    });
    let head = "addresses_of_one_port,held_in_all,not_all_of,at_least,step,taught_fps";
    add(Test::Capacity.name(), head, rows.collect());
    let rows = r.learning.iter().map(|l| {
        let (fps, failing) = (number(l.fps), number(l.failing));
        format!("{},{fps},{failing},{},{},{}", l.addresses, l.at_least, l.limited, l.step)
    });
    add(
        Test::Learning.name(),
        "addresses,learned_fps,not_at_fps,at_least,limited_by_tester,step",
        rows.collect(),
    );
    let rows = r.errored.iter().map(|e| {
        let why = quoted(e.impossible.as_deref().unwrap_or_default());
        format!("{},{},{},{},{},{why}", e.flaw, e.size, e.sent, e.forwarded, e.right)
    });
    add(Test::Errored.name(), "flaw,size,sent,forwarded,right,impossible", rows.collect());
    let rows = r.broadcast.iter().flat_map(|b| {
        let load = b.load.map_or(0.0, |load| load.as_percent());
        let head =
            format!("{},{load},{},{},{},{}", b.size, b.fps, b.line_fps, b.limited, loaded(&b.at_maximum));
        b.ports.iter().map(move |p| {
            let l = &p.latency;
            let percentiles = format!("{},{},{}", l.p50_ns, l.p99_ns, l.p99_9_ns);
            format!("{head},{},{},{},{percentiles},{}", p.port + 1, l.min_ns, l.mean_ns, l.max_ns)
        })
    });
    let head = "size,throughput_percent,throughput_fps,line_fps,limited_by_tester,load_percent,offered_fps,forwarded_fps,lost,loss_percent,flooded,port,min_ns,mean_ns,p50_ns,p99_ns,p99_9_ns,max_ns";
    add(Test::Broadcast.name(), head, rows.collect());
    add("trials", TRIALS, report.trials.iter().map(trial).collect());
    files
}

fn loaded(at: &ForwardingAt) -> String {
    let (load, flooded) = (at.load.as_percent(), at.flooded);
    format!("{load},{},{},{},{},{flooded}", at.offered_fps, at.forwarded_fps, at.lost, at.percent)
}

const TRIALS: &str = "number,test,what,size,load_percent,attempt,scheduled,tx,expected,rx,lost,flooded,offered_fps,forwarded_fps,faults";

fn trial(r: &crate::rfc2889::session::Record) -> String {
    let t = &r.trial;
    let faults = t.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let load = r.load.map_or(String::new(), |load| load.as_percent().to_string());
    let counts = [t.scheduled, t.tx, t.expected, t.rx, t.lost, t.flooded].map(|n| n.to_string()).join(",");
    let (number, test, what, size) = (r.number, r.test, quoted(&r.what), r.order.size);
    let (offered, forwarded, faults) = (t.offered_fps, t.forwarded_fps, quoted(&faults));
    format!("{number},{test},{what},{size},{load},{},{counts},{offered},{forwarded},{faults}", r.attempt)
}

/// A text as one field.
fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
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
