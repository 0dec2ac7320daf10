//! The report as a page of its own: no script, no font, no request to anywhere.

use super::{Report, charts, rows, text};
use crate::benchmark::report::TimeKind;
use crate::benchmark::table::Section;
use crate::rfc2544::measure::Results;
use crate::rfc2544::record::Record;
use crate::rfc2544::selftest::NEAR;
use crate::rfc2544::settings::Test;
use ringway_tester::report::page::{escape, folded, section, table, whole};
use ringway_tester::report::plot::{Chart, Mark, Series};
use ringway_tester::report::scale::{percents, short, short_ns, ticks};
use ringway_tester::report::text::{grouped, short_time};
use ringway_tester::trial::pauses::Pauses;
use ringway_tester::trial::result::Verdict;

/// The whole page.
#[must_use]
pub fn html(report: &Report) -> String {
    let mut out = report.origin.header(&report.title(), &report.labels());
    let plain = Run { heading: None, results: &report.results };
    let varied = report.varied.iter().map(|v| Run { heading: Some(text::heading(v)), results: &v.results });
    std::iter::once(plain).chain(varied).for_each(|run| out += &run.sections(report));
    let parts =
        [self_test(report), missing(report), trace(report), pauses(report), trials(report), footer(report)];
    out += &parts.concat();
    whole(&report.title(), &out)
}

/// The results of a run, with what it differs in from the plain one.
struct Run<'a> {
    heading: Option<String>,
    results: &'a Results,
}

impl Run<'_> {
    fn sections(&self, report: &Report) -> String {
        let r = self.results;
        let name = |test: &str| match &self.heading {
            Some(heading) => format!("{test}: {heading}"),
            None => test.to_owned(),
        };
        // The graph of the plain run has the throughputs of all.
        let graph = if self.heading.is_none() { charts::throughput(report) } else { String::new() };
        let parts = [
            Section::of(name("Throughput"), rows::THROUGHPUT, &r.throughput, rows::throughput).html(&graph),
            Section::of(name("The device alone"), rows::ALONE, &r.throughput, rows::alone).html(""),
            latencies(&name("Latency"), r),
            Section::of(name("Latency over repeats"), rows::REPEATS, &r.latency, rows::repeats).html(""),
            Section::of(name("Frame loss"), rows::LOSS, &r.loss, rows::loss).html(&charts::loss(r)),
            Section::of(name("Back-to-back"), rows::BACK_TO_BACK, &r.back_to_back, rows::back_to_back)
                .html(&charts::back_to_back(r)),
            Section::of(name("Bursts"), rows::BURST, &r.burst, rows::burst).html(""),
            Section::of(name("System recovery"), rows::RECOVERY, &r.recovery, rows::recovery).html(""),
            Section::of(name("Reset"), rows::RESET, &r.reset, rows::reset).html(""),
        ];
        parts.concat()
    }
}

/// The chart, the table at the throughput, and the loads below it behind a line.
fn latencies(title: &str, results: &Results) -> String {
    let all: Vec<_> = results.latency.iter().map(rows::latency).collect();
    let last: Vec<_> = all.iter().filter_map(|rows| rows.last().cloned()).collect();
    let count: usize = all.iter().map(Vec::len).sum();
    let more = match count > all.len() {
        true => folded(&format!("All {count} loads"), &table(rows::LATENCY, &all.concat())),
        false => String::new(),
    };
    section(title, &charts::latency(results), rows::LATENCY, &last, &more)
}

fn missing(report: &Report) -> String {
    let gaps = report.runs().flat_map(|(variant, r)| {
        let of = if variant.is_plain() { String::new() } else { format!(", {variant}") };
        r.missing.iter().map(move |m| format!("{}, size {}{of}: {}", m.test, m.size, m.reason))
    });
    report.caveats.section(gaps)
}

/// Loads in the order in which the search of each size tried them.
fn trace(report: &Report) -> String {
    let trials: Vec<_> = report.trials.iter().filter(|r| r.test == Test::Throughput).collect();
    if trials.is_empty() {
        return String::new();
    }
    let dots = |verdict: Verdict| {
        let of = trials.iter().enumerate().filter(move |(_, r)| {
            r.trial.verdict(report.settings.trials.search.goals.first().map_or(0, |g| g.loss_ppm)) == verdict
        });
        let points = of.filter_map(|(k, r)| Some((k as f64, r.load?.as_percent()))).collect();
        Series::line(verdict.to_string(), points).marked(Mark::Dots)
    };
    let chart = Chart {
        label: "Search: load of each trial".into(),
        x_ticks: ticks((trials.len() as f64 - 1.0).max(5.0), short),
        y_ticks: percents(),
        series: [Verdict::Pass, Verdict::Invalid, Verdict::Fail].map(dots).into(),
    };
    format!("<section>\n<h2>Search</h2>\n{}</section>\n", chart.figure())
}

