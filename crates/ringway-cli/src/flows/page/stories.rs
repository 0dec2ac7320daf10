//! Each story and attack: counts, latencies, failures.

use std::collections::BTreeMap;

use ringway_flows::run::report::{FlowReport, Report};
use ringway_flows::run::report_latency::LatencyReport;
use ringway_tester::report::page::section;
use ringway_tester::report::plot::{Chart, Mark, Series};
use ringway_tester::report::scale::{log_ticks, short, short_ns, ticks};
use ringway_tester::report::text::{grouped, short_time};
use ringway_traffic::units::scaled;

/// Flows that began, by story and attack.
fn began(report: &Report) -> impl Iterator<Item = &FlowReport> {
    report.flows.iter().filter(|flow| flow.client.started + flow.server.started > 0)
}

fn name(flow: &FlowReport) -> String {
    if flow.kind == "attack" { format!("{} (attack)", flow.flow) } else { flow.flow.clone() }
}

pub(super) fn counts(report: &Report) -> String {
    let row = |flow: &FlowReport| {
        let flows = &flow.flows;
        let counters: Vec<String> =
            flow.counters.iter().map(|(name, count)| format!("{name} {}", grouped(*count))).collect();
        vec![
            name(flow),
            grouped(flows.started),
            grouped(flows.complete),
            grouped(flows.failed),
            grouped(flows.active),
            format!("{:.4} %", flows.completion * 100.0),
            scaled(flows.flows_per_second, "flows/s"),
            counters.join(", "),
        ]
    };
    let rows: Vec<Vec<String>> = began(report).map(row).collect();
    let heads =
        ["flow", "started", "complete", "failed", "active", "share complete", "steady rate", "counted"];
    section("Flows", "", &heads, &rows, "")
}

pub(super) fn latencies(report: &Report) -> String {
    let time = |us: u32| short_time(f64::from(us) * 1e3);
    let row = |flow: &str, which: &str, latency: &LatencyReport| {
        let LatencyReport { count, mean_us, p50_us, p90_us, p99_us, p99_9_us, max_us } = *latency;
        let mut row = vec![flow.to_owned(), which.to_owned(), short_time(mean_us * 1e3)];
        row.extend([p50_us, p90_us, p99_us, p99_9_us, max_us].map(time));
        row.push(grouped(count));
        row
    };
    let stories = || began(report).filter(|flow| flow.kind == "story");
    let rows: Vec<Vec<String>> = stories()
        .flat_map(|flow| flow.latencies.iter().map(|(which, latency)| row(&flow.flow, which, latency)))
        .collect();
    let heads = ["flow", "latency", "mean", "p50", "p90", "p99", "p99.9", "max", "count"];
    section("Latency", &curves(stories()), &heads, &rows, "")
}

/// How long flows took: a curve for each story, over the shares of its flows.
fn curves<'a>(stories: impl Iterator<Item = &'a FlowReport>) -> String {
    let log = |us: u32| (f64::from(us.max(1)) * 1e3).log10();
    let values = |of: &LatencyReport| [of.p50_us, of.p90_us, of.p99_us, of.p99_9_us, of.max_us];
    let took: Vec<(&str, [u32; 5])> =
        stories.filter_map(|flow| Some((flow.flow.as_str(), values(flow.latencies.get("flow")?)))).collect();
    let all = || took.iter().flat_map(|(_, values)| values).map(|us| f64::from((*us).max(1)) * 1e3);
    if took.is_empty() {
        return String::new();
    }
    let (low, high) = (all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max));
    let line = |(name, values): &(&str, [u32; 5])| {
        Series::line(*name, (0..).zip(values).map(|(at, us)| (f64::from(at), log(*us))).collect())
    };
    let places = ["50 %", "90 %", "99 %", "99.9 %", "all"];
    Chart {
        label: "Latency that a share of the flows does not exceed: the whole flow, by story".to_owned(),
        x_ticks: (0..).zip(places).map(|(at, text)| (f64::from(at), text.to_owned())).collect(),
        y_ticks: log_ticks(low, high, short_ns),
        series: took.iter().map(line).collect(),
    }
    .figure()
}

/// Failures by name, of all flows, and of each end of each.
pub(super) fn failures(report: &Report) -> String {
    let (mut sums, mut rows) = (BTreeMap::<&str, u64>::new(), Vec::new());
    for flow in began(report) {
        for (end, of) in [("client", &flow.client), ("server", &flow.server)] {
            for (why, count) in of.failed.iter().filter(|(_, count)| **count > 0) {
                *sums.entry(why).or_default() += count;
                rows.push(vec![name(flow), end.to_owned(), (*why).to_owned(), grouped(*count)]);
            }
        }
    }
    section("Failures", &bars(&sums), &["flow", "end", "reason", "ends"], &rows, "")
}

fn bars(sums: &BTreeMap<&str, u64>) -> String {
    if sums.is_empty() {
        return String::new();
    }
    let places = || (0..).map(f64::from);
    let most = sums.values().max().map_or(1.0, |most| *most as f64);
    let points = places().zip(sums.values()).map(|(at, count)| (at, *count as f64)).collect();
    Chart {
        label: "Ends of flows that failed, by reason".to_owned(),
        x_ticks: places().zip(sums.keys()).map(|(at, why)| (at, (*why).to_owned())).collect(),
        y_ticks: ticks(most, short),
        series: vec![Series::line("failed", points).marked(Mark::Bars)],
    }
    .figure()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{page, report};
    use super::*;

    #[test]
    fn failures_have_their_names() {
        let refused = r#"
            flow gone { udp q = inside -> outside : 53  timeout 10 us
              q > "a"
              q < "c" }
            run { gone rate 100 flows/s for 100 ms  drain 1 s }"#;
        let report = report(refused);
        assert!(
            report.total.failed >= 9,
            "the first one waits for ARP, and then the answer is quick: {:?}",
            report.total
        );
        let text = failures(&report);
        assert!(
            text.contains("<rect ") && text.contains("by reason") && text.contains(">timeout<"),
            "{text}"
        );
        let page = page(refused);
        assert_eq!(ringway_tester::report::check::faults(&page), Vec::<String>::new());
    }
}
