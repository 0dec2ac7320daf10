//! `ringway top --once --json`: the table as one JSON object.

use ringway_watch::ports::Change;
use ringway_watch::rates::Rates;
use serde_json::{Value, json};

use super::row::Row;
use super::stages::Shown;
use super::state::State;
use crate::stage_costs::Costs;

/// Each port and router with its rates, and each path with what its stages cost, when that was asked for.
pub(super) fn page(state: &State) -> Value {
    let rows = state.rows();
    let (mut ports, mut routers) = (Vec::new(), Vec::new());
    for row in &rows {
        match row {
            Row::Port(change) => ports.push(port(change)),
            Row::Router(_) => routers.push(router(row)),
        }
    }
    let mut object =
        json!({ "command": "top", "seconds": state.seconds(), "ports": ports, "routers": routers });
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

fn router(row: &Row<'_>) -> Value {
    json!({
        "target": row.name(),
        "pid": row.pid(),
        "owner": row.owner().map(|process| &process.command),
        "cpus": row.cpus(),
        "dropped": row.dropped(),
        "received_pps": row.rx_pps(),
        "forwarded_pps": row.tx_pps(),
        "dropped_pps": row.drops(),
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
