//! A test frame of one size, written once; what differs from frame to frame is put into copies of it.

use super::flow::Flow;
use super::format::{COMPACT, FCS, Format, TIME_MASK, UDP, host_bits, v4, v6, vlan_tag};
use ringway_traffic::bytes::{fold, put, put_u16, sum_bytes, sum_u64};
use ringway_traffic::tag::Tag;

const HOPS: u8 = 64;

/// Bytes of the UDP header.
const UDP_LEN: usize = 8;

/// All of a frame but what its flow and its tag say: those fields are zero, and sums are kept without them.
#[derive(Clone, Debug)]
pub(super) struct Template {
    bytes: Vec<u8>,
    ip_at: usize,
    /// Where the low 16 bits of source and destination address are.
    hosts_at: [usize; 2],
    udp_at: usize,
    ipv6: bool,
    /// Whether there is a UDP checksum; IPv6 has one always.
    checksum: bool,
    /// Whether the addresses of receiver and sender vary; a router before the receiver has one of its own.
    vary_macs: [bool; 2],
    /// Sum of the IPv4 header.
    ip_sum: u64,
    /// Sum of pseudo header, UDP header and payload.
    udp_sum: u64,
}

impl Template {
    /// A frame of `size` bytes, FCS included, from one side to the other.
    pub(super) fn new(
        format: &Format,
        macs: [[u8; 6]; 2],
        gateway: Option<[u8; 6]>,
        from: usize,
        size: u32,
    ) -> Self {
        let (ip_at, udp_at) = (format.ip_at(), format.payload_at() - UDP_LEN);
        let mut bytes = vec![0; (size - FCS) as usize];
        for (at, side) in [(0, from ^ 1), (6, from)] {
            put(&mut bytes, at, &macs[side]);
            if format.vary_macs {
                bytes[at + 2] ^= side as u8; // the sides keep apart
            }
        }
        if let Some(gateway) = &gateway {
            put(&mut bytes, 0, gateway);
        }
        for k in 0..format.vlans.len() {
            put(&mut bytes, 12 + 4 * k, &vlan_tag(&format.vlans, k));
        }
        put_u16(&mut bytes, ip_at - 2, if format.ipv6 { 0x86dd } else { 0x0800 });
        let udp = &mut bytes[udp_at..];
        put_u16(udp, 4, udp.len() as u16);
        let used = if udp.len() >= UDP_LEN + Tag::LEN { Tag::LEN } else { COMPACT };
        for (k, byte) in udp[UDP_LEN..].iter_mut().enumerate().skip(used) {
            *byte = k as u8;
        }
        let (addresses, hosts_at) = network(&mut bytes[ip_at..], format.ipv6, from);
        let udp = &bytes[udp_at..];
        let udp_sum = addresses + u64::from(UDP) + udp.len() as u64 + sum_bytes(udp);
        let ip_sum = sum_bytes(&bytes[ip_at..udp_at]);
        let hosts_at = hosts_at.map(|at| ip_at + at);
        let checksum = format.ipv6 || !format.no_checksum;
        let (ipv6, vary_macs) = (format.ipv6, [format.vary_macs && gateway.is_none(), format.vary_macs]);
        Self { bytes, ip_at, hosts_at, udp_at, ipv6, checksum, vary_macs, ip_sum, udp_sum }
    }

    /// Writes a frame, which is as long as the template.
    pub(super) fn write(&self, frame: &mut [u8], flow: &Flow, tag: &Tag) {
        frame.copy_from_slice(&self.bytes);
        for (at, vary) in [3, 9].into_iter().zip(self.vary_macs) {
            if vary {
                put(frame, at, &flow.mac.to_be_bytes()[1..]);
            }
        }
        let [src, dst] = [flow.src_host, flow.dst_host].map(host_bits);
        put_u16(frame, self.hosts_at[0], src);
        put_u16(frame, self.hosts_at[1], dst);
        let hosts = u64::from(src) + u64::from(dst);
        if !self.ipv6 {
            put_u16(frame, self.ip_at + 10, !fold(self.ip_sum + hosts));
        }
        let udp = &mut frame[self.udp_at..];
        put_u16(udp, 0, flow.src_port);
        put_u16(udp, 2, flow.dst_port);
        let ports = u64::from(flow.src_port) + u64::from(flow.dst_port);
        let tag = write_tag(&mut udp[UDP_LEN..], tag);
        if !self.checksum {
            return;
        }
        let checksum = !fold(self.udp_sum + hosts + ports + tag);
        put_u16(udp, 6, if checksum == 0 { 0xffff } else { checksum });
    }
}

/// Writes an IP header without the low bits of its addresses. Returns the sum of the addresses and where those bits are.
fn network(packet: &mut [u8], ipv6: bool, from: usize) -> (u64, [usize; 2]) {
    let length = packet.len() as u16;
    let (addresses, hosts_at) = if ipv6 {
        packet[0] = 0x60;
        put_u16(packet, 4, length - 40);
        put(packet, 6, &[UDP, HOPS]);
        put(packet, 8, &v6(from, 0).octets());
        put(packet, 24, &v6(from ^ 1, 0).octets());
        (8..40, [22, 38])
    } else {
        packet[0] = 0x45;
        put_u16(packet, 2, length);
        put_u16(packet, 6, 0x4000); // don't fragment; with it the identification may be zero (RFC 6864, 4.1)
        put(packet, 8, &[HOPS, UDP]);
        put(packet, 12, &v4(from, 0).octets());
        put(packet, 16, &v4(from ^ 1, 0).octets());
        (12..20, [14, 18])
    };
    hosts_at.iter().for_each(|&at| put_u16(packet, at, 0));
    (sum_bytes(&packet[addresses]), hosts_at)
}

/// Writes the tag that fits and returns what it adds to the checksum.
fn write_tag(payload: &mut [u8], tag: &Tag) -> u64 {
    if let Some(bytes) = payload.first_chunk_mut() {
        tag.write(bytes);
        return 0; // it sums to nothing
    }
    let low = (u64::from(tag.stream) << 32) | (tag.seq & 0xffff_ffff);
    put(payload, 0, &low.to_be_bytes()[2..]);
    put(payload, 6, &tag.time_ns.to_be_bytes()[2..]);
    sum_u64(low) + sum_u64(tag.time_ns & TIME_MASK)
}
