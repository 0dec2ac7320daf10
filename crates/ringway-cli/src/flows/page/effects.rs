//! What attacks did to the stories.

use ringway_flows::run::attacks::{AttackReport, Effect};
use ringway_flows::run::report::Report;
use ringway_tester::report::page::{escape, table};
use ringway_tester::report::text::{grouped, short_time};
use ringway_traffic::units::scaled;

use super::over_time;

/// All attacks, and what answered them; nothing without any.
pub(super) fn section(report: &Report) -> String {
    if report.attacks.is_empty() {
        return String::new();
    }
    let attacks: String = report.attacks.iter().map(attack).collect();
    let chart = over_time::attacks(report);
    format!("<section>\n<h2>Attacks</h2>\n{chart}{attacks}{}</section>\n", answers(report))
}

fn attack(attack: &AttackReport) -> String {
    let time = |seconds: f64| short_time(seconds * 1e9);
    let recovery = match attack.recovery_seconds {
        Some(0.0) => "The stories did as well as before at once.".to_owned(),
        Some(after) => format!("The stories did as well as before {} after its end.", time(after)),
        None => "No recovery was seen.".to_owned(),
    };
    let parts = [("before", &attack.before), ("during", &attack.during), ("after", &attack.after)];
    let rows: Vec<Vec<String>> =
        parts.iter().filter_map(|(when, part)| Some(row(when, part.as_ref()?))).collect();
    let heads =
        ["stories", "time", "started", "complete", "failed", "share complete", "rate", "p50, p99 of flows"];
    format!(
        "<h3>{}</h3>\n<p>{} sent from {} to {}. {recovery}</p>\n{}",
        escape(&attack.attack),
        grouped(attack.sent),
        time(attack.from_seconds),
        time(attack.to_seconds),
        table(&heads, &rows)
    )
}

fn row(when: &str, part: &Effect) -> Vec<String> {
    let time = |us: u32| short_time(f64::from(us) * 1e3);
    let latency = |(story, of): (&String, &ringway_flows::run::report_latency::LatencyReport)| {
        format!("{story}: {}, {}", time(of.p50_us), time(of.p99_us))
    };
    vec![
        when.to_owned(),
        short_time(part.seconds * 1e9),
        grouped(part.started),
        grouped(part.complete),
        grouped(part.failed),
        format!("{:.4} %", part.completion * 100.0),
        scaled(part.flows_per_second, "flows/s"),
        part.latencies.iter().map(latency).collect::<Vec<_>>().join("; "),
    ]
}

fn answers(report: &Report) -> String {
    let row = |(kind, count): (&&str, &u64)| vec![(*kind).to_owned(), grouped(*count)];
    let rows: Vec<Vec<String>> = report.answers.iter().map(row).collect();
    let text = "What came to clients for no connection, by kind: answers to the packets of attacks.";
    if rows.is_empty() {
        return "<p>Nothing answered the packets of attacks.</p>\n".to_owned();
    }
    format!("<h3>Answers</h3>\n<p>{text}</p>\n{}", table(&["answer", "frames"], &rows))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{RUN, STORY, report};

    #[test]
    fn an_attack_has_the_stories_around_it() {
        let text = super::section(&report(&format!("{STORY}{RUN}")));
        for part in
            ["flood(target = 198.19.0.1)", "1,000 sent from 2.000 s to 3.000 s", "at once", "<td>3,000</td>"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        for when in ["before", "during", "after"] {
            assert_eq!(text.matches(&format!("<th scope=\"row\">{when}</th>")).count(), 1, "{text}");
        }
    }
}
