//! Pairs of veths, made and asked for by route netlink (linux/if_link.h).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::netlink::{CREATE, Netlink, attribute, put, u32_at};

/// Attributes of links.
const IFNAME: u16 = 3;
const MTU: u16 = 4;
const LINK: u16 = 5;
const MASTER: u16 = 10;
const LINKINFO: u16 = 18;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFALIAS: u16 = 20;
const STATS64: u16 = 23;
const AF_SPEC: u16 = 26;
const NET_NS_FD: u16 = 28;
const LINK_NETNSID: u16 = 37;
const ADDR_GEN_MODE: u16 = 8;

/// Numbers that a network namespace has for others (linux/net_namespace.h).
const GETNSID: u16 = 90;
const NETNSA_NSID: u16 = 1;
const NETNSA_FD: u16 = 3;

/// `IN6_ADDR_GEN_MODE_NONE`: the interface gets no IPv6 address by itself.
const NO_ADDRESS: u8 = 1;

/// Bytes of `struct ifinfomsg`.
const IFINFOMSG: usize = 16;

/// Place of `tx_dropped` in `struct rtnl_link_stats64`, in words.
const TX_DROPPED: usize = 7;

fn ifinfomsg(index: u32, flags: u32) -> Vec<u8> {
    let mut body = vec![0; IFINFOMSG];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    body[8..12].copy_from_slice(&flags.to_ne_bytes());
    body[12..16].copy_from_slice(&flags.to_ne_bytes());
    body
}

fn nest(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    put(body, kind | super::netlink::NESTED, value);
}

