//! Counters of ports as text and as JSON.
//!
//! docs/json.md has the keys, under "Counters".

use ringway::{Counters, DropReason, PortCounters};
use serde_json::{Value, json};

/// Both directions as an object with keys `rx` and `tx`.
pub(crate) fn port(counters: &PortCounters) -> Value {
    json!({ "rx": direction(&counters.rx), "tx": direction(&counters.tx) })
}

/// One direction, or one ring.
pub(crate) fn direction(c: &Counters) -> Value {
    let drops: serde_json::Map<_, _> =
        DropReason::ALL.iter().map(|&d| (d.name().to_owned(), c.drops(d).into())).collect();
    json!({
        "frames_in": c.frames_in,
        "frames_out": c.frames_out,
        "bytes_out": c.bytes_out,
        "dropped": c.dropped(),
        "drops": drops,
        "syncs": c.syncs,
        "busy_syncs": c.busy_syncs,
        "wakeups": c.wakeups,
        "wakeups_withheld": c.wakeups_withheld,
        "link_changes": c.link_changes,
        "resets": c.resets,
    })
}

/// One line per reason that frames of the port were lost for, with the cure; empty when none were.
pub(crate) fn drops(counters: &PortCounters) -> Vec<String> {
    let of = |label: &'static str, c: &Counters| {
        let line = |(d, n): (DropReason, u64)| format!("{label}: {n} {}: {}", d.name(), d.help());
        c.reasons().map(line).collect::<Vec<_>>()
    };
    [of("rx", &counters.rx), of("tx", &counters.tx)].concat()
}
