//! The report as text for people.

use std::fmt::Write as _;

use ringway_traffic::units::{bit_rate, duration, scaled};

use super::attacks::AttackReport;
use super::report::{EndReport, FlowReport, FlowsReport, Report};
use super::report_latency::LatencyReport;

/// The report as lines.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    // A String takes all that is written.
    let _ = head(&mut out, report);
    for flow in &report.flows {
        let _ = one(&mut out, flow);
    }
    for of in &report.attacks {
        let _ = attack(&mut out, of);
    }
    let _ = tail(&mut out, report);
    out.truncate(out.trim_end().len());
    out
}

fn head(out: &mut String, report: &Report) -> std::fmt::Result {
    let time = if report.virtual_time { "virtual time" } else { "time" };
    let seconds = |seconds: f64| duration((seconds * 1e9) as u64);
    writeln!(
        out,
        "{} of {time}, of which {} steady; ended by {}; seed {}",
        seconds(report.seconds),
        seconds(report.steady_seconds),
        report.ended,
        report.seed
    )?;
    writeln!(out, "flows: {}", flows(&report.total))?;
    let rates = &report.rates;
    if report.steady_seconds > 0.0 {
        writeln!(
            out,
            "steady: {}, {}, out {} at {}, in {} at {}",
            scaled(report.total.flows_per_second, "flows/s"),
            scaled(rates.connections, "connections/s"),
            scaled(rates.packets_out, "pps"),
            bit_rate(rates.bits_out),
            scaled(rates.packets_in, "pps"),
            bit_rate(rates.bits_in),
        )?;
    }
    writeln!(out, "at the same time: {:.1} in the mean, {} at most", report.active.mean, report.active.max)
}

fn flows(flows: &FlowsReport) -> String {
    let FlowsReport { started, complete, failed, active, completion, .. } = flows;
    let share = completion * 100.0;
    format!("{started} started, {complete} complete ({share:.4} %), {failed} failed, {active} active")
}

fn one(out: &mut String, flow: &FlowReport) -> std::fmt::Result {
    if flow.client.started + flow.server.started == 0 {
        return Ok(());
    }
    let attack = if flow.kind == "attack" { " (attack)" } else { "" };
    let rate = scaled(flow.flows.flows_per_second, "flows/s");
    writeln!(out, "\n{}{attack}: {}, {rate}", flow.flow, flows(&flow.flows))?;
    for (name, end) in [("client", &flow.client), ("server", &flow.server)] {
        end_line(out, name, end)?;
    }
    if !flow.latencies.is_empty() {
        writeln!(out, "  latency           p50        p90        p99      p99.9        max      count")?;
    }
    for (name, latency) in &flow.latencies {
        latency_line(out, name, latency)?;
    }
    for (name, count) in &flow.counters {
        writeln!(out, "  counted {name}: {count}")?;
    }
    Ok(())
}

/// The failures of an end, if it has some.
fn end_line(out: &mut String, name: &str, end: &EndReport) -> std::fmt::Result {
    let failed: Vec<String> = end
        .failed
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(why, count)| format!("{why} {count}"))
        .collect();
    if failed.is_empty() { Ok(()) } else { writeln!(out, "  failed at the {name}: {}", failed.join(", ")) }
}

fn latency_line(out: &mut String, name: &str, latency: &LatencyReport) -> std::fmt::Result {
    let LatencyReport { count, p50_us, p90_us, p99_us, p99_9_us, max_us, .. } = *latency;
    let [p50, p90, p99, p99_9, max] =
        [p50_us, p90_us, p99_us, p99_9_us, max_us].map(|us| duration(u64::from(us) * 1000));
    writeln!(out, "  {name:<10} {p50:>10} {p90:>10} {p99:>10} {p99_9:>10} {max:>10} {count:>10}")
}

/// What an attack did to the stories.
fn attack(out: &mut String, attack: &AttackReport) -> std::fmt::Result {
    let time = |seconds: f64| duration((seconds * 1e9) as u64);
    let recovery = match attack.recovery_seconds {
        Some(after) => format!("recovered after {}", time(after)),
        None => "no recovery was seen".to_owned(),
    };
    let (name, sent) = (&attack.attack, attack.sent);
    let (from, to) = (time(attack.from_seconds), time(attack.to_seconds));
    writeln!(out, "\nattack {name}: {from} to {to}, {sent} sent; {recovery}")?;
    for (when, part) in [("before", &attack.before), ("during", &attack.during), ("after", &attack.after)] {
        let Some(part) = part else { continue };
        let (rate, share) = (scaled(part.flows_per_second, "flows/s"), part.completion * 100.0);
        writeln!(
            out,
            "  stories {when}: {rate}, {share:.4} % of ended ones complete, {} failed",
            part.failed
        )?;
    }
    Ok(())
}

fn tail(out: &mut String, report: &Report) -> std::fmt::Result {
    let some = |name: &str, count: u64| (count > 0).then(|| format!("{name} {count}"));
    let events =
        ["retransmitted", "repeated", "early", "outside", "false_acks", "challenged", "nonsense", "strays"];
    let lost = ["no_room", "half_open_dropped", "unsent_resets", "unsent_probes", "unsent_answers"];
    let transport = events.iter().chain(&lost).chain(&["fuel_exhausted"]);
    let lines = [
        (
            "starts",
            [some("postponed", report.postponed), some("missed", report.missed)]
                .into_iter()
                .flatten()
                .collect(),
        ),
        ("transport", transport.filter_map(|name| some(name, *report.transport.get(name)?)).collect()),
        (
            "answers to attacks",
            report.answers.iter().filter_map(|(name, count)| some(name, *count)).collect(),
        ),
        ("refused frames", report.refused.iter().filter_map(|(name, count)| some(name, *count)).collect()),
        (
            "failed checks",
            report.checks.iter().filter_map(|(name, count)| some(name, *count)).collect::<Vec<_>>(),
        ),
    ];
    let packets = report.transport.get("frames_out").copied().unwrap_or_default();
    writeln!(out, "\npackets sent: {packets}")?;
    for (name, list) in lines.iter().filter(|(_, list)| !list.is_empty()) {
        writeln!(out, "{name}: {}", list.join(", "))?;
    }
    for outcome in &report.expectations {
        let verdict = if outcome.holds { "holds" } else { "FAILS" };
        writeln!(out, "{verdict}: {}: {}", outcome.expectation, outcome.measured)?;
    }
    Ok(())
}
