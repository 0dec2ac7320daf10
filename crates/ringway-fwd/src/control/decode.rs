//! From bytes of the kernel to events (linux/rtnetlink.h, linux/nexthop.h, linux/fib_rules.h, linux/netconf.h). Any bytes will do.
//!
//! Only what the mirror needs is read, so an attribute that a newer kernel adds does no harm.

use netlink_packet_core::{NLM_F_APPEND, NLM_F_EXCL, NLM_F_REPLACE};

use super::attributes::{Decoded, SHORT, attributes, family, hash, ip, u8_at, u16_at, u32_at};
use super::decode_route::{next_hop, route};
use super::event::{Address, Event, Link, Mode, Neighbour, Rule, Setting};

/// `RTM_NEW*`; `RTM_DEL*` is one more, `RTM_GET*` two.
pub(super) mod kind {
    pub(crate) const LINK: u16 = 16;
    pub(crate) const ADDRESS: u16 = 20;
    pub(crate) const ROUTE: u16 = 24;
    pub(crate) const NEIGHBOUR: u16 = 28;
    pub(crate) const RULE: u16 = 32;
    pub(crate) const NETCONF: u16 = 80;
    pub(crate) const NEXTHOP: u16 = 104;
}

const ARPHRD_ETHER: u16 = 1;
const FR_ACT_TO_TBL: u8 = 1;
/// `NTF_PROXY`.
const PROXY: u8 = 0x08;
/// Neighbour states in which the link address may be used, but for `NUD_NOARP`, which the kernel sets without a message:
/// `NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT`.
const VALID: u16 = 0x02 | 0x04 | 0x08 | 0x10 | 0x80;

/// What a message says: its type, its flags, what is behind its header. `dump`: it is part of an answer.
pub(super) fn decode(message: u16, flags: u16, body: &[u8], dump: bool) -> Decoded {
    let (object, gone) = (message & !3, message & 3 == 1);
    if message & 3 > 1 {
        return Ok(None);
    }
    match object {
        kind::LINK => link(body, gone),
        kind::ADDRESS => address(body, gone),
        kind::ROUTE => route(body, gone, mode(flags, dump)),
        kind::NEIGHBOUR => neighbour(body, gone),
        kind::RULE => rule(body, gone),
        kind::NETCONF if !gone => setting(body),
        kind::NEXTHOP => next_hop(body, gone),
        _ => Ok(None),
    }
}

fn mode(flags: u16, dump: bool) -> Mode {
    match () {
        () if dump || flags & NLM_F_APPEND != 0 => Mode::Append,
        () if flags & NLM_F_REPLACE != 0 => Mode::Replace,
        () if flags & NLM_F_EXCL != 0 => Mode::New,
        () => Mode::First,
    }
}

fn link(body: &[u8], gone: bool) -> Decoded {
    let (family, hardware) = (u8_at(body, 0)?, u16_at(body, 2)?);
    let (index, flags) = (u32_at(body, 4)?, u32_at(body, 8)?);
    if family != 0 {
        return Ok(None); // a bridge tells of its ports, which stay links
    }
    if gone {
        return Ok(Some(Event::LinkGone(index)));
    }
    let (up, loopback, running, carrier) = (0x1, 0x8, 0x40, 0x10000);
    let mut link = Link {
        index,
        name: String::new(),
        hardware,
        up: flags & up != 0,
        carrier: flags & carrier != 0,
        running: flags & (running | carrier) != 0,
        loopback: flags & loopback != 0,
        mtu: 0,
        address: None,
        master: 0,
    };
    for attribute in attributes(body, 16)? {
        match attribute? {
            (1, value) if hardware == ARPHRD_ETHER => link.address = value.try_into().ok(),
            (3, value) => {
                link.name = String::from_utf8_lossy(value.strip_suffix(&[0]).unwrap_or(value)).into()
            }
            (4, value) => link.mtu = u32_at(value, 0)?,
            (10, value) => link.master = u32_at(value, 0)?,
            _ => {}
        }
    }
    Ok(Some(Event::Link(link)))
}

fn address(body: &[u8], gone: bool) -> Decoded {
    let Some(family) = family(u8_at(body, 0)?) else { return Ok(None) };
    let (len, dev) = (u8_at(body, 1)?, u32_at(body, 4)?);
    let (mut peer, mut local) = (None, None);
    for attribute in attributes(body, 8)? {
        match attribute? {
            (1, value) => peer = Some(ip(family, value)?),
            (2, value) => local = Some(ip(family, value)?),
            _ => {}
        }
    }
    let addr = local.or(peer).ok_or("has an address without address")?;
    let address = Address { dev, addr, len };
    Ok(Some(if gone { Event::AddressGone(address) } else { Event::Address(address) }))
}

fn neighbour(body: &[u8], gone: bool) -> Decoded {
    let Some(family) = family(u8_at(body, 0)?) else { return Ok(None) };
    let (dev, state) = (u32_at(body, 4)?, u16_at(body, 8)?);
    if u8_at(body, 10)? & PROXY != 0 {
        return Ok(None); // an address that this host answers for
    }
    let (mut addr, mut link) = (None, None);
    for attribute in attributes(body, 12)? {
        match attribute? {
            (1, value) => addr = Some(ip(family, value)?),
            (2, value) => link = value.try_into().ok(),
            _ => {}
        }
    }
    let Some(addr) = addr else { return Ok(None) };
    Ok(Some(match link {
        Some(link) if !gone && state & VALID != 0 => Event::Neighbour(Neighbour { dev, addr, link }),
        _ => Event::NeighbourGone(dev, addr),
    }))
}

fn rule(body: &[u8], gone: bool) -> Decoded {
    let Some(family) = family(u8_at(body, 0)?) else { return Ok(None) };
    let (mut table, mut priority) = (u32::from(u8_at(body, 4)?), 0);
    let head = body.get(1..4).ok_or(SHORT)?;
    let invert = u32_at(body, 8)? & 2 != 0;
    let mut plain = head == [0; 3] && !invert && u8_at(body, 7)? == FR_ACT_TO_TBL;
    for attribute in attributes(body, 12)? {
        match attribute? {
            (6, value) => priority = u32_at(value, 0)?,
            (14, value) => plain &= u32_at(value, 0)? == u32::MAX, // suppresses no prefix length
            (15, value) => table = u32_at(value, 0)?,
            (18 | 21, _) => {} // padding; who made it
            _ => plain = false,
        }
    }
    let rule = Rule { family, priority, table, plain, other: hash(body.get(12..).ok_or(SHORT)?) };
    Ok(Some(if gone { Event::RuleGone(rule) } else { Event::Rule(rule) }))
}

fn setting(body: &[u8]) -> Decoded {
    let Some(family) = family(u8_at(body, 0)?) else { return Ok(None) };
    let mut setting = Setting { family, dev: 0, forwarding: None, ignore_linkdown: None, reverse_path: None };
    for attribute in attributes(body, 4)? {
        match attribute? {
            (1, value) => setting.dev = u32_at(value, 0)?.cast_signed(),
            (2, value) => setting.forwarding = Some(u32_at(value, 0)? != 0),
            (3, value) => setting.reverse_path = u8::try_from(u32_at(value, 0)?).ok(),
            (6, value) => setting.ignore_linkdown = Some(u32_at(value, 0)? != 0),
            _ => {}
        }
    }
    Ok(Some(Event::Setting(setting)))
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
