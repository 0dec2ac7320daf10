//! The report of a run as a page of its own: no script, no font, no request to anywhere.
//!
//! | module | what it has |
//! | --- | --- |
//! | `over_time` | charts of rates, and of flows at the same time |
//! | `stories` | each story and attack: counts, latencies, failures |
//! | `effects` | what attacks did to the stories |

mod effects;
mod over_time;
mod stories;

use std::fs;
use std::path::Path;

use ringway_flows::run::report::Report;
use ringway_lab::Conditions;
use ringway_tester::report::page::{folded, head, origin, section, table, whole};
use ringway_tester::report::text::grouped;
use ringway_traffic::units::{bit_rate, duration, many, scaled};

use crate::errors;
use crate::failure::Failure;

/// What a page says of its run beside the report.
#[derive(Debug)]
pub(super) struct Origin {
    /// The file of stories.
    pub(super) file: String,
    /// The ports, and what serves them.
    pub(super) ports: Vec<String>,
    /// The command line.
    pub(super) command: String,
    /// The machine before the run.
    pub(super) conditions: Conditions,
}

/// Writes the page to a file, if there is one.
pub(super) fn write(path: Option<&Path>, report: &Report, origin: &Origin) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    fs::write(path, html(report, origin)).map_err(|why| {
        let what = format!("{}: the page can't be written: {why}", path.display());
        Failure::Other(
            errors::files::UNWRITABLE,
            format!("{what}; the report on standard output has the results"),
        )
    })
}

/// The whole page.
fn html(report: &Report, origin: &Origin) -> String {
    let title = format!("Application flows: {}", origin.file);
    let parts = [
        header(report, origin, &title),
        expectations(report),
        over_time::section(report),
        stories::counts(report),
        stories::latencies(report),
        stories::failures(report),
        effects::section(report),
        workers(report),
        counters(report),
    ];
    whole(&title, &parts.concat())
}

fn header(report: &Report, of: &Origin, title: &str) -> String {
    let ports = of.ports.join(", ");
    head(title, &ports, &labels(report))
        + &origin(&of.conditions, &of.command, !report.virtual_time)
        + "</header>\n"
}

/// What has to stand next to every number.
fn labels(report: &Report) -> Vec<String> {
    let time = |seconds: f64| duration((seconds * 1e9) as u64);
    let (total, rates) = (&report.total, &report.rates);
    let failed = report.expectations.iter().filter(|outcome| !outcome.holds).count() as u64;
    let verdict = match (report.expectations.len() as u64, failed) {
        (0, _) => "nothing is expected".to_owned(),
        (all, 0) => format!("{} of the file: all hold", many(all, "expectation")),
        (all, failed) => format!("{} of the file: {failed} FAIL", many(all, "expectation")),
    };
    let steady = format!(
        "steady: {}, {}, out {} at {}, in {} at {}",
        scaled(total.flows_per_second, "flows/s"),
        scaled(rates.connections, "connections/s"),
        scaled(rates.packets_out, "pps"),
        bit_rate(rates.bits_out),
        scaled(rates.packets_in, "pps"),
        bit_rate(rates.bits_in),
    );
    vec![
        format!(
            "{} started, {} complete ({:.4} %), {} failed, {} active at the end",
            grouped(total.started),
            grouped(total.complete),
            total.completion * 100.0,
            grouped(total.failed),
            grouped(total.active)
        ),
        steady,
        format!(
            "{} time, {} of which {} are steady; ended by {}; seed {}",
            if report.virtual_time { "virtual" } else { "real" },
            time(report.seconds),
            time(report.steady_seconds),
            report.ended,
            report.seed
        ),
        verdict,
    ]
}

fn expectations(report: &Report) -> String {
    let rows: Vec<Vec<String>> = report
        .expectations
        .iter()
        .map(|outcome| {
            let verdict = if outcome.holds { "holds" } else { "FAILS" };
            vec![outcome.expectation.clone(), outcome.measured.clone(), verdict.to_owned()]
        })
        .collect();
    section("Expectations", "", &["expectation", "measured", "verdict"], &rows, "")
}

