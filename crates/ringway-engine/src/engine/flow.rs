//! Which flow a frame belongs to: a number that is the same in both directions.

use ringway_wire::{Net, Packet, Transport, parse};

/// Flows that are pinned together. A power of two, and more than receivers that share the work evenly.
pub(super) const BUCKETS: usize = 256;

/// The bucket of a frame's flow. For IP that is the pair of addresses and, except in fragments, the pair of ports; for
/// other frames it is the pair of MAC addresses.
pub(super) fn bucket(frame: &[u8]) -> usize {
    let packet = parse(frame);
    let mixed = match packet.net {
        Some(Net::Ipv4(ip)) => {
            let [src, dst] = [ip.src(), ip.dst()].map(|a| u64::from(a.to_bits()));
            with_ports(&packet, src, dst)
        }
        Some(Net::Ipv6(ip)) => {
            let [src, dst] =
                [ip.src(), ip.dst()].map(|a| mix(a.to_bits() as u64) ^ (a.to_bits() >> 64) as u64);
            with_ports(&packet, src, dst)
        }
        _ => packet.ethernet.map_or(0, |ethernet| {
            let [src, dst] = [ethernet.src(), ethernet.dst()]
                .map(|a| a.0.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)));
            both_ways(src, dst)
        }),
    };
    mixed as usize % BUCKETS
}

fn with_ports(packet: &Packet<'_>, src: u64, dst: u64) -> u64 {
    let (from, to) = match packet.transport {
        Some(Transport::Tcp(tcp)) => (tcp.src_port(), tcp.dst_port()),
        Some(Transport::Udp(udp)) => (udp.src_port(), udp.dst_port()),
        _ => (0, 0),
    };
    both_ways(src ^ mix(u64::from(from)), dst ^ mix(u64::from(to)))
}

/// The same for (a, b) and (b, a).
fn both_ways(a: u64, b: u64) -> u64 {
    mix(mix(a.min(b)) ^ a.max(b))
}

/// The finisher of splitmix64: each bit of the argument changes about half of the result's.
fn mix(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// An UDP frame of IPv4.
    fn frame(src: u32, dst: u32, from: u16, to: u16) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14] = 0x45;
        frame[16..18].copy_from_slice(&46_u16.to_be_bytes());
        frame[23] = 17;
        frame[26..30].copy_from_slice(&src.to_be_bytes());
        frame[30..34].copy_from_slice(&dst.to_be_bytes());
        frame[34..36].copy_from_slice(&from.to_be_bytes());
        frame[36..38].copy_from_slice(&to.to_be_bytes());
        frame[38..40].copy_from_slice(&26_u16.to_be_bytes());
        frame
    }

    proptest! {
        #[test]
        fn both_directions_are_one_flow(src: u32, dst: u32, from: u16, to: u16) {
            prop_assert_eq!(bucket(&frame(src, dst, from, to)), bucket(&frame(dst, src, to, from)));
        }

        #[test]
        fn any_bytes_have_a_bucket(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(bucket(&bytes) < BUCKETS);
        }
    }

    #[test]
    fn ports_and_addresses_count() {
        let ports: HashSet<_> = (0..1000).map(|port| bucket(&frame(1, 2, port, 53))).collect();
        let addresses: HashSet<_> = (0..1000).map(|src| bucket(&frame(src, 2, 7, 53))).collect();
        assert!(ports.len() > 200 && addresses.len() > 200, "{} {}", ports.len(), addresses.len());
    }
}
