//! The report as a page: the rate by threads and by bursts, with the caches of the engine and without, and all tables.

use std::collections::BTreeSet;

use ringway_tester::report::page::{escape, head, origin, section, whole};
use ringway_tester::report::plot::{Chart, Mark, Series};
use ringway_tester::report::scale::{Tick, log_ticks, ticks};

use super::forward::{self, NULL};
use crate::suite::report::{Missing, Report, Row};
use crate::suite::table::number;

const TITLE: &str = "Ringway engine";

/// 64-byte frames on a line of 10 Gbit/s, in millions a second.
const LINE_RATE: f64 = 14.88;

const HEADS: [&str; 7] = ["system", "case", "burst", "median", "min", "max", "unit"];

/// The whole page. `command` is what made it.
pub fn html(report: &Report, command: &str) -> String {
    let of = |case: &str| report.rows.iter().filter(|row| row.case == case).collect::<Vec<_>>();
    let labels = ["Medians of runs in which the systems took turns, with the least and the most".to_owned()];
    let mut out = head(TITLE, "ringway bench engine", &labels)
        + &origin(&report.conditions, command, true)
        + "</header>\n";
    let forward = of("forward");
    out += &section(
        "Ports",
        &(by_threads(&forward) + &by_bursts(&forward)),
        &HEADS,
        &cells(&forward),
        &notes(&forward),
    );
    for (case, title) in [("queue", "Queues between threads"), ("pool", "Pools of buffers")] {
        let rows = of(case);
        out += &section(title, &of_variants(&rows), &HEADS, &cells(&rows), &notes(&rows));
    }
    let fault = of("fault");
    out += &section("Threads that go wrong", "", &HEADS, &cells(&fault), &notes(&fault));
    whole(TITLE, &(out + &gaps(&report.missing)))
}

/// Frames a second over ports that cost nothing, by the threads of the program.
fn by_threads(forward: &[&Row]) -> String {
    let rows: Vec<&Row> = forward
        .iter()
        .copied()
        .filter(|row| row.variant.starts_with(NULL) && row.burst == forward::BURST)
        .collect();
    over_null("by threads of the program", &rows, |row| row.variant.trim_start_matches(NULL).to_owned())
}

/// The same for one thread, by the frames that are taken of a ring at once.
fn by_bursts(forward: &[&Row]) -> String {
    let first = forward.iter().find(|row| row.variant.starts_with(NULL)).map(|row| row.variant.clone());
    let rows: Vec<&Row> =
        forward.iter().copied().filter(|row| Some(&row.variant) == first.as_ref()).collect();
    over_null("by burst, one thread", &rows, |row| row.burst.to_string())
}

fn over_null(by: &str, rows: &[&Row], x: impl Fn(&Row) -> String) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let (x_ticks, mut series) = lines(rows, &x, |v| v);
    let most = rows.iter().map(|row| row.median).fold(LINE_RATE, f64::max);
    series.push(Series::line("10 Gbit/s", vec![(0.0, LINE_RATE)]).marked(Mark::Theory));
    let label = format!("Received and sent again over null:, Mpps {by}");
    Chart { label, x_ticks, y_ticks: ticks(most, number), series }.figure()
}

/// A chart for each variant: the rate by burst. Both axes are logarithmic, for some systems come to a stop.
fn of_variants(rows: &[&Row]) -> String {
    rows.chunk_by(|a, b| a.variant == b.variant).map(of_variant).collect()
}

fn of_variant(rows: &[&Row]) -> String {
    let lowest = 1e-3; // what comes to a stop stands at the bottom
    let rates = || rows.iter().map(|row| row.median.max(lowest));
    let (low, high) = (rates().fold(f64::MAX, f64::min), rates().fold(lowest, f64::max));
    let (x_ticks, series) = lines(rows, |row| row.burst.to_string(), |v| v.max(lowest).log10());
    let label = format!("Millions a second by burst: {}", rows.first().map_or("", |row| &row.variant));
    Chart { label, x_ticks, y_ticks: log_ticks(low, high, number), series }.figure()
}

