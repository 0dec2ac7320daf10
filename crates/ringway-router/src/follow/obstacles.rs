//! What the kernel does to packets that it forwards, and the fast path does not do.

use std::path::PathBuf;
use std::{fmt, fs};

use ringway::capability::{Cap, cure_of_denial};
use ringway::tc::{Others, Stand};
use ringway::{Error, ErrorKind, Result};
use ringway_fwd::control::State;

use crate::kernel::Path;

use super::netlink::{attributes, dump, number, text};

/// A kind of thing that packets may be taken around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Bypass {
    /// Rules of policy routing, and routes in table `default`.
    Rules,
    /// Packet filters: chains of nftables with rules, tables of iptables.
    Netfilter,
    /// Policies of IPsec for packets that are forwarded.
    Xfrm,
    /// Filters of traffic control at the ingress of members, and programs at their tcx hooks; of members by traffic control only those
    /// behind the router's.
    Tc,
}

impl Bypass {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Rules, Self::Netfilter, Self::Xfrm, Self::Tc];

    /// Its name in commands.
    ///
    /// ```
    /// assert_eq!(ringway_router::follow::Bypass::Netfilter.name(), "netfilter");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Netfilter => "netfilter",
            Self::Xfrm => "xfrm",
            Self::Tc => "tc",
        }
    }

    fn cure(self) -> &'static str {
        match self {
            Self::Rules => {
                "remove the rules (`ip rule`), or routes (`ip route flush table default`, also with -6)"
            }
            Self::Netfilter => "remove the chains (`nft list ruleset`, `iptables-save`)",
            Self::Xfrm => "remove the policies (`ip xfrm policy`)",
            Self::Tc => "remove the filters (`tc qdisc del dev IF clsact`; for tcx, whatever attached them)",
        }
    }
}

/// Something that the fast path would go around.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// Its kind.
    pub kind: Bypass,
    /// Which it is, in words.
    pub what: String,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// An interface that is a member or is to be one, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) name: String,
    pub(super) path: Path,
    /// Where what attaches its programs lies.
    pub(super) place: PathBuf,
}

/// Refuses what may not be gone around.
pub(super) fn refuse(name: &str, state: &State, nics: &[Seat], bypass: &[Bypass]) -> Result<()> {
    standing(name, state, nics, bypass)?.map_or(Ok(()), Err)
}

/// What may not be gone around, as an error that tells what to do about it; `None` when there is nothing.
///
/// # Errors
/// What the kernel says when it is asked.
pub(super) fn standing(name: &str, state: &State, nics: &[Seat], bypass: &[Bypass]) -> Result<Option<Error>> {
    let found = find(name, state, nics)?;
    let Some(kind) = found.iter().map(|o| o.kind).find(|kind| !bypass.contains(kind)) else {
        return Ok(None);
    };
    let those: Vec<_> = found.iter().filter(|o| o.kind == kind).map(Obstacle::to_string).collect();
    let what = format!("packets would go around what the kernel does to them: {}", those.join(", "));
    let cure = format!("{}, or accept it with --bypass {}", kind.cure(), kind.name());
    Ok(Some(Error::new(ErrorKind::Unsupported, name, what).cure(cure)))
}

/// All that there is in the thread's network namespace.
fn find(name: &str, state: &State, nics: &[Seat]) -> Result<Vec<Obstacle>> {
    let io = |what: &'static str| {
        move |e| Error::io(name, what, e).cure_if_denied(cure_of_denial(&[Cap::NetAdmin]))
    };
    let of = |kind| move |what| Obstacle { kind, what };
    let mut found: Vec<_> = state.unsupported().into_iter().map(of(Bypass::Rules)).collect();
    found.extend(
        chains(nics)
            .map_err(io("asking for chains of nftables failed"))?
            .into_iter()
            .map(of(Bypass::Netfilter)),
    );
    found.extend(legacy().into_iter().map(of(Bypass::Netfilter)));
    found.extend(
        policies().map_err(io("asking for IPsec policies failed"))?.into_iter().map(of(Bypass::Xfrm)),
    );
    let filters = filters(state, nics).map_err(io("asking for queueing disciplines failed"))?;
    found.extend(filters.into_iter().map(of(Bypass::Tc)));
    let programs = programs(state, nics).map_err(io("asking for programs of tc (tcx) failed"))?;
    found.extend(programs.into_iter().map(of(Bypass::Tc)));
    Ok(found)
}