/// Makes a pair with one end in the present network namespace, with this index and name, and the other in `there`, which gets a name
/// of this pattern (`rw%d`). Returns the index of the latter.
pub fn make((index, name): (u32, &str), there: &File, pattern: &str, mtu: u32) -> io::Result<u32> {
    let mut peer = ifinfomsg(0, 0);
    put(&mut peer, IFNAME, format!("{pattern}\0").as_bytes());
    put(&mut peer, MTU, &mtu.to_ne_bytes());
    put(&mut peer, NET_NS_FD, &there.as_raw_fd().to_ne_bytes());
    let (mut data, mut info) = (Vec::new(), Vec::new());
    nest(&mut data, VETH_INFO_PEER, &peer);
    put(&mut info, INFO_KIND, b"veth\0");
    nest(&mut info, INFO_DATA, &data);
    let mut body = ifinfomsg(index, 0);
    put(&mut body, IFNAME, format!("{name}\0").as_bytes());
    put(&mut body, MTU, &mtu.to_ne_bytes());
    nest(&mut body, LINKINFO, &info);
    let mut netlink = Netlink::route()?;
    netlink.ask(libc::RTM_NEWLINK, CREATE, &body).map_err(|e| said(&mut netlink, e))?;
    let links = netlink.ask(libc::RTM_GETLINK, 0, &ifinfomsg(index, 0))?;
    let link = links.first().and_then(|m| attribute(m.body.get(IFINFOMSG..)?, LINK));
    link.and_then(|value| u32_at(value, 0)).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Brings an interface of the present network namespace up that nobody is to use: no addresses come to be, nor questions for neighbours.
pub fn bring_up_unused(index: u32, alias: &str) -> io::Result<()> {
    let (mut inet6, mut spec) = (Vec::new(), Vec::new());
    put(&mut inet6, ADDR_GEN_MODE, &[NO_ADDRESS]);
    nest(&mut spec, libc::AF_INET6 as u16, &inet6);
    let set = |flags: i32, more: &dyn Fn(&mut Vec<u8>)| {
        let mut body = ifinfomsg(index, flags as u32);
        more(&mut body);
        Netlink::route()?.ask(libc::RTM_NEWLINK, 0, &body).map(drop)
    };
    // A kernel without IPv6 refuses this, and needs it not.
    let _ = set(0, &|body| nest(body, AF_SPEC, &spec));
    set(libc::IFF_UP | libc::IFF_NOARP, &|body| put(body, IFALIAS, alias.as_bytes()))
}

/// Index of what an interface of the present network namespace is joined to, as a veth to its other end, and the number that this
/// namespace has for that of the other end, unless it is the same one.
pub fn joined_to(index: u32) -> io::Result<Option<(u32, Option<u32>)>> {
    let links = Netlink::route()?.ask(libc::RTM_GETLINK, 0, &ifinfomsg(index, 0))?;
    let attrs = links.first().and_then(|m| m.body.get(IFINFOMSG..)).unwrap_or_default();
    let word = |kind| attribute(attrs, kind).and_then(|value| u32_at(value, 0));
    Ok(word(LINK).map(|link| (link, word(LINK_NETNSID))))
}

/// Index of the bridge, bond or the like of which an interface of the present network namespace is a part.
pub fn master_of(index: u32) -> io::Result<Option<u32>> {
    let links = Netlink::route()?.ask(libc::RTM_GETLINK, 0, &ifinfomsg(index, 0))?;
    let attrs = links.first().and_then(|m| m.body.get(IFINFOMSG..)).unwrap_or_default();
    Ok(attribute(attrs, MASTER).and_then(|value| u32_at(value, 0)))
}

/// The number that the present network namespace has for another one, if it has one.
pub fn number_of(netns: &File) -> io::Result<Option<u32>> {
    let mut body = vec![0; 4]; // struct rtgenmsg, padded
    put(&mut body, NETNSA_FD, &netns.as_raw_fd().to_ne_bytes());
    let answer = Netlink::route()?.ask(GETNSID, 0, &body)?;
    let number = answer.first().and_then(|m| attribute(m.body.get(4..)?, NETNSA_NSID));
    Ok(number.and_then(|value| u32_at(value, 0)).filter(|&number| number != u32::MAX))
}

/// Deletes an interface of the present network namespace; of a pair, both ends.
pub fn delete(index: u32) -> io::Result<()> {
    Netlink::route()?.ask(libc::RTM_DELLINK, 0, &ifinfomsg(index, 0)).map(drop)
}

/// Frames that an interface of the present network namespace was to send and dropped.
pub fn tx_dropped(index: u32) -> io::Result<u64> {
    let links = Netlink::route()?.ask(libc::RTM_GETLINK, 0, &ifinfomsg(index, 0))?;
    let stats = links.first().and_then(|m| attribute(m.body.get(IFINFOMSG..)?, STATS64));
    let word = stats.and_then(|s| s.get(8 * TX_DROPPED..8 * TX_DROPPED + 8)?.try_into().ok());
    word.map(u64::from_ne_bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn said(netlink: &mut Netlink, e: io::Error) -> io::Error {
    match netlink.words() {
        Some(words) => io::Error::new(e.kind(), words),
        None => e,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{self, Interface};

    #[test]
    fn a_pair_joins_two_namespaces_and_goes_as_one() {
        if !crate::is_root() {
            return eprintln!("SKIPPED: making interfaces needs root");
        }
        let there = || File::open("/proc/thread-self/ns/net");
        let (outer_netns, outer_file) = net::in_private_netns(there).unwrap();
        let inner = || {
            let outer = make((4711, "inner"), &outer_file, "rw%d", 65535)?;
            bring_up_unused(4711, "a test")?;
            Ok((outer, net::name(4711)?, Interface::new(4711)?.mtu()?, tx_dropped(4711)?, there()?))
        };
        let (_kept, (outer, name, mtu, dropped, inner_file)) = net::in_private_netns(inner).unwrap();
        assert_eq!((name.as_str(), mtu, dropped), ("inner", 65535, 0));
        let seen = || {
            bring_up_unused(outer, "a test")?;
            // A worker of the kernel calls it running.
            while !Interface::new(outer)?.link_up()? {
                std::thread::yield_now();
            }
            net::name(outer)
        };
        assert_eq!(net::in_netns(&outer_file, seen).unwrap(), "rw0");
        let found = net::in_netns(&outer_file, || Ok((joined_to(outer)?, number_of(&inner_file)?))).unwrap();
        assert_eq!(found.0, Some((4711, found.1)));
        assert!(found.1.is_some() && joined_to(1).unwrap().is_none_or(|(_, number)| number.is_none()));
        net::in_netns(&inner_file, || delete(4711)).unwrap();
        assert!(net::in_netns(&outer_file, || net::name(outer)).is_err());
        drop(outer_netns);
    }
}
