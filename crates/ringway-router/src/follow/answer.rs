//! Answers to questions, as JSON.

use std::collections::BTreeSet;

use ringway::{Error, ErrorKind, Result};
use ringway_fib::{NextHop, Prefix4, Prefix6};
use ringway_fwd::control::{Check, Family, Net, Verdict};
use serde_json::{Map, Value, json};

use super::engine::Engine;
use super::protocol::{Flow, PAGE, ROUTES, Request};
use super::trace::trace;
use crate::kernel::{Kind, Member};

impl Engine {
    /// The answer to a question.
    pub(super) fn answer(&mut self, request: &Request) -> Value {
        let _ = self.beat_if_due(); // many may ask at once; what goes wrong the next turn says
        let answer = match request {
            Request::Status => Ok(self.status()),
            Request::Show { family, within, after } => {
                self.show(*family, within.as_deref(), after.as_deref())
            }
            Request::Get(flow) => self.get(flow),
            Request::Sync => self.compared(),
            Request::Stats { after } => Ok(self.stats(*after)),
            Request::Join { interface } => self.join(interface),
            Request::Leave { interface } => self.leave(interface),
        };
        answer.map_or_else(|e| json!({ "error": e.to_string() }), |ok| json!({ "ok": ok }))
    }

    fn status(&self) -> Value {
        let health = self.health();
        let (v4, v6) = self.control.usage();
        let usage = |u: ringway_fib::Usage| json!({ "nodes": u.nodes, "words": u.words, "bytes": u.bytes, "waiting": u.waiting });
        json!({
            "name": self.router.name(),
            "pid": std::process::id(),
            "fib_in_sync": self.in_sync(),
            "hindrance": self.watch.obstacle(),
            "pending": self.resolver.pending(),
            "routes": self.resolver.routes(),
            "next_hops": self.resolver.next_hops(),
            "fib4": usage(v4),
            "fib6": usage(v6),
            "events": health.events,
            "syncs": health.syncs,
            "sync_seconds": health.sync_time.as_secs_f64(),
            "overruns": health.overruns,
            "doubts": health.inconsistencies,
            "doubt": health.inconsistency,
            "restarts": health.restarts,
            "checks": health.checks,
            "repairs": health.repairs,
        })
    }

    fn show(&self, family: u8, within: Option<&str>, after: Option<&str>) -> Result<Value> {
        let family = if family == 6 { Family::V6 } else { Family::V4 };
        let within = within.map(|text| self.prefix(family, text)).transpose()?;
        let after = after.map(|text| self.prefix(family, text)).transpose()?;
        // a prefix comes before those within it
        let start = within.filter(|w| after.is_none_or(|a| a < *w));
        let first = start.and_then(|net| Some((net, self.resolver.prefix(net)?)));
        let behind = self.resolver.prefixes(family, start.or(after));
        let routes = first.into_iter().chain(behind);
        let routes = routes.take_while(|(net, _)| within.is_none_or(|w| covers(w, *net)));
        let page: Vec<_> = routes.take(ROUTES).collect();
        let last = page.last().filter(|_| page.len() == ROUTES).map(|(net, _)| written(*net));
        let numbers: BTreeSet<NextHop> = page.iter().map(|(_, next_hop)| *next_hop).collect();
        let next_hops: Map<_, _> =
            numbers.into_iter().map(|n| (n.get().to_string(), self.next_hop(n))).collect();
        let routes: Vec<_> = page.iter().map(|(net, n)| (written(*net), n.get())).collect();
        Ok(json!({ "routes": routes, "next_hops": next_hops, "after": last }))
    }

    fn prefix(&self, family: Family, text: &str) -> Result<Net> {
        let net = match family {
            Family::V4 => text.parse::<Prefix4>().map(Net::V4),
            Family::V6 => text.parse::<Prefix6>().map(Net::V6),
        };
        net.map_err(|e| Error::new(ErrorKind::Invalid, self.router.name(), e.to_string()))
    }

    fn get(&self, flow: &Flow) -> Result<Value> {
        if flow.from.is_some_and(|from| from.is_ipv4() != flow.to.is_ipv4()) {
            return Err(self.refusal("source and destination are of two families".into(), "name two of one"));
        }
        let members: Vec<_> = self.router.members().into_iter().filter(|m| !m.gone).collect();
        let ingress = flow.interface.as_ref().map(|name| self.member(&members, name)).transpose()?;
        let trace = trace(flow, ingress, &self.resolver, &members);
        let mut answer = trace.next_hop.map_or_else(|| json!({}), |next_hop| self.next_hop(next_hop));
        let kind = match trace.verdict.outcome.kind() {
            Kind::Forwarded => "forward",
            Kind::Host => "host",
            Kind::Drop | Kind::Egress => "drop",
        };
        for (key, value) in [
            ("to", json!(flow.to)),
            ("verdict", json!(kind)),
            ("reason", json!(trace.verdict.outcome.name())),
            ("rule", json!(trace.verdict.rule)),
            ("prefix", json!(trace.found.map(|(net, _)| written(net)))),
            ("flow_hash", json!(trace.hash)),
            ("hindrance", json!(self.watch.obstacle())),
        ] {
            answer[key] = value;
        }
        let group = trace.found.map(|(_, n)| n).filter(|n| Some(*n) != trace.next_hop);
        if let Some(group) = group {
            answer["group"] = self.next_hop(group)["group"].take();
        }
        Ok(answer)
    }