/// The tester with no device between, and how near the device comes to it.
fn self_test(report: &Report) -> String {
    let Some(found) = &report.self_test else { return String::new() };
    let ports: Vec<_> = found.ports.iter().map(|(name, _)| name.as_str()).collect();
    format!(
        "<section>\n<h2>Self-test</h2>\n<p>The tester with no device between: {}. A size is flooded, the sender never waiting; latency is that of a \
         slow stream. Results above {:.0} % of what was received then are marked.</p>\n{}</section>\n",
        escape(&ports.join(" to ")),
        100.0 * NEAR,
        table(rows::SELF_TEST, &found.sizes.iter().flat_map(rows::self_test).collect::<Vec<_>>())
    )
}

/// How long the tester's own loops stood still, over all trials and in the self-test.
fn pauses(report: &Report) -> String {
    let (mut tx, mut rx) = (Pauses::default(), Pauses::default());
    for record in &report.trials {
        tx.merge(&record.trial.tx_pauses);
        rx.merge(&record.trial.rx_pauses);
    }
    if report.origin.time != TimeKind::Real {
        return String::new();
    }
    let mut columns = vec![("senders", &tx), ("receivers", &rx)];
    if let Some(found) = &report.self_test {
        columns
            .extend([("senders, self-test", &found.tx_pauses), ("receivers, self-test", &found.rx_pauses)]);
    }
    let invalid = report.trials.iter().filter(|r| !r.trial.faults.is_empty()).count();
    format!(
        "<section>\n<h2>Pauses of the tester</h2>\n<p>{invalid} of {} trials were invalid. Gaps between two turns of a loop, at \
         least so long and less than twice:</p>\n{}</section>\n",
        report.trials.len(),
        histogram(&columns)
    )
}

/// Pauses by length as graph and table, a line and a column for each kind of loop.
fn histogram(columns: &[(&str, &Pauses)]) -> String {
    let len = columns.iter().map(|c| c.1.by_power_of_two_us.len()).max().unwrap_or(0);
    let gap_ns = |k: usize| 1000.0 * 2f64.powi(k as i32);
    let count = |of: &Pauses, k: usize| of.by_power_of_two_us.get(k).copied().unwrap_or(0);
    let heads: Vec<&str> = std::iter::once("gap").chain(columns.iter().map(|c| c.0)).collect();
    let row = |k| {
        std::iter::once(short_time(gap_ns(k))).chain(columns.iter().map(|c| grouped(count(c.1, k)))).collect()
    };
    let table = table(&heads, &(0..len).map(row).collect::<Vec<_>>());
    if len == 0 {
        return table;
    }
    let log = |n: u64| if n == 0 { 0.0 } else { (n as f64).log10() + 1.0 };
    let line = |of: &Pauses| (0..len).map(|k| (k as f64, log(count(of, k)))).collect();
    let series: Vec<Series> = columns.iter().map(|c| Series::line(c.0, line(c.1))).collect();
    let most = series.iter().flat_map(|s| &s.points).map(|p| p.1).fold(2.0, f64::max);
    let powers = (0..most.ceil() as i32).map(|p| (f64::from(p) + 1.0, short(10f64.powi(p))));
    let chart = Chart {
        label: "Gaps between two turns of the tester's loops, by their length".into(),
        x_ticks: (0..=len).step_by(4).map(|k| (k as f64, short_ns(gap_ns(k)))).collect(),
        y_ticks: std::iter::once((0.0, "none".to_owned())).chain(powers).collect(),
        series,
    };
    chart.figure() + &table
}

