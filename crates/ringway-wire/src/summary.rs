//! One line of text for a parsed frame, in the order of the headers.

use std::fmt::{self, Display, Formatter};

use super::{Arp, ArpOperation, Net, Packet, Transport};

impl Display for Packet<'_> {
    /// Link addresses, VLAN identifiers, network, transport, payload length, and the fault if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut frame = [0; 42];
    /// frame[12..22].copy_from_slice(&[0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1]);
    /// assert_eq!(
    ///     ringway_wire::parse(&frame).to_string(),
    ///     "00:00:00:00:00:00 > 00:00:00:00:00:00, arp who has 0.0.0.0, tell 0.0.0.0, 0 bytes"
    /// );
    /// ```
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.fmt_link(f)?;
        match &self.net {
            Some(Net::Arp(arp)) => fmt_arp(arp, f)?,
            Some(Net::Ipv4(ip)) => self.fmt_ip(f, &ip.src(), &ip.dst())?,
            Some(Net::Ipv6(ip)) => self.fmt_ip(f, &ip.src(), &ip.dst())?,
            None => {}
        }
        write!(f, "{} bytes", self.payload.len())?;
        self.malformed.map_or(Ok(()), |why| write!(f, ", malformed: {}", why.name()))
    }
}

impl Packet<'_> {
    fn fmt_link(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(eth) = &self.ethernet {
            write!(f, "{} > {}, ", eth.src(), eth.dst())?;
        }
        for tag in self.vlans() {
            write!(f, "vlan {}, ", tag.vid())?;
        }
        match self.ethertype {
            Some(ethertype) if self.net.is_none() && ethertype.is_length() => f.write_str("802.3, "),
            Some(ethertype) if self.net.is_none() => write!(f, "ethertype {ethertype}, "),
            _ => Ok(()),
        }
    }

    fn fmt_ip(&self, f: &mut Formatter<'_>, src: &dyn Display, dst: &dyn Display) -> fmt::Result {
        write!(f, "{src} > {dst}, ")?;
        if let Some(protocol) = self.protocol {
            write!(f, "{protocol}")?;
        }
        if self.is_fragment {
            f.write_str(" fragment")?;
        }
        match &self.transport {
            Some(Transport::Udp(udp)) => write!(f, " {} > {}", udp.src_port(), udp.dst_port())?,
            Some(Transport::Tcp(tcp)) => {
                write!(f, " {} > {} {}", tcp.src_port(), tcp.dst_port(), tcp.flags())?;
            }
            Some(Transport::Icmpv4(icmp) | Transport::Icmpv6(icmp)) => {
                write!(f, " type {} code {}", icmp.msg_type(), icmp.code())?;
            }
            None => {}
        }
        if self.protocol.is_some() { f.write_str(", ") } else { Ok(()) }
    }
}

fn fmt_arp(arp: &Arp<&[u8]>, f: &mut Formatter<'_>) -> fmt::Result {
    match arp.operation() {
        ArpOperation::REQUEST => write!(f, "arp who has {}, tell {}, ", arp.target_ip(), arp.sender_ip()),
        ArpOperation::REPLY => write!(f, "arp {} is at {}, ", arp.sender_ip(), arp.sender_mac()),
        other => write!(f, "arp {other}, "),
    }
}

#[cfg(test)]
mod tests {
    use crate::{IpProtocol, Ipv4, Tcp, TcpFlags, parse};

    const LINK: &str = "02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff";

    fn frame(rest: &[u8]) -> Vec<u8> {
        [&[0xff; 6], &[2, 0, 0, 0, 0, 1], rest].concat()
    }

    #[test]
    fn tcp_in_a_vlan() {
        let mut bytes = frame(&[0x81, 0, 0, 7, 8, 0]);
        bytes.resize(18 + 42, 0);
        let mut ip = Ipv4::init(&mut bytes[18..], 22).unwrap();
        ip.set_protocol(IpProtocol::TCP);
        ip.set_dst([192, 0, 2, 1].into());
        let mut tcp = Tcp::init(ip.payload_mut(), 0).unwrap();
        tcp.set_dst_port(80);
        tcp.set_flags(TcpFlags::SYN);
        let expected = format!("{LINK}, vlan 7, 0.0.0.0 > 192.0.2.1, tcp 0 > 80 syn, 2 bytes");
        assert_eq!(parse(&bytes).to_string(), expected);

        let mut ip = Ipv4::new_checked(&mut bytes[18..]).unwrap();
        ip.set_more_fragments(true);
        let expected = format!("{LINK}, vlan 7, 0.0.0.0 > 192.0.2.1, tcp fragment, 22 bytes");
        assert_eq!(parse(&bytes).to_string(), expected);
    }

    #[test]
    fn unknown_and_malformed() {
        assert_eq!(parse(&[]).to_string(), "0 bytes, malformed: ethernet_truncated");
        assert_eq!(parse(&frame(&[0x88, 0xcc, 0])).to_string(), format!("{LINK}, ethertype 0x88cc, 1 bytes"));
        assert_eq!(parse(&frame(&[0, 3, 1, 2, 3])).to_string(), format!("{LINK}, 802.3, 3 bytes"));
        assert_eq!(
            parse(&frame(&[8, 0, 0x45])).to_string(),
            format!("{LINK}, ethertype 0x0800, 1 bytes, malformed: ipv4_truncated")
        );
    }
}
