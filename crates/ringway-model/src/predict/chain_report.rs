//! A chain of devices for people and for programs.

use serde_json::{Value, json};

use super::chain::{Chain, Link};
use super::report::errors;
use ringway_tester::report::text::table;

const HEADS: [&str; 7] = ["load", "first ns", "then ns", "both ns", "measured ns", "predicted Mpps", "error"];

/// The chain as one object.
#[must_use]
pub fn json(chain: &Chain) -> Value {
    json!({ "devices": chain.devices, "points": chain.points, "errors": chain.errors })
}

/// The chain as a table, and the groups of its first load.
#[must_use]
pub fn text(chain: &Chain) -> String {
    let [first, second] = &chain.devices;
    let mut out = format!("{first}, then {second}, in one thread\n");
    out += &table(&HEADS, &chain.points.iter().map(row).collect::<Vec<_>>());
    out += &errors("Rates of both", chain.errors).map_or(String::new(), |line| line + "\n");
    if let Some(link) = chain.points.first() {
        let groups: Vec<String> =
            link.groups.iter().map(|(group, ns)| format!("{group} {ns:.0} ns")).collect();
        out += &format!("{}: {}\n", link.point.describe(), groups.join(", "));
    }
    out
}

fn row(link: &Link) -> Vec<String> {
    let ns = |ns: f64| format!("{ns:.0}");
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    vec![
        link.point.describe(),
        ns(link.first_ns),
        ns(link.second_ns),
        ns(link.predicted_ns),
        or_none(link.measured_ns.map(|m| ns(m.value))),
        format!("{:.3}", 1e3 / link.predicted_ns),
        or_none(link.error.map(|error| format!("{:+.1} %", 100.0 * error))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::chain::{chain, tests::sweeps};

    #[test]
    fn chains_are_lines_and_objects() {
        let [bridge, router, both] = sweeps();
        let found = chain(&bridge, &router, Some(&both)).unwrap();
        let text = text(&found);
        for part in
            ["linux-bridge, then linux-router", "1500", "0.667", "+6.7 %", "in the median", "RX 500 ns"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(super::text(&chain(&bridge, &router, None).unwrap()).contains(" - "));
        let json = json(&found);
        assert_eq!((&json["devices"][1], &json["errors"]["points"]), (&json!("linux-router"), &json!(2)));
        assert_eq!(json["points"][0]["groups"][0]["group"], "RX");
    }
}
