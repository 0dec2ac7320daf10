//! Tables for the terminal.

use super::Report;
use super::rows::{
    ALONE, BACK_TO_BACK, BURST, LATENCY, LOSS, RECOVERY, REPEATS, RESET, SELF_TEST, THROUGHPUT, alone,
    back_to_back, burst, latency, loss, recovery, repeats, reset, self_test, throughput,
};
use crate::benchmark::table::Section;
use crate::rfc2544::measure::{Results, Varied};
use ringway_tester::report::text::{grouped, short_time};
use ringway_tester::trial::pauses::Pauses;
use ringway_tester::trial::variant::Modifier;
use ringway_traffic::units::many;

/// The whole report, for a terminal.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut out = report.origin.opening(&report.title(), &report.labels());
    out += &tables(&report.results);
    for varied in &report.varied {
        let heading = heading(varied);
        out += &format!("\n{heading}\n{}\n{}", "=".repeat(heading.chars().count()), tables(&varied.results));
    }
    if let Some(found) = &report.self_test {
        let title = "Self-test: the tester with no device between";
        out += &Section::of(title, SELF_TEST, &found.sizes, self_test).text();
        out += &format!("  senders {}\n  receivers {}\n", held(&found.tx_pauses), held(&found.rx_pauses));
    }
    out += &report.caveats.text();
    if report.trials.is_empty() {
        return out;
    }
    let invalid = report.trials.iter().filter(|t| !t.trial.faults.is_empty()).count();
    out + &format!("\n{}, {invalid} of them invalid\n", many(report.trials.len() as u64, "trial"))
}

/// A condition, and what became of its own frames.
pub(super) fn heading(varied: &Varied) -> String {
    let came = if matches!(varied.variant.modifier, Some(Modifier::Management(_))) {
        ("queries", "answered")
    } else {
        ("broadcasts", "received")
    };
    let extra = varied.extra.map(|x| {
        let (sent, received) = (grouped(x.sent), grouped(x.received));
        format!(": {sent} {}, {received} {}", came.0, came.1)
    });
    format!("{}{}", varied.variant, extra.unwrap_or_default())
}

/// All tests of a run.
fn tables(r: &Results) -> String {
    let parts = [
        Section::of("Throughput (RFC 2544, 26.1)", THROUGHPUT, &r.throughput, throughput),
        Section::of("The device alone: frames over the CPU time of its thread", ALONE, &r.throughput, alone),
        Section::of("Latency, first bit to first bit (26.2)", LATENCY, &r.latency, latency),
        Section::of(
            "Latency at the throughput, over repeats (26.2; RFC 8219, 7)",
            REPEATS,
            &r.latency,
            repeats,
        ),
        Section::of("Frame loss (26.3)", LOSS, &r.loss, loss),
        Section::of("Back-to-back (26.4, RFC 9004)", BACK_TO_BACK, &r.back_to_back, back_to_back),
        Section::of("Bursts", BURST, &r.burst, burst),
        Section::of("System recovery (26.5)", RECOVERY, &r.recovery, recovery),
        Section::of("Reset (26.6, RFC 6201)", RESET, &r.reset, reset),
    ];
    let mut out: String = parts.iter().map(Section::text).collect();
    if !r.missing.is_empty() {
        out += "\nWithout a result\n";
        r.missing.iter().for_each(|m| out += &format!("  {}, size {}: {}\n", m.test, m.size, m.reason));
    }
    out
}

/// How often and how long loops stood still.
fn held(pauses: &Pauses) -> String {
    let times: u64 = pauses.by_power_of_two_us.iter().sum();
    let longest = short_time(pauses.longest_ns as f64);
    format!("stood still {} times for more than 1 us, {longest} at most", grouped(times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rfc2544::report::tests::self_test as self_test_of;
    use crate::rfc2544::report::tests::{report, report_of};
    use ringway_tester::trial::variant::Variant;

    #[test]
    fn the_self_test_stands_beside_the_results() {
        let mut report = report("1M");
        report.self_test = Some(self_test_of(&report.results));
        let text = text(&report);
        assert!(text.contains("Self-test") && text.contains("1,100,000") && text.contains("91 %!"), "{text}");
        assert!(
            text.contains("receivers stood still 1 times for more than 1 us, 3.000 ms at most"),
            "{text}"
        );
    }

    #[test]
    fn all_sections_have_their_rows() {
        let text = text(&report("1M"));
        for part in [
            "Throughput (",
            "Latency, ",
            "Frame loss (",
            "Back-to-back (",
            "Bursts",
            "System recovery (",
            "Reset (",
            "virtual time",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(
            text.contains("29,761,905") && text.contains("not applicable: the throughput is line rate"),
            "{text}"
        );
        assert!(text.contains("Note: a & b") && text.contains("0 of them invalid"));
    }

    #[test]
    fn each_variant_has_tables_of_its_own() {
        let report = report_of("1M", vec![Variant::flows(256), Variant::flows(9)]);
        let text = text(&report);
        assert!(
            text.contains("\n256 flows\n=========\n\nThroughput") && text.contains("\n9 flows\n"),
            "{text}"
        );
        assert_eq!(text.matches("Throughput (").count(), 3);
        // A model sees no flows.
        assert_eq!(report.varied[0].results, report.results);
        assert_eq!(report.trials.len() % 3, 0);
    }

    #[test]
    fn numbers() {
        assert_eq!([0, 999, 1000, 29_761_905].map(grouped), ["0", "999", "1,000", "29,761,905"]);
        assert_eq!(
            [0.5, 1500.0, 2.5e6, 120e9].map(short_time),
            ["0.500 ns", "1.500 us", "2.500 ms", "120.0 s"]
        );
    }
}
