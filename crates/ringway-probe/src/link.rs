//! What rtnetlink tells about interfaces, addresses and routes (linux/if_link.h, rtnetlink.h; rtnetlink(7)).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ringway_sys::netlink::{CREATE, DUMP, Message, Netlink, attribute, put, text, u16_at, u32_at};

const IFLA_IFNAME: u16 = 3;
const IFLA_LINK: u16 = 5;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_INFO_KIND: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PREFSRC: u16 = 7;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_ID: u16 = 11;

/// Bytes of `struct ifinfomsg`, `ifaddrmsg`, `rtmsg`, `tcmsg`.
const IFINFO: usize = 16;
const IFADDR: usize = 8;
const RTMSG: usize = 12;
const TCMSG: usize = 20;

/// `TC_H_CLSACT` with the minor numbers of its two sides.
pub(super) const TC_INGRESS: u32 = 0xffff_fff2;
pub(super) const TC_EGRESS: u32 = 0xffff_fff3;

/// One interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) name: String,
    /// Hardware type (linux/if_arp.h).
    pub(super) hardware: u16,
    /// `IFF_` flags.
    pub(super) flags: u32,
    /// What made it, such as `veth`; empty for a device.
    pub(super) kind: String,
    /// Index of the interface at its other end or below it.
    pub(super) below: Option<u32>,
    /// Whether that is in another network namespace.
    pub(super) below_elsewhere: bool,
    /// Index of the bridge or bond that it is a part of.
    pub(super) master: Option<u32>,
}

fn ifinfo(index: u32, flags: u32) -> Vec<u8> {
    let mut m = vec![0; IFINFO];
    m[4..8].copy_from_slice(&index.to_ne_bytes());
    m[8..12].copy_from_slice(&flags.to_ne_bytes());
    m[12..16].copy_from_slice(&flags.to_ne_bytes());
    m
}

