//! The report as a page of its own: no script, no font, no request to anywhere.

use std::fmt::Write;

use super::{Report, text};
use crate::demo::page::escape;
use crate::rfc2544::ledger::seconds;
use crate::rfc2544::rate::Load;
use crate::rfc2544::report::page::{STYLE, part};
use crate::rfc2544::report::plot::{Chart, Series, ticks};
use crate::rfc2544::report::text::grouped;
use crate::rfc2889::measure::Forwarding;

/// The whole page.
#[must_use]
pub fn html(report: &Report) -> String {
    let [base, more] = STYLE;
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{0}</title>\n<style>\n{base}{more}</style>\n</head>\n<body>\n<main>\n<header>\n<h1>{0}</h1>\n\
         <p class=\"lead\"><code>{1}</code></p>\n<ul>\n",
        escape(&report.title()),
        escape(&report.device)
    );
    for label in report.labels() {
        let _ = writeln!(out, "<li>{}</li>", escape(&label));
    }
    out += "</ul>\n</header>\n";
    for (k, section) in text::sections(report).into_iter().enumerate() {
        let forwarding = k == 0 && !report.results.forwarding.is_empty();
        let plot = if forwarding { rates(report) + &loads(report) } else { String::new() };
        out += &part(&escape(section.title), plot, section.heads, section.rows);
    }
    out += &notes(report);
    out += &footer(report);
    out + "</main>\n</body>\n</html>\n"
}

fn series(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.into(), points, dots: false }
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
            y_ticks: ticks(most, |v| grouped(v as u64)),
            series: vec![
                series("throughput", points(|f| f.fps)),
                series("line", points(|f| f.line_fps)),
                series("forwarded at full load", points(|f| f.at_maximum.forwarded_fps)),
            ],
        };
        chart.svg()
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
            series(format!("{}, {}", f.size, f.pattern), below.into_iter().chain(above).collect())
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let percent = || (0..=5).map(|k| (f64::from(20 * k), format!("{} %", 20 * k))).collect::<Vec<_>>();
    let label = "Forwarded by load, both in percent of the line".into();
    Chart { label, x_ticks: percent(), y_ticks: percent(), series: lines }.svg()
}

fn notes(report: &Report) -> String {
    let missing = report.results.missing.iter().map(|m| format!("{}: {}", text::named(m), m.reason));
    let items: String = missing
        .chain(report.notes.iter().cloned())
        .map(|text| format!("<li>{}</li>\n", escape(&text)))
        .collect();
    if items.is_empty() {
        items
    } else {
        format!("<section>\n<h2>Notes</h2>\n<ul>\n{items}</ul>\n</section>\n")
    }
}

fn footer(report: &Report) -> String {
    let s = &report.settings;
    let invalid = report.trials.iter().filter(|t| !t.trial.faults.is_empty()).count();
    format!(
        "<footer>\n<p>{} trials, {invalid} of them invalid. Trials of {} s, {} s for stragglers, {} s between them. Search {}. \
         Bursts of {}. Seed {}. {}. Ringway {}, made by <code>{}</code>.</p>\n</footer>\n",
        report.trials.len(),
        seconds(s.trial_ps),
        seconds(s.wait_ps),
        seconds(s.pause_ps),
        s.search.kind,
        s.burst,
        s.seed,
        escape(&report.conditions.to_string()),
        escape(&report.version),
        escape(&report.command)
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    #[test]
    fn the_page_is_whole_and_asks_nobody() {
        let page = html(&report("switch:table=50,learn=1000,port-pps=100k"));
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        for tag in ["section", "table", "tr", "p", "ul", "main", "svg", "g", "text"] {
            let count = |text: &str| page.matches(text).count();
            let opened = count(&format!("<{tag}>")) + count(&format!("<{tag} "));
            assert_eq!(opened, count(&format!("</{tag}>")), "{tag}");
        }
        for absent in ["http:", "https:", "<script", "a & b", "NaN", "inf"] {
            assert!(!page.contains(absent), "{absent}");
        }
        for plot in ["mesh: frames per second", "Forwarded by load", "Address caching capacity"] {
            assert!(page.contains(plot), "{plot}");
        }
    }
}
