//! The dashboard for Grafana and the alert rules for Prometheus ask only for metrics that the exporter has.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

const DASHBOARD: &str = include_str!("../monitoring/grafana.json");
const RULES: &str = include_str!("../monitoring/alerts.yml");

/// Words that begin as the metrics do.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("ringway_")).collect()
}

/// The families that the sources name, with the endings that the kinds and units of metrics add.
fn known() -> BTreeSet<String> {
    let sources = [
        include_str!("../src/metrics/mod.rs"),
        include_str!("../src/metrics/ports.rs"),
        include_str!("../src/metrics/routers.rs"),
        include_str!("../src/metrics/switches.rs"),
    ];
    let names = sources.iter().flat_map(|source| metrics(source));
    names.flat_map(|name| ["", "_total", "_bytes_total"].map(|end| format!("{name}{end}"))).collect()
}

#[test]
fn the_dashboard_shows_metrics_that_there_are() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let (mut ids, known) = (BTreeSet::new(), known());
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            let asked = metrics(expression);
            assert!(!asked.is_empty() && asked.iter().all(|name| known.contains(*name)), "{expression}");
            assert_eq!(expression.matches('(').count(), expression.matches(')').count(), "{expression}");
        }
    }
    assert!(panels.len() > 10);
}

#[test]
fn the_rules_ask_for_metrics_that_there_are() {
    let (asked, known) = (metrics(RULES), known());
    let missing: Vec<_> = asked.iter().filter(|name| !known.contains(**name)).collect();
    assert!(asked.len() > 4 && missing.is_empty(), "{missing:?}");
    let count = |word: &str| RULES.lines().filter(|line| line.trim_start().starts_with(word)).count();
    let alerts = count("- alert: ");
    assert_eq!([count("expr: "), count("summary: "), count("description: ")], [alerts; 3]);
}

#[test]
fn prometheus_takes_the_rules_and_the_configuration() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/monitoring");
    promtool(&["check", "rules", &format!("{folder}/alerts.yml")]);
    // The files that it names are on other machines.
    promtool(&["check", "config", "--syntax-only", &format!("{folder}/prometheus.yml")]);
}

fn promtool(words: &[&str]) {
    match Command::new("promtool").args(words).output() {
        Err(_) => eprintln!("SKIP: there is no promtool here; Debian's package prometheus has it"),
        Ok(checked) => assert!(checked.status.success(), "{checked:?}"),
    }
}