/// The interface with that index in this network namespace.
pub(super) fn link(index: u32) -> io::Result<Link> {
    let all = Netlink::route()?.ask(libc::RTM_GETLINK, 0, &ifinfo(index, 0))?;
    all.first().and_then(|m| decode_link(&m.body)).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn decode_link(body: &[u8]) -> Option<Link> {
    let attrs = body.get(IFINFO..)?;
    let info = attribute(attrs, IFLA_LINKINFO).unwrap_or_default();
    Some(Link {
        name: attribute(attrs, IFLA_IFNAME).map(text)?,
        hardware: u16_at(body, 2)?,
        flags: u32_at(body, 8)?,
        kind: attribute(info, IFLA_INFO_KIND).map(text).unwrap_or_default(),
        below: attribute(attrs, IFLA_LINK).and_then(|v| u32_at(v, 0)).filter(|i| *i != 0),
        below_elsewhere: attribute(attrs, IFLA_LINK_NETNSID).is_some(),
        master: attribute(attrs, IFLA_MASTER).and_then(|v| u32_at(v, 0)),
    })
}

/// Names of the interfaces of this network namespace that stand on the one with that index.
pub(super) fn users(index: u32) -> io::Result<Vec<String>> {
    let all = Netlink::route()?.ask(libc::RTM_GETLINK, DUMP, &ifinfo(0, 0))?;
    let all: Vec<_> = all.iter().filter_map(|m| Some((u32_at(&m.body, 4)?, decode_link(&m.body)?))).collect();
    let master = all.iter().find(|(i, _)| *i == index).and_then(|(_, l)| l.master);
    // The far end of a veth is below it in the same sense, and does not stand on it.
    let stands = |l: &Link| l.below == Some(index) && !l.below_elsewhere && l.kind != "veth";
    Ok(all.into_iter().filter(|(i, l)| Some(*i) == master || stands(l)).map(|(_, l)| l.name).collect())
}

/// Brings an interface up.
pub(super) fn set_up(index: u32) -> io::Result<()> {
    Netlink::route()?.ask(libc::RTM_NEWLINK, 0, &ifinfo(index, libc::IFF_UP as u32)).map(drop)
}

/// Makes a veth pair with names of the kernel's choice; the index of one end.
pub(super) fn make_veth() -> io::Result<u32> {
    let mut info = Vec::new();
    put(&mut info, IFLA_INFO_KIND, b"veth");
    let mut body = ifinfo(0, 0);
    put(&mut body, IFLA_LINKINFO, &info);
    let mut netlink = Netlink::route()?;
    netlink.ask(libc::RTM_NEWLINK, CREATE, &body)?;
    let all = netlink.ask(libc::RTM_GETLINK, DUMP, &ifinfo(0, 0))?;
    let veth = all.iter().find(|m| decode_link(&m.body).is_some_and(|l| l.kind == "veth"));
    veth.and_then(|m| u32_at(&m.body, 4)).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Addresses of an interface; IPv6 ones of the link alone are left out, for each interface has them.
pub(super) fn addresses(index: u32) -> io::Result<Vec<IpAddr>> {
    let all = Netlink::route()?.ask(libc::RTM_GETADDR, DUMP, &[0; IFADDR])?;
    let mine = all.iter().filter(|m| u32_at(&m.body, 4) == Some(index));
    Ok(mine.filter_map(|m| decode_address(&m.body)).filter(|a| !link_local(a)).collect())
}

fn decode_address(body: &[u8]) -> Option<IpAddr> {
    let attrs = body.get(IFADDR..)?;
    let value = attribute(attrs, IFA_LOCAL).or_else(|| attribute(attrs, IFA_ADDRESS))?;
    match value.len() {
        4 => Some(IpAddr::from(<[u8; 4]>::try_from(value).ok()?)),
        16 => Some(IpAddr::from(<[u8; 16]>::try_from(value).ok()?)),
        _ => None,
    }
}

fn link_local(a: &IpAddr) -> bool {
    matches!(a, IpAddr::V6(a) if a.segments()[0] & 0xffc0 == 0xfe80)
}

/// Whether frames to the Internet leave by the interface. It asks for addresses of documentation (RFC 5737, RFC 3849), to which
/// only a default route leads.
pub(super) fn is_default_route(index: u32) -> bool {
    let v4 = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    let v6 = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
    [v4, v6].into_iter().any(|to| route(to, None).is_ok_and(|r| oif(&r) == Some(index)))
}

/// Where packets to an address leave, and what they leave by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextHop {
    /// Index of the interface.
    pub interface: u32,
    /// The router to send to; `None` when the address itself is on the link.
    pub gateway: Option<Ipv4Addr>,
    /// The address that such packets come from.
    pub source: Ipv4Addr,
}

/// Asks the kernel's routing tables where a packet to `to` leaves, from a socket that is bound to interface `bound` if there is one;
/// `None` without a route.
///
/// ```
/// use std::net::Ipv4Addr;
/// let hop = ringway_probe::next_hop(Ipv4Addr::LOCALHOST, None)?;
/// assert!(hop.is_none_or(|h| h.interface == 1 && h.gateway.is_none()));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// When the kernel can't be asked.
///
/// Source: rtnetlink(7).
pub fn next_hop(to: Ipv4Addr, bound: Option<u32>) -> io::Result<Option<NextHop>> {
    let all = match route(to.into(), bound) {
        Ok(all) => all,
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENETUNREACH | libc::EHOSTUNREACH)) => {
            return Ok(None);
        }
        Err(e) => return Err(e),
    };
    let attrs = all.first().and_then(|m| m.body.get(RTMSG..)).unwrap_or_default();
    let address = |kind| attribute(attrs, kind).and_then(|v| Some(Ipv4Addr::from(*v.first_chunk::<4>()?)));
    let source = address(RTA_PREFSRC).unwrap_or(Ipv4Addr::UNSPECIFIED);
    Ok(oif(&all).map(|interface| NextHop { interface, gateway: address(RTA_GATEWAY), source }))
}

