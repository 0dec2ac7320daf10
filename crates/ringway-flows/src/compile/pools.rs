//! Pools, and the guard on where they may lie.

use std::net::IpAddr;

use super::constant::{Given, constant, number, whole_of};
use super::global::Global;
use crate::code::{Choice, Macs, Pool, Range, Vlans, is_laboratory};
use crate::lang::{Diagnostic, Expr, ExprKind, PoolItem, PoolRange, RangeEnd, Setting, Span, Unit};

/// First and last port of a pool that names none.
const PORTS: (u16, u16) = (1024, 65_535);

/// Most pools, and most ranges of a pool.
const MAX_POOLS: usize = 256;
const MAX_RANGES: usize = 256;

/// Adds a pool.
pub(super) fn add(global: &mut Global<'_>, item: &PoolItem) {
    let name = &item.name;
    if let Some((_, span)) = global.pools.get(&name.node) {
        let diagnostic =
            Diagnostic::new(name.span, format!("`{}` exists already", name.node), "the second one");
        return global.error(diagnostic.and(*span, "the first one"));
    }
    match pool(global, item) {
        Ok(pool) => {
            let index = global.tables.bundle.pools.len() as u32;
            global.tables.bundle.pools.push(pool);
            global.pools.insert(name.node.clone(), (index, name.span));
        }
        Err(diagnostic) => global.error(diagnostic),
    }
}

/// The pool of an item.
fn pool(global: &mut Global<'_>, item: &PoolItem) -> Result<Pool, Diagnostic> {
    let mut ranges: Vec<Range> = Vec::new();
    if item.ranges.len() > MAX_RANGES || global.pools.len() >= MAX_POOLS {
        return Err(Diagnostic::new(
            item.name.span,
            "a file has at most 256 pools, of at most 256 ranges each",
            "one too many, or too large",
        ));
    }
    for written in &item.ranges {
        let range = range(written)?;
        let span = written.first.span;
        if global.lab.is_empty() && !is_laboratory(&range) {
            return Err(outside(&range, span));
        }
        if ranges.first().is_some_and(|first| first.first.is_ipv4() != range.first.is_ipv4()) {
            return Err(Diagnostic::new(
                span,
                "a pool has IPv4 or IPv6 addresses, not both",
                "of the other family",
            )
            .help("make two pools"));
        }
        if ranges.iter().any(|other| other.first <= range.last && range.first <= other.last) {
            return Err(Diagnostic::new(
                span,
                "two ranges of a pool overlap",
                "some of these are there already",
            ));
        }
        ranges.push(range);
    }
    let mut pool = Pool {
        name: global.tables.name(&item.name.node),
        ranges,
        first_port: PORTS.0,
        last_port: PORTS.1,
        choice: Choice::Sequential,
        port_choice: Choice::Sequential,
        macs: None,
        vlans: None,
    };
    let mut ports = false;
    for setting in &item.settings {
        ports |= setting.name.node == "port";
        set(global, &mut pool, setting, ports)?;
    }
    Ok(pool)
}

/// The error about a pool that is not for laboratories.
fn outside(range: &Range, span: Span) -> Diagnostic {
    let label = format!("{} to {} is not all inside them", range.first, range.last);
    Diagnostic::new(span, "a pool may only have addresses that are set aside for laboratories", label).help(
        "use 198.18.0.0/15, 2001:2::/48, private addresses (10/8, 172.16/12, 192.168/16) or a block for documentation; \
         or say with --lab-ack TEXT why this network is isolated",
    )
}

/// The addresses of a range.
fn range(written: &PoolRange) -> Result<Range, Diagnostic> {
    let first = written.first.node;
    let span = written.first.span;
    match &written.end {
        RangeEnd::Single => Ok(Range { first, last: first }),
        RangeEnd::Last(last) if last.node.is_ipv4() != first.is_ipv4() || last.node < first => {
            Err(Diagnostic::new(
                last.span,
                "a range of addresses ends below its start",
                "not above the first address",
            )
            .and(span, "the first address"))
        }
        RangeEnd::Last(last) => Ok(Range { first, last: last.node }),
        RangeEnd::Prefix(len) => {
            let bits = if first.is_ipv4() { 32 } else { 128 };
            if len.node > bits {
                return Err(Diagnostic::new(len.span, "a prefix is too long", format!("at most {bits}")));
            }
            let (net, last) = block(first, len.node as u32);
            if net != first {
                return Err(Diagnostic::new(
                    span,
                    "an address has bits behind its prefix",
                    "not the first of its block",
                )
                .help(format!("write {net}/{}", len.node)));
            }
            Ok(Range { first, last })
        }
    }
}

