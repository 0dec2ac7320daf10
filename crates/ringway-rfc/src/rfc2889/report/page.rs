//! The report as a page of its own: no script, no font, no request to anywhere.

use super::{Report, text};
use crate::rfc2889::measure::Forwarding;
use ringway_tester::report::page::whole;
use ringway_tester::report::plot::{Chart, Mark, Series};
use ringway_tester::report::scale::{percents, short, ticks};
use ringway_tester::trial::rate::Load;

/// The whole page.
#[must_use]
pub fn html(report: &Report) -> String {
    let mut out = report.origin.header(&report.title(), &report.labels());
    for (k, section) in text::sections(report).into_iter().enumerate() {
        let forwarding = k == 0 && !report.results.forwarding.is_empty();
        let plot = if forwarding { rates(report) + &loads(report) } else { String::new() };
        out += &section.html(&plot);
    }
    out += &notes(report);
    out += &footer(report);
    whole(&report.title(), &out)
}

/// Frame size, and what the first pattern gets through of what the links carry.
fn rates(report: &Report) -> String {
    let of = |pattern| report.results.forwarding.iter().filter(move |f| f.pattern == pattern);
    let charts = report.settings.patterns.iter().map(|&pattern| {
        let points = |value: fn(&Forwarding) -> f64| {
            of(pattern).enumerate().map(|(k, f)| (k as f64, value(f))).collect::<Vec<_>>()
        };
        let most = of(pattern).map(|f| f.line_fps).fold(0.0, f64::max);
        let chart = Chart {
            label: format!("{pattern}: frames per second over all ports, by frame size"),
            x_ticks: of(pattern).enumerate().map(|(k, f)| (k as f64, f.size.to_string())).collect(),
            y_ticks: ticks(most, short),
            series: vec![
                Series::line("line rate", points(|f| f.line_fps)).marked(Mark::Theory),
                Series::line("throughput", points(|f| f.fps)),
                Series::line("forwarded at full load", points(|f| f.at_maximum.forwarded_fps))
                    .marked(Mark::Rings),
            ],
        };
        chart.figure()
    });
    charts.collect()
}

/// Forwarding rate by load, for what was overloaded.
fn loads(report: &Report) -> String {
    let overloaded = report.results.forwarding.iter().filter(|f| f.load.is_none_or(|load| load < Load::MAX));
    let lines: Vec<Series> = overloaded
        .map(|f| {
            let share = |fps: f64| 100.0 * fps / f.line_fps.max(1e-9);
            let below = f.load.map(|load| (load.as_percent(), share(f.fps)));
            let above = f.loads.iter().rev().map(|at| (at.load.as_percent(), share(at.forwarded_fps)));
            Series::line(format!("{}, {}", f.size, f.pattern), below.into_iter().chain(above).collect())
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let label = "Forwarded by load, both in percent of the line".into();
    Chart { label, x_ticks: percents(), y_ticks: percents(), series: lines }.figure()
}

fn notes(report: &Report) -> String {
    let missing = report.results.missing.iter().map(|m| format!("{}: {}", text::named(m), m.reason));
    report.caveats.section(missing)
}

fn footer(report: &Report) -> String {
    let s = &report.settings;
    let invalid = report.trials.iter().filter(|t| !t.trial.faults.is_empty()).count();
    let trials = format!("{} trials, {invalid} of them invalid. ", report.trials.len());
    s.trials.footer(&trials, &format!("Bursts of {}. ", s.burst), s.seed, &report.origin.version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rfc2889::report::tests::report;
    use ringway_tester::report::check::faults;

    #[test]
    fn the_page_is_whole_and_asks_nobody() {
        let page = html(&report("switch:table=50,learn=1000,port-pps=100k"));
        assert_eq!(faults(&page), Vec::<String>::new());
        assert!(!page.contains("a & b"));
        for plot in ["mesh: frames per second", "Forwarded by load", "Address caching capacity"] {
            assert!(page.contains(plot), "{plot}");
        }
    }

    #[test]
    fn the_origin_stands_at_the_top_and_the_line_rate_behind() {
        let mut report = report("switch:table=50,learn=1000,port-pps=100k");
        report.origin.conditions.date = "2026-03-01T12:00:05Z".into();
        let page = html(&report);
        let (header, rest) = page.split_once("</header>").unwrap();
        for part in ["Linux", "2026-03-01 12:00:05 UTC", "<code><span>x</span></code>"] {
            assert!(header.contains(part) && !rest.contains(part), "{part}");
        }
        let at = |text: &str| rest.find(text).unwrap_or_else(|| panic!("{text}"));
        assert!(at("<g class=\"theory\"><title>line rate<") < at("<title>throughput<"));
    }
}