fn oif(answer: &[Message]) -> Option<u32> {
    let attrs = answer.first().and_then(|m| m.body.get(RTMSG..)).unwrap_or_default();
    attribute(attrs, RTA_OIF).and_then(|v| u32_at(v, 0))
}

fn route(to: IpAddr, bound: Option<u32>) -> io::Result<Vec<Message>> {
    let (family, bytes) = match to {
        IpAddr::V4(a) => (libc::AF_INET, a.octets().to_vec()),
        IpAddr::V6(a) => (libc::AF_INET6, a.octets().to_vec()),
    };
    let mut body = vec![0; RTMSG];
    (body[0], body[1]) = (family as u8, bytes.len() as u8 * 8);
    put(&mut body, RTA_DST, &bytes);
    bound.into_iter().for_each(|index| put(&mut body, RTA_OIF, &index.to_ne_bytes()));
    Netlink::route()?.ask(libc::RTM_GETROUTE, 0, &body)
}

/// Id and name of the eBPF filters at one side of an interface's clsact discipline.
pub(super) fn tc_filters(index: u32, side: u32) -> io::Result<Vec<(u32, String)>> {
    let mut body = vec![0; TCMSG];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    body[12..16].copy_from_slice(&side.to_ne_bytes());
    let all = Netlink::route()?.ask(libc::RTM_GETTFILTER, DUMP, &body)?;
    Ok(all.iter().filter_map(decode_filter).collect())
}

fn decode_filter(m: &Message) -> Option<(u32, String)> {
    let attrs = m.body.get(TCMSG..)?;
    if attribute(attrs, TCA_KIND).map(text)? != "bpf" {
        return None;
    }
    let options = attribute(attrs, TCA_OPTIONS)?;
    let id = attribute(options, TCA_BPF_ID).and_then(|v| u32_at(v, 0))?;
    Some((id, attribute(options, TCA_BPF_NAME).map(text).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_loopback_interface_is_found() {
        let lo = link(1).unwrap();
        assert_eq!((lo.name.as_str(), lo.hardware, lo.below), ("lo", libc::ARPHRD_LOOPBACK, None));
        assert_eq!(link(u32::MAX >> 1).unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert!(!is_default_route(1));
        assert!(tc_filters(1, TC_INGRESS).unwrap_or_default().is_empty());
    }

    #[test]
    fn a_veth_names_its_far_end() {
        let mut info = Vec::new();
        put(&mut info, IFLA_INFO_KIND, b"veth\0");
        let mut body = ifinfo(7, 0x41);
        body[2..4].copy_from_slice(&1u16.to_ne_bytes());
        put(&mut body, IFLA_IFNAME, b"a0\0");
        put(&mut body, IFLA_LINK, &6u32.to_ne_bytes());
        put(&mut body, IFLA_LINKINFO, &info);
        let here = decode_link(&body).unwrap();
        assert_eq!((here.name.as_str(), here.kind.as_str()), ("a0", "veth"));
        assert_eq!((here.hardware, here.flags, here.below, here.below_elsewhere), (1, 0x41, Some(6), false));
        put(&mut body, IFLA_LINK_NETNSID, &0u32.to_ne_bytes());
        assert!(decode_link(&body).unwrap().below_elsewhere);
    }

    #[test]
    fn addresses_of_both_versions() {
        let mut v4 = vec![0; IFADDR];
        put(&mut v4, IFA_ADDRESS, &[10, 0, 0, 2]);
        put(&mut v4, IFA_LOCAL, &[10, 0, 0, 1]);
        assert_eq!(decode_address(&v4), Some("10.0.0.1".parse().unwrap()));
        let mut v6 = vec![0; IFADDR];
        put(&mut v6, IFA_ADDRESS, &[0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        let v6 = decode_address(&v6).unwrap();
        assert!(link_local(&v6) && !link_local(&"2001:db8::1".parse().unwrap()));
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_not(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            decode_link(&bytes);
            decode_address(&bytes);
            decode_filter(&Message { kind: 0, body: bytes });
        }
    }
}