/// A line for each system, over places at even distances.
fn lines(rows: &[&Row], x: impl Fn(&Row) -> String, y: impl Fn(f64) -> f64) -> (Vec<Tick>, Vec<Series>) {
    let places = distinct(rows.iter().map(|row| x(row)));
    let systems = distinct(rows.iter().map(|row| row.system.clone()));
    let place = |row: &Row| places.iter().position(|p| *p == x(row)).unwrap_or_default() as f64;
    let line = |system: String| {
        let points =
            rows.iter().filter(|row| row.system == system).map(|row| (place(row), y(row.median))).collect();
        Series::line(system, points)
    };
    let series = systems.into_iter().map(line).collect();
    (places.into_iter().enumerate().map(|(at, name)| (at as f64, name)).collect(), series)
}

fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(name.clone())).collect()
}

fn cells(rows: &[&Row]) -> Vec<Vec<String>> {
    let cells = |row: &&Row| {
        let [median, min, max] = [row.median, row.min, row.max].map(number);
        vec![
            row.system.clone(),
            row.variant.clone(),
            row.burst.to_string(),
            median,
            min,
            max,
            row.unit.to_string(),
        ]
    };
    rows.iter().map(cells).collect()
}

/// What a reader of the numbers must know, once.
fn notes(rows: &[&Row]) -> String {
    let notes = distinct(rows.iter().map(|row| row.note.clone()));
    notes.iter().map(|note| format!("<p class=\"note\">{}.</p>\n", escape(note))).collect()
}

fn gaps(missing: &[Missing]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    let item = |m: &Missing| {
        let what = format!("{} ({}, {}, burst {}): {}", m.system, m.case, m.variant, m.burst, m.reason);
        format!("<li>{}</li>\n", escape(&what))
    };
    format!(
        "<section>\n<h2>Left out</h2>\n<ul>\n{}</ul>\n</section>\n",
        missing.iter().map(item).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Case, Fault, Options, Sample, Unit, run};
    use ringway_lab::Conditions;
    use ringway_tester::report::check::faults;

    fn report() -> Report {
        let case = |name, variant, burst, note, rates: [f64; 2]| {
            Case::new(name, Unit::Mpps)
                .variant(variant)
                .burst(burst)
                .note(note)
                .system("ringway-engine", move || Ok(Sample::of(rates[0])))
                .system("a<b", move || Ok(Sample::of(rates[1])))
                .system("absent", || Err(Fault::Unavailable("no <x>".into())))
        };
        let cases = vec![
            case("forward", "null:, 1 thread", 1, "n & m", [2.0, 1.0]),
            case("forward", "null:, 1 thread", 256, "n & m", [20.0, 5.0]),
            case("forward", "null:, 2 threads", 256, "n & m", [18.0, 4.0]),
            case("forward", "pipe, 1 thread", 256, "n & m", [3.0, 2.0]),
            case("queue", "4:4", 32, "q", [200.0, 0.0]),
            case("fault", "", 256, "f", [7.0, 7.0]),
        ];
        run("engine", cases, &Options::default(), Conditions::default(), |_| ())
    }

    #[test]
    fn the_page_is_whole_and_asks_nobody() {
        let page = html(&report(), "ringway bench engine --page x.html");
        assert_eq!(faults(&page), Vec::<String>::new());
        assert_eq!(page.matches("<svg ").count(), 3, "by threads, by bursts, a queue");
        assert_eq!(page.matches("n &amp; m.").count(), 1);
        for part in [
            "no &lt;x&gt;",
            "10 Gbit/s",
            "Mpps by threads",
            "Mpps by burst",
            "Millions a second by burst: 4:4",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn figures_have_the_rates_that_they_name() {
        let report = report();
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.case == "forward").collect();
        let (threads, bursts) = (by_threads(&rows), by_bursts(&rows));
        for (figure, places) in [(threads, ["1 thread", "2 threads"]), (bursts, [">1<", ">256<"])] {
            assert!(places.iter().all(|place| figure.contains(place)), "{figure}");
            // Two systems, each with a dot for each of two places.
            assert_eq!(figure.matches("<circle").count(), 4, "{figure}");
        }
        assert_eq!(by_threads(&[]) + &by_bursts(&[]), "");
    }
}
