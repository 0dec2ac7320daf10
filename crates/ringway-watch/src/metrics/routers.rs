//! Routers as families: the whole, and each member.

use ringway_router::kernel::Outcome;

use super::family::Family;
use crate::routers::Reading;

/// Gauges that a router's process reports, their names and what they mean.
const TOLD: [(&str, &str, &str); 3] = [
    (
        "pending",
        "ringway_router_pending",
        "Prefixes and next hops that do not fit into the fast path's tables",
    ),
    ("routes", "ringway_router_routes", "Routes of the fast path, neighbours included"),
    ("next_hops", "ringway_router_next_hops", "Next hops of the fast path"),
];

/// Counters that a router's process reports.
const COUNTED: [(&str, &str, &str); 5] = [
    ("events", "ringway_router_events", "Changes of the kernel's tables that were taken in"),
    ("syncs", "ringway_router_syncs", "Readings of all of the kernel's tables"),
    ("overruns", "ringway_router_overruns", "Times that changes were lost, and all tables read again"),
    ("checks", "ringway_router_checks", "Comparisons with the kernel's tables"),
    ("repairs", "ringway_router_repairs", "Comparisons that found a difference, which was repaired"),
];

pub(super) fn families(routers: &[Reading]) -> Vec<Family> {
    let mut in_sync = Family::gauge(
        "ringway_router_fib_in_sync",
        "Whether the fast path's tables are known to be the kernel's",
    );
    let mut ready =
        Family::gauge("ringway_router_ready", "Whether members forward, rather than leave all to the kernel");
    let mut age = Family::gauge(
        "ringway_router_heartbeat_age_milliseconds",
        "How long ago the process that follows the kernel's tables was heard",
    );
    let mut packets = Family::counter(
        "ringway_router_packets",
        "Packets that came in by a member, by what became of them; sent, device_full and device_refused left by it",
    );
    let mut told = TOLD.map(|(_, name, help)| Family::gauge(name, help));
    let mut counted = COUNTED.map(|(_, name, help)| Family::counter(name, help));
    for r in routers {
        let name = ("router", r.name.as_str());
        in_sync.add(&[name], r.in_sync().into());
        ready.add(&[name], r.health.ready.into());
        if let Some(heard) = r.health.age {
            age.add(&[name], heard.as_millis() as u64);
        }
        let keys = TOLD.iter().chain(&COUNTED).map(|(key, ..)| key);
        for (key, family) in keys.zip(told.iter_mut().chain(&mut counted)) {
            if let Some(n) = r.number(key) {
                family.add(&[name], n);
            }
        }
        for m in &r.members {
            for outcome in Outcome::ALL {
                let labels = [name, ("member", m.member.name.as_str()), ("outcome", outcome.name())];
                packets.add(&labels, m.counts.get(outcome));
            }
        }
    }
    [in_sync, ready, age, packets].into_iter().chain(told).chain(counted).collect()
}
