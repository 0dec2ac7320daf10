//! What there is to know of routers, read at one moment, for all commands that show it.

use ringway_router::kernel::{Counts, Health, Kind, MemberStats, Outcome, Router, Rpf, Spec, routers};
use ringway_traffic::units::many;
use serde_json::{Map, Value, json};

use crate::route;

/// A router, its members and what its process says.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) name: String,
    pub(crate) spec: Spec,
    pub(crate) health: Health,
    pub(crate) members: Vec<MemberStats>,
    /// `None` when no process answers.
    pub(crate) status: Option<Value>,
}

impl Reading {
    pub(crate) fn of(router: &Router) -> Self {
        let health = router.health();
        Self {
            name: router.name().to_owned(),
            spec: router.spec(),
            status: health.controller.and_then(|_| route::status(router.name())),
            health,
            members: router.stats(),
        }
    }

    /// Whether the fast path's tables are known to be the kernel's.
    pub(crate) fn in_sync(&self) -> bool {
        self.status.as_ref().is_some_and(|s| s["fib_in_sync"] == true)
    }

    /// A number that its process told.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.status.as_ref()?[key].as_u64()
    }

    /// All of it as keys of JSON.
    pub(crate) fn object(&self) -> Value {
        let member = |m: &MemberStats| {
            let mut object = json!({
                "number": m.member.number,
                "name": m.member.name,
                "index": m.member.interface.index,
                "path": m.member.path.name(),
                "gone": m.member.gone,
                "forwards4": m.member.interface.forwards4,
                "forwards6": m.member.interface.forwards6,
                "frames_in": m.counts.frames_in(),
            });
            object["counters"] = reasons(&m.counts);
            object
        };
        json!({
            "name": self.name,
            "ready": self.health.ready,
            "heartbeat_age": self.health.age.map(|age| age.as_secs_f64()),
            "pid": self.health.controller,
            "fib_in_sync": self.in_sync(),
            "groups": self.spec.groups,
            "status": self.status,
            "members": self.members.iter().map(member).collect::<Vec<_>>(),
        })
    }

    /// A line for people.
    pub(crate) fn line(&self) -> String {
        let hindrance = self.status.as_ref().and_then(|s| s["hindrance"].as_str());
        let state = match (self.health.ready, self.in_sync()) {
            (false, _) => &hindrance.map_or_else(
                || "not ready: the kernel forwards".to_owned(),
                |why| format!("the kernel forwards ({why})"),
            ),
            (true, true) => "in sync",
            (true, false) => "not in sync",
        };
        let process = match (self.health.controller, self.health.age) {
            (Some(pid), Some(age)) => format!("process {pid}, heard {:.1} s ago", age.as_secs_f64()),
            (Some(pid), None) => format!("process {pid}, not heard yet"),
            (None, _) => format!("no process; `ringway route sync -r {}` starts one", self.name),
        };
        let told = |key, thing| self.number(key).map_or_else(|| format!("? {thing}s"), |n| many(n, thing));
        let pending = self.number("pending").map_or_else(|| "?".to_owned(), |n| n.to_string());
        let (routes, hops) = (told("routes", "route"), told("next_hops", "next hop"));
        format!("{}: router, {routes}, {hops}, {pending} pending, {state}, {process}", self.name)
    }
}

/// A reverse path filter, as options have it.
pub(crate) fn rpf(text: &str) -> Result<Rpf, String> {
    match text {
        "off" => Ok(Rpf::Off),
        "loose" => Ok(Rpf::Loose),
        "strict" => Ok(Rpf::Strict),
        _ => Err("accepted: off, loose, strict".into()),
    }
}

/// The routers that the caller may read: all for root, none for others.
pub(crate) fn readable() -> Vec<Reading> {
    routers().iter().filter_map(|name| Router::open(name).ok()).map(|router| Reading::of(&router)).collect()
}

/// Counters of all members together.
pub(crate) fn sum(members: &[MemberStats]) -> Counts {
    members.iter().fold(Counts::default(), |sum, m| sum + m.counts)
}

/// Counters by name.
pub(crate) fn reasons(counts: &Counts) -> Value {
    let named: Map<_, _> = counts.iter().map(|(outcome, n)| (outcome.name().to_owned(), n.into())).collect();
    Value::Object(named)
}

/// Counters in words, those that are not 0.
pub(crate) fn describe(counts: &Counts) -> String {
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
