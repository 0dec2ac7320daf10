//! Routers, their members and counters, in words and as JSON.

use ringway_router::kernel::{Counts, Kind, MemberStats, Outcome};
use ringway_traffic::units::many;
use ringway_watch::routers::{self, Reading};
use serde_json::{Map, Value, json};

/// A router, its members and what its process says, as keys of JSON.
pub(crate) fn object(r: &Reading) -> Value {
    json!({
        "name": r.name,
        "ready": r.health.ready,
        "heartbeat_age": r.health.age.map(|age| age.as_secs_f64()),
        "pid": r.health.controller,
        "fib_in_sync": r.in_sync(),
        "groups": r.spec.groups,
        "status": r.status,
        "members": r.members.iter().map(member).collect::<Vec<_>>(),
    })
}

/// A member and its counters.
pub(super) fn member(m: &MemberStats) -> Value {
    let interface = &m.member.interface;
    json!({
        "number": m.member.number,
        "name": m.member.name,
        "index": interface.index,
        "path": m.member.path.name(),
        "gone": m.member.gone,
        "forwards4": interface.forwards4,
        "forwards6": interface.forwards6,
        "frames_in": m.counts.frames_in(),
        "counters": reasons(&m.counts),
    })
}

/// What became of packets that came in by a member, on two lines.
pub(super) fn member_counts(router: &str, m: &MemberStats) -> String {
    format!("{router}:{}\n  {}", m.member.name, counters(&m.counts))
}

/// A line for people.
pub(crate) fn line(r: &Reading) -> String {
    let hindrance = r.status.as_ref().and_then(|s| s["hindrance"].as_str());
    let state = match (r.health.ready, r.in_sync()) {
        (false, _) => &hindrance.map_or_else(
            || "not ready: the kernel forwards".to_owned(),
            |why| format!("the kernel forwards ({why})"),
        ),
        (true, true) => "in sync",
        (true, false) => "not in sync",
    };
    let process = match (r.health.controller, r.health.age) {
        (Some(pid), Some(age)) => format!("process {pid}, heard {:.1} s ago", age.as_secs_f64()),
        (Some(pid), None) => format!("process {pid}, not heard yet"),
        (None, _) => format!("no process; `ringway router sync {}` starts one", r.name),
    };
    let number = |key, thing| r.number(key).map_or_else(|| format!("? {thing}s"), |n| many(n, thing));
    let pending = r.number("pending").map_or_else(|| "?".to_owned(), |n| n.to_string());
    let (routes, hops) = (number("routes", "route"), number("next_hops", "next hop"));
    format!("{}: router, {routes}, {hops}, {pending} pending, {state}, {process}", r.name)
}

/// A router and its members, in words.
pub(crate) fn list(r: &Reading) -> String {
    let mut text = line(r);
    for m in &r.members {
        let i = &m.member.interface;
        let families = match (m.member.gone, i.forwards4, i.forwards6) {
            (true, ..) => "deleted",
            (_, true, true) => "IPv4 and IPv6",
            (_, true, false) => "IPv4",
            (_, false, true) => "IPv6",
            (..) => "forwards nothing",
        };
        let path = m.member.path.name();
        text += &format!("\n  {:>3} {:<15}  {path:<3}  {families}", m.member.number, m.member.name);
    }
    text
}

/// The same with counters.
pub(crate) fn stats(r: &Reading) -> String {
    let mut text = line(r) + "\n";
    r.members.iter().for_each(|m| text += &(member_counts(&r.name, m) + "\n"));
    text + &format!("{} in all\n  {}", r.name, counters(&routers::sum(&r.members)))
}

/// Counters by name.
pub(crate) fn reasons(counts: &Counts) -> Value {
    let named: Map<_, _> = counts.iter().map(|(outcome, n)| (outcome.name().to_owned(), n.into())).collect();
    Value::Object(named)
}

/// Counters in words, but for zeros.
pub(crate) fn counters(counts: &Counts) -> String {
    let of = |kind: Kind| {
        let some = counts.iter().filter(|(outcome, n)| outcome.kind() == kind && *n > 0);
        let words: Vec<_> = some.map(|(outcome, n)| format!("{n} {}", outcome.name())).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
    };
    format!(
        "{} in, {} forwarded; to the host: {}; dropped: {}; at this egress: {}",
        counts.frames_in(),
        counts.get(Outcome::Forwarded),
        of(Kind::Host),
        of(Kind::Drop),
        of(Kind::Egress)
    )
}
