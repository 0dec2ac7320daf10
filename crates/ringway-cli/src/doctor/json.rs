//! The findings as one JSON object; docs/json.md has the keys.

use ringway::probe::{Backend, Check, Interface, Peer, Rights, Trial};
use serde_json::{Value, json};

use super::report::Report;
use super::set::Set;

pub(super) fn object(report: &Report) -> Value {
    let choice = report.choice().and_then(|c| c.backend).map(|b| report.port(b));
    json!({
        "works": report.works(),
        "choice": choice,
        "backends": Backend::ALL.map(|b| backend(report, b)),
        "checks": checks(&report.machine.checks),
        "rights": rights(&report.machine.rights),
        "fixed": report.fixed.iter().map(Set::object).collect::<Vec<_>>(),
        "interface": report.interface.as_ref().map(|(i, found)| interface(i, found)),
    })
}

fn backend(report: &Report, b: Backend) -> Value {
    let why = report.obstacle(b);
    json!({
        "backend": b.name(),
        "port": report.port(b),
        "works": why.is_none(),
        "id": why.map(|c| c.id),
        "reason": why.map(ToString::to_string),
        "cure": why.and_then(|c| c.cure.as_deref()),
    })
}

fn checks(all: &[Check]) -> Vec<Value> {
    let one = |c: &Check| json!({ "id": c.id, "what": c.what, "status": c.status.name(), "detail": c.detail, "cure": c.cure });
    all.iter().map(one).collect()
}

fn rights(r: &Rights) -> Value {
    json!({
        "euid": r.euid,
        "capabilities": format!("{:#x}", r.capabilities),
        "locked_memory": r.locked_memory,
        "open_files": r.open_files,
        "seccomp": r.seccomp,
        "user_namespace": r.user_namespace,
        "lockdown": r.lockdown,
    })
}

fn interface(i: &Interface, found: &[Check]) -> Value {
    let programs = i
        .programs
        .iter()
        .map(|p| json!({ "hook": p.hook.name(), "id": p.id, "name": p.name, "link": p.link }));
    let ports = i.ports.iter().map(|(name, pid)| json!({ "name": name, "pid": pid }));
    json!({
        "name": i.name,
        "index": i.index,
        "driver": i.driver,
        "hardware": i.hardware,
        "mtu": i.mtu,
        "up": i.up,
        "running": i.running,
        "rx_queues": i.rx_queues,
        "tx_queues": i.tx_queues,
        "cpus": i.cpus,
        "rx_ring": i.ring_sizes.map(|r| r.0),
        "tx_ring": i.ring_sizes.map(|r| r.1),
        "xdp_features": i.xdp_features,
        "native": trial(&i.native),
        "zero_copy": trial(&i.zero_copy),
        "programs": programs.collect::<Vec<_>>(),
        "offloads": i.offloads,
        "peer": peer(&i.peer),
        "ports": ports.collect::<Vec<_>>(),
        "addresses": i.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "default_route": i.default_route,
        "users": i.users,
        "checks": checks(found),
    })
}

fn trial(t: &Trial) -> &'static str {
    match t {
        Trial::Works => "works",
        Trial::Refused { .. } => "refused",
        _ => "untried",
    }
}

/// The name of the far end of a veth, `elsewhere` in another network namespace, null for what is no veth.
fn peer(p: &Peer) -> Value {
    match p {
        Peer::Here { name, .. } => name.as_str().into(),
        Peer::Elsewhere => "elsewhere".into(),
        _ => Value::Null,
    }
}