    fn member<'a>(&self, members: &'a [Member], name: &str) -> Result<&'a Member> {
        let index = self.state().interfaces().find(|l| l.name == name).map(|l| l.index);
        let member = members.iter().find(|m| Some(m.interface.index) == index);
        member.ok_or_else(|| {
            let cure =
                "the kernel does what it does with its packets; `ringway router list` shows the members";
            self.refusal(format!("{name} is no member"), cure)
        })
    }

    fn compared(&mut self) -> Result<Value> {
        let (found, wrong) = self.sync()?;
        let found = match found {
            Check::Equal => "equal",
            Check::Differs => "differs",
            Check::Busy => "busy",
        };
        Ok(
            json!({ "found": found, "wrong": wrong, "fib_in_sync": self.in_sync(), "pending": self.resolver.pending(), "hindrance": self.watch.obstacle() }),
        )
    }

    fn stats(&self, after: u16) -> Value {
        let numbers = self.resolver.in_use().into_iter().filter(|n| n.get() > after);
        let page: Vec<_> = numbers.take(PAGE).collect();
        let last = page.last().filter(|_| page.len() == PAGE).map(|n| n.get());
        let count = |n: &NextHop| {
            let (packets, bytes) = self.control.counters(*n);
            let mut entry = self.next_hop(*n);
            (entry["packets"], entry["bytes"]) = (packets.into(), bytes.into());
            entry
        };
        json!({ "next_hops": page.iter().map(count).collect::<Vec<_>>(), "after": last })
    }

    fn join(&mut self, interface: &str) -> Result<Value> {
        // as of now: the interface may have been made a moment ago
        self.turn()?;
        let number = self.members.join(&self.router, self.follower.state(), interface)?;
        Ok(json!({ "number": number }))
    }

    fn leave(&mut self, interface: &str) -> Result<Value> {
        let members = self.router.members();
        let number = members.iter().find(|m| m.name == interface).map(|m| m.number);
        self.members.leave(&self.router, interface)?;
        Ok(json!({ "number": number }))
    }

    /// A next hop in words and addresses.
    fn next_hop(&self, number: NextHop) -> Value {
        let Some(entry) = self.resolver.entry(number) else { return json!({ "next_hop": number.get() }) };
        let kind = match entry.verdict() {
            Verdict::Free => "free",
            Verdict::Ready => "ready",
            Verdict::Incomplete => "incomplete",
            Verdict::Local => "local",
            Verdict::Host => "host",
            Verdict::Blackhole => "blackhole",
            Verdict::Unreachable => "unreachable",
            Verdict::Prohibit => "prohibit",
            Verdict::Group => "group",
        };
        let mut value = json!({ "next_hop": number.get(), "kind": kind });
        if let Verdict::Ready | Verdict::Incomplete = entry.verdict() {
            let dev = self.state().interface(entry.egress());
            value["dev"] = dev.map_or_else(|| format!("if{}", entry.egress()), |l| l.name.clone()).into();
            value["via"] = json!(entry.gateway());
            value["mtu"] = entry.mtu().into();
        }
        if entry.verdict() == Verdict::Ready {
            let header = entry.header();
            (value["lladdr"], value["source"]) = (mac(&header[..6]).into(), mac(&header[6..12]).into());
        }
        let member = |(n, weight): (NextHop, u32)| {
            let mut member = self.next_hop(n);
            member["weight"] = weight.into();
            member
        };
        if entry.verdict() == Verdict::Group {
            value["group"] = self.resolver.group(number).map(member).collect();
        }
        value
    }

    fn refusal(&self, what: String, cure: &str) -> Error {
        Error::new(ErrorKind::Invalid, self.router.name(), what).cure(cure)
    }
}

fn mac(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":")
}

fn covers(outer: Net, inner: Net) -> bool {
    match (outer, inner) {
        (Net::V4(a), Net::V4(b)) => a.len() <= b.len() && a.covers(b.addr()),
        (Net::V6(a), Net::V6(b)) => a.len() <= b.len() && a.covers(b.addr()),
        _ => false,
    }
}

fn written(net: Net) -> String {
    match net {
        Net::V4(prefix) => prefix.to_string(),
        Net::V6(prefix) => prefix.to_string(),
    }
}