/// `NETLINK_NETFILTER`, `NFNL_SUBSYS_NFTABLES` with `NFT_MSG_GETCHAIN`, bytes of `struct nfgenmsg` (linux/netfilter/nf_tables.h).
const NETFILTER: isize = 12;
const GET_CHAIN: u16 = 10 << 8 | 4;
const NFGENMSG: usize = 4;

/// Base chains of nftables that forwarded packets pass and that do something: they have rules, or drop by policy.
fn chains(nics: &[Seat]) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    dump(NETFILTER, GET_CHAIN, &[0; NFGENMSG], |_, body| found.extend(chain(body, nics)))?;
    Ok(found)
}

/// `NFPROTO_*`.
const PROTOCOLS: [(u8, &str); 4] = [(1, "inet"), (2, "ip"), (5, "netdev"), (10, "ip6")];
/// `NF_INET_PRE_ROUTING`, `NF_INET_FORWARD`, `NF_INET_POST_ROUTING`, `NF_INET_INGRESS`; both hooks of netdev concern members.
const HOOKS: [u32; 4] = [0, 2, 4, 5];

pub(super) fn chain(body: &[u8], nics: &[Seat]) -> Option<String> {
    let (mut table, mut name, mut hook, mut drops, mut rules) =
        (String::new(), String::new(), None, false, 0);
    for (kind, value) in attributes(body, NFGENMSG) {
        match kind {
            1 => table = text(value),
            3 => name = text(value),
            4 => hook = Some(Hook::read(value)),
            5 => drops = number(value) == 0,
            6 => rules = number(value),
            _ => {}
        }
    }
    let number = body.first()?;
    let (_, family) = PROTOCOLS.into_iter().find(|(of, _)| of == number)?;
    let hook = hook?;
    let concerns = match family {
        "netdev" => hook.devices.iter().any(|dev| seat(nics, dev).is_some()),
        _ => HOOKS.contains(&hook.number),
    };
    (concerns && (rules > 0 || drops)).then(|| format!("chain {family} {table} {name}"))
}

/// Where a base chain is: `NFTA_CHAIN_HOOK`.
struct Hook {
    number: u32,
    devices: Vec<String>,
}

impl Hook {
    fn read(value: &[u8]) -> Self {
        let mut hook = Self { number: u32::MAX, devices: Vec::new() };
        for (kind, value) in attributes(value, 0) {
            match kind {
                1 => hook.number = number(value),
                3 => hook.devices.push(text(value)),
                4 => hook.devices.extend(attributes(value, 0).map(|(_, value)| text(value))),
                _ => {}
            }
        }
        hook
    }
}

/// Tables of the older iptables, which are there from their first use on; what is in them it does not tell.
fn legacy() -> Vec<String> {
    let tables = [("ip_tables_names", "iptables"), ("ip6_tables_names", "ip6tables")];
    let of = |(file, program): (&str, &str)| {
        let names = fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
        names.lines().map(|table| format!("table {table} of {program}-legacy")).collect::<Vec<_>>()
    };
    tables.into_iter().flat_map(of).collect()
}

/// `NETLINK_XFRM`, `XFRM_MSG_GETPOLICY`; where in `struct xfrm_userpolicy_info` the direction is (linux/xfrm.h).
const XFRM: isize = 6;
const GET_POLICY: u16 = 0x15;
const DIRECTION: usize = 160;

/// Policies for packets that leave or are forwarded.
fn policies() -> std::io::Result<Vec<String>> {
    let mut count = 0;
    dump(XFRM, GET_POLICY, &[], |_, body| count += u32::from(matches!(body.get(DIRECTION), Some(1 | 2))))?;
    Ok(if count == 0 { Vec::new() } else { vec![format!("{count} IPsec policies")] })
}