/// All trials, with what was asked, sent and forwarded.
fn trials(report: &Report) -> String {
    let heads = [
        "trial",
        "test",
        "size",
        "load %",
        "intended/s",
        "offered/s",
        "forwarded/s",
        "lost",
        "verdict",
        "run",
    ];
    let row = |r: &Record| {
        let t = &r.trial;
        let fault = t.faults.first().map(|fault| format!(": {fault}")).unwrap_or_default();
        vec![
            r.number.to_string(),
            r.test.to_string(),
            r.size.to_string(),
            r.load.map_or("-".into(), |load| format!("{:.4}", load.as_percent())),
            format!("{:.0}", t.intended_fps),
            format!("{:.0}", t.offered_fps),
            format!("{:.0}", t.forwarded_fps),
            grouped(t.lost),
            format!("{}{fault}", t.verdict(0)),
            r.order.variant.to_string(),
        ]
    };
    let rows: Vec<_> = report.trials.iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let count = rows.len();
    let table = folded(&format!("All {count}"), &table(&heads, &rows));
    format!("<section>\n<h2>Trials</h2>\n{table}</section>\n")
}

fn footer(report: &Report) -> String {
    let s = &report.settings;
    s.trials.footer("", "", s.seed, &report.origin.version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rfc2544::report::tests::report;
    use ringway_tester::report::check::faults;

    #[test]
    fn the_self_test_and_its_pauses_are_shown() {
        let mut report = report("1M");
        report.origin.time = TimeKind::Real;
        assert!(!html(&report).contains("self-test"));
        report.self_test = Some(super::super::tests::self_test(&report.results));
        let page = html(&report);
        for part in ["<h2>Self-test</h2>", "91 %!", "between: ebpf:t0.", "receivers, self-test", "2.048 ms"] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn the_page_is_whole_and_asks_nobody() {
        let page = html(&report("1M"));
        assert_eq!(faults(&page), Vec::<String>::new());
        assert!(!page.contains("a & b"));
        for plot in [
            "Frames per second by frame size",
            "Latency that a share",
            "Loss by load",
            "Longest burst",
            "load of each trial",
        ] {
            assert!(page.contains(plot), "{plot}");
        }
    }

    #[test]
    fn machine_date_and_command_stand_at_the_top() {
        let mut report = report("1M");
        report.origin.conditions.kernel = "6.1".into();
        report.origin.conditions.date = "2026-03-01T12:00:05Z".into();
        let page = html(&report);
        let (header, rest) = page.split_once("</header>").unwrap();
        for part in
            ["Linux 6.1", "2026-03-01 12:00:05 UTC", "<span>rfc2544</span> <span>&lt;x&gt;</span></code>"]
        {
            assert!(header.contains(part) && !rest.contains(part), "{part}");
        }
    }

    #[test]
    fn theory_lies_behind_the_measurement() {
        let page = html(&report("1M"));
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
        assert!(at("<g class=\"theory\"><title>theoretical") < at("<g class=\"s0\"><title>measured"));
    }

    #[test]
    fn the_axis_of_latency_has_ticks_near_its_lines() {
        let page = html(&report("1M"));
        let (_, rest) = page.split_once("aria-label=\"Latency that a share").unwrap();
        let (chart, _) = rest.split_once("</svg>").unwrap();
        let ticks = chart.matches("text-anchor=\"end\"").count();
        assert!((4..=10).contains(&ticks), "{chart}");
    }

    #[test]
    fn latency_below_the_throughput_is_folded() {
        let page = html(&report("1M"));
        let (_, rest) = page.split_once("<h2>Latency</h2>").unwrap();
        let (shown, rest) = rest.split_once("<details>\n<summary>All 8 loads</summary>").unwrap();
        let (folded, _) = rest.split_once("</details>").unwrap();
        assert_eq!([shown, folded].map(|part| part.matches("<tr>").count()), [3, 9]);
    }

    #[test]
    fn bursts_have_a_bar_for_each_size_and_none_where_they_do_not_apply() {
        let mut report = report("1M");
        let bars = |report: &Report| charts::back_to_back(&report.results).matches("<rect ").count();
        let words = |report: &Report| charts::back_to_back(&report.results).matches("\"middle\"").count();
        report.results.back_to_back.iter_mut().for_each(|b| b.not_applicable = None);
        assert_eq!((bars(&report), words(&report)), (2, 2));
        report.results.back_to_back[1].not_applicable = Some("line rate".into());
        assert_eq!((bars(&report), words(&report)), (1, 2));
        report.results.back_to_back[0].not_applicable = Some("line rate".into());
        assert_eq!(charts::back_to_back(&report.results), "");
    }
}
