//! `ringway top --once --json`: the table as one JSON object.

use ringway_watch::ports::Change;
use ringway_watch::rates::Rates;
use serde_json::{Value, json};

use super::stages::Shown;
use super::state::State;
use crate::stage_costs::Costs;

/// Each port with its rates, and each path with what its stages cost, when that was asked for.
pub(super) fn page(state: &State) -> Value {
    let rows = state.rows();
    let seconds = rows.first().map_or(0.0, |row| row.seconds);
    let mut object =
        json!({ "command": "top", "seconds": seconds, "ports": rows.iter().map(port).collect::<Vec<_>>() });
    if let Shown::Read(found) = &state.stages {
        object["stages"] = found.iter().flatten().map(Costs::json).collect();
    }
    object
}

fn port(row: &Change<'_>) -> Value {
    let (port, owner) = (row.port, row.port.owner.as_ref());
    json!({
        "name": port.key.name,
        "pid": port.key.pid,
        "owner": owner.map(|process| &process.command),
        "backend": port.backend,
        "cpus": row.cpus,
        "dropped": row.dropped,
        "rx": row.rx.map(rates),
        "tx": row.tx.map(rates),
    })
}

fn rates(r: Rates) -> Value {
    json!({
        "pps": r.pps,
        "bps": r.bps,
        "wire_bps": r.wire_bps,
        "dropped": r.drops,
        "syncs": r.syncs,
        "per_sync": r.per_sync,
        "busy": r.busy,
    })
}