/// `RTM_GETQDISC`, bytes of `struct tcmsg` (linux/rtnetlink.h).
const ROUTE: isize = 0;
const GET_QDISC: u16 = 38;
const TCMSG: usize = 20;

/// Members with a place for filters at their ingress. Where the router's program has one it is filters that count.
fn filters(state: &State, nics: &[Seat]) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut places = Vec::new();
    dump(ROUTE, GET_QDISC, &[0; TCMSG], |_, body| {
        let index = body.get(4..8).and_then(|b| b.try_into().ok()).map_or(0, u32::from_ne_bytes);
        let kind = attributes(body, TCMSG).find(|(kind, _)| *kind == 1).map(|(_, value)| text(value));
        let seat = state.interface(index).and_then(|link| seat(nics, &link.name));
        if let (Some(seat), Some("ingress" | "clsact")) = (seat, kind.as_deref()) {
            places.push((index, seat));
        }
    })?;
    for (index, seat) in places {
        let Some(others) = others(index, seat)? else { continue };
        if !others.shares_filters || others.filters > 0 {
            found.push(format!("filters at the ingress of {}", seat.name));
        }
    }
    Ok(found)
}

/// Members with programs at their tcx hooks, for which no queueing discipline is needed.
fn programs(state: &State, nics: &[Seat]) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    for link in state.interfaces() {
        let Some(seat) = seat(nics, &link.name) else { continue };
        let Some(others) = others(link.index, seat)? else { continue };
        let passed = match seat.path {
            Path::Xdp => others.programs,
            Path::Tc => others.behind,
        };
        if passed > 0 {
            found.push(format!("eBPF programs of tc (tcx) on {}", link.name));
        }
    }
    Ok(found)
}

/// What others have at an interface; `None` when it was deleted, which the kernel's messages tell a little later.
fn others(index: u32, seat: &Seat) -> std::io::Result<Option<Others>> {
    match Stand::ingress(&seat.place).others(index) {
        Err(e) if e.raw_os_error() == Some(libc::ENODEV) => Ok(None),
        asked => asked.map(Some),
    }
}

fn seat<'a>(nics: &'a [Seat], name: &str) -> Option<&'a Seat> {
    nics.iter().find(|seat| seat.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = [(4 + value.len() as u16).to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// A base chain, as the kernel tells of it.
    fn told(family: u8, hook: u32, dev: &str, policy: u32, rules: u32) -> Vec<u8> {
        let mut place = attribute(1, &hook.to_be_bytes());
        place.extend(attribute(3, format!("{dev}\0").as_bytes()));
        let mut body = vec![family, 0, 0, 0];
        body.extend(attribute(1, b"filter\0"));
        body.extend(attribute(3, b"fwd\0"));
        body.extend(attribute(4 | 0x8000, &place)); // NLA_F_NESTED
        body.extend(attribute(5, &policy.to_be_bytes()));
        body.extend(attribute(6, &rules.to_be_bytes()));
        body
    }

    #[test]
    fn chains_that_do_something_to_forwarded_packets() {
        let nics = [Seat { name: "e0".to_owned(), path: Path::Xdp, place: PathBuf::from("/absent") }];
        let found = |body: &[u8]| chain(body, &nics);
        assert_eq!(found(&told(2, 2, "", 1, 3)).as_deref(), Some("chain ip filter fwd"));
        assert_eq!(found(&told(1, 0, "", 0, 0)).as_deref(), Some("chain inet filter fwd"), "drops by policy");
        assert_eq!(found(&told(5, 0, "e0", 1, 1)).as_deref(), Some("chain netdev filter fwd"));
        for other in [
            told(2, 2, "", 1, 0),   // without rules
            told(2, 1, "", 1, 1),   // for the host itself
            told(7, 2, "", 1, 1),   // of a bridge
            told(5, 0, "e1", 1, 1), // of an interface that is no member
            vec![2, 0, 0, 0],       // no base chain
            vec![],
        ] {
            assert_eq!(found(&other), None, "{other:?}");
        }
    }
}