/// The workers; nothing where one did it all.
fn workers(report: &Report) -> String {
    let heads = [
        "worker",
        "started",
        "complete",
        "failed",
        "active",
        "packets out",
        "packets in",
        "postponed",
        "missed",
        "passed on",
        "busy",
    ];
    let row = |(number, worker): (usize, &ringway_flows::run::report_workers::WorkerReport)| {
        let counts = [
            worker.started,
            worker.complete,
            worker.failed,
            worker.active,
            worker.packets_out,
            worker.packets_in,
            worker.postponed,
            worker.missed,
            worker.passed_on,
        ];
        let busy = format!("{:.1} %", worker.busy * 100.0);
        std::iter::once(number.to_string()).chain(counts.map(grouped)).chain([busy]).collect()
    };
    let rows: Vec<Vec<String>> = report.workers.iter().enumerate().map(row).collect();
    if rows.len() < 2 { String::new() } else { section("Workers", "", &heads, &rows, "") }
}

/// All other counters, behind a line.
fn counters(report: &Report) -> String {
    let pair = |name: &str, count: u64| vec![name.to_owned(), grouped(count)];
    let starts = [("postponed starts", report.postponed), ("missed starts", report.missed)];
    let mut rows: Vec<Vec<String>> = starts.into_iter().map(|(name, count)| pair(name, count)).collect();
    rows.extend(report.transport.iter().map(|(name, count)| pair(name, *count)));
    let refused = report.refused.iter().filter(|(_, count)| **count > 0);
    rows.extend(refused.map(|(why, count)| pair(&format!("refused: {why}"), *count)));
    rows.extend(report.checks.iter().map(|(name, count)| pair(&format!("failed check: {name}"), *count)));
    let table = table(&["counter", "value"], &rows);
    format!("<section>\n<h2>Counters</h2>\n{}</section>\n", folded("Starts, transport, frames", &table))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::convert::Infallible;

    use ringway_flows::compile::{Options as Compile, Source, compile};
    use ringway_flows::run::virtual_time::{self, Options};
    use ringway_tester::report::check::faults;

    use super::*;

    /// The report of a run of a text, in virtual time.
    pub(crate) fn report(text: &str) -> Report {
        let pools = "pool inside = 198.18.0.0/24\npool outside = 198.19.0.0/28\n";
        let text = format!("{pools}{text}");
        let source = Source { name: "a.flow", text: &text, read: &|name| Err(name.to_owned()) };
        let bundle = compile(&source, &Compile::default()).unwrap();
        virtual_time::run(bundle, &Options::default(), |_, _, _| Ok::<(), Infallible>(())).unwrap()
    }

    pub(crate) const STORY: &str = r#"
        flow ask(size = 1..9000 B) {
          tcp c = inside -> outside : 80  timeout 5 s
          c > "get " hex(rand32)
          c < random(size)
          c > close
        }
        attack flood(target) { raw tcp inside* -> target : 80  flags S  no_reply }
    "#;

    pub(crate) const RUN: &str = "
        run { ask ramp 0..500 flows/s in 1 s hold 4 s drain 1 s  flood rate 1 k pkt/s from 2 s to 3 s target 198.19.0.1 }
        expect { complete >= 100 %  p99(ask.flow) < 1 us }";

    pub(crate) fn page(text: &str) -> String {
        let origin = Origin {
            file: "a & b.flow".into(),
            ports: vec!["ebpf:<x>".into(), "ebpf:v1".into()],
            command: "ringway flows run <x>".into(),
            conditions: Conditions::default(),
        };
        html(&report(text), &origin)
    }

    #[test]
    fn the_page_is_whole_and_asks_nobody() {
        let page = page(&format!("{STORY}{RUN}"));
        assert_eq!(faults(&page), Vec::<String>::new());
        for part in [
            "Application flows: a &amp; b.flow",
            "Flows a second",
            "Flows at the same time",
            "Packets a second",
            "Bits a second",
            "Latency that a share of the flows does not exceed",
            "<h2>Attacks</h2>",
            "2 expectations of the file: 1 FAIL",
            "p99(ask.flow) &lt; 1 us",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("<h2>Workers</h2>") && !page.contains("<h2>Failures</h2>"), "none to show");
    }

    #[test]
    fn a_run_without_flows_has_a_page() {
        let page = page(
            "flow ask { udp q = inside -> outside : 53\n q > \"a\"\n q < \"b\" }
            run { ask rate 1 flows/s from 5 s to 6 s  stop time >= 1 ms }",
        );
        assert_eq!(faults(&page), Vec::<String>::new());
        assert!(page.contains("nothing is expected") && page.contains("stop: time"), "{page}");
    }
}