/// The first and the last address of the block around an address.
fn block(address: IpAddr, len: u32) -> (IpAddr, IpAddr) {
    match address {
        IpAddr::V4(address) => {
            let host = u32::MAX.checked_shr(len).unwrap_or(0);
            let bits = u32::from(address);
            (IpAddr::V4((bits & !host).into()), IpAddr::V4((bits | host).into()))
        }
        IpAddr::V6(address) => {
            let host = u128::MAX.checked_shr(len).unwrap_or(0);
            let bits = u128::from(address);
            (IpAddr::V6((bits & !host).into()), IpAddr::V6((bits | host).into()))
        }
    }
}

/// Sets one setting of a pool. A choice behind `port` is for its ports.
fn set(global: &Global<'_>, pool: &mut Pool, setting: &Setting, ports: bool) -> Result<(), Diagnostic> {
    let span = setting.name.span;
    let choice = if ports { &mut pool.port_choice } else { &mut pool.choice };
    match (setting.name.node.as_str(), &setting.value) {
        ("sequential", _) => *choice = Choice::Sequential,
        ("random", _) => *choice = Choice::Random,
        ("zipf", Some(value)) => {
            let exponent = number(value, global)?;
            if exponent.unit != Unit::One || exponent.micro > 10_000_000 {
                return Err(Diagnostic::new(
                    value.span,
                    "an exponent is a plain number up to 10",
                    "not such a number",
                ));
            }
            *choice = Choice::Zipf { exponent: exponent.micro as u64 };
        }
        ("port", Some(value)) => {
            let (first, last) = pair(global, value)?;
            if first == 0 || last > 65_535 {
                return Err(Diagnostic::new(value.span, "ports are 1 to 65535", "not in this range"));
            }
            (pool.first_port, pool.last_port) = (first as u16, last as u16);
        }
        ("vlan", Some(value)) => {
            let (first, last) = pair(global, value)?;
            if first == 0 || last > 4_094 {
                return Err(Diagnostic::new(value.span, "VLANs are 1 to 4094", "not in this range"));
            }
            pool.vlans = Some(Vlans { first: first as u16, last: last as u16 });
        }
        ("mac", Some(Expr { node: ExprKind::Text(bytes), span })) => {
            let Ok(first) = <[u8; 6]>::try_from(bytes.as_slice()) else {
                return Err(Diagnostic::new(*span, "this is no hardware address", "not six bytes"));
            };
            if first[0] & 1 == 1 {
                return Err(Diagnostic::new(
                    *span,
                    "a pool needs hardware addresses of single hosts",
                    "a multicast address",
                ));
            }
            pool.macs = Some(Macs { first, count: 1 });
        }
        ("count", Some(value)) => {
            let count = whole_of(value, Unit::One, global)?;
            match &mut pool.macs {
                Some(macs) if (1..=1 << 24).contains(&count) => macs.count = count as u32,
                _ => {
                    return Err(Diagnostic::new(
                        value.span,
                        "a pool has 1 to 16777216 hardware addresses",
                        "not such a number",
                    ));
                }
            }
        }
        (name, _) => {
            return Err(Diagnostic::new(span, format!("`{name}` is no setting of a pool"), "unknown word"));
        }
    }
    Ok(())
}

/// A number twice, or the two ends of a range.
fn pair(global: &Global<'_>, value: &Expr) -> Result<(u64, u64), Diagnostic> {
    match constant(value, global)? {
        Given::Dist(dist, Unit::One) => Ok((dist.lo, dist.hi)),
        Given::Number(_) => whole_of(value, Unit::One, global).map(|n| (n, n)),
        other => Err(Diagnostic::new(
            value.span,
            "a number or a range is needed here",
            format!("this is {}", other.what()),
        )),
    }
}
