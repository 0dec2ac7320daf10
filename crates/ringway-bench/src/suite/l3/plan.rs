//! Who is where: links, addresses, next hops.
//!
//! ```text
//! outside            router                         outside
//! flood -> a0 | a1 198.18.0.1   b0 198.18.1.1 | b1 -> sink
//!                               c0 198.18.2.1 | c1 -> sink
//! ```
//!
//! The links have addresses of the block for benchmarks (RFC 2544, C.2.2), next hops are 198.18.1.2 to .5 and 198.18.2.2 to .5, and
//! packets come from 100.64.0.0/10 (RFC 6598).

use std::net::Ipv4Addr;

use ringway_fib::{NextHop, Prefix};

/// Neighbours that routes lead to.
/// Live frames that the generator hands over at a time.
pub(super) const BURST: u32 = 64;

pub(super) const NEXT_HOPS: u16 = 8;

/// First source address; flows have it and those behind.
pub(super) const SOURCES: u32 = 0x6440_0000;

/// Where packets come in.
pub(super) const INGRESS: Link = Link { outside: "a0", router: "a1", net: 0 };

/// Where they leave.
pub(super) const EGRESS: [Link; 2] =
    [Link { outside: "b1", router: "b0", net: 1 }, Link { outside: "c1", router: "c0", net: 2 }];

/// A link between the router and what is around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) outside: &'static str,
    pub(super) router: &'static str,
    net: u8,
}

impl Link {
    /// The router's address, with the length of the prefix.
    pub(super) fn address(self) -> String {
        format!("198.18.{}.1/24", self.net)
    }

    /// The router's link address.
    pub(super) fn mac(self) -> [u8; 6] {
        [2, 0xaa, 0, 0, self.net, 1]
    }
}

/// A neighbour.
#[derive(Debug, Clone, Copy)]
pub(super) struct Neighbour {
    /// Index of its link in [`EGRESS`].
    pub(super) egress: usize,
    pub(super) address: Ipv4Addr,
    pub(super) mac: [u8; 6],
}

impl Neighbour {
    /// The neighbour of a next hop, 1 to 8.
    pub(super) fn of(next_hop: NextHop) -> Self {
        let k = (next_hop.get() - 1) % NEXT_HOPS;
        let (egress, host) = (usize::from(k % 2), (2 + k / 2) as u8);
        let net = EGRESS[egress].net;
        Self { egress, address: Ipv4Addr::new(198, 18, net, host), mac: [2, 0xbb, 0, 0, net, host] }
    }

    /// All of them.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (1..=NEXT_HOPS).filter_map(NextHop::new).map(Self::of)
    }
}

/// Addresses that routers drop, or that the links have: 0/8, 127/8, 169.254/16, 198.18/15, 224/3.
const TAKEN: [(u32, u8); 5] =
    [(0, 8), (0x7f00_0000, 8), (0xa9fe_0000, 16), (0xc612_0000, 15), (0xe000_0000, 3)];

/// Whether a route may be part of the plan: it holds none of these.
pub(super) fn usable(prefix: Prefix<u32>) -> bool {
    let mut taken = TAKEN.into_iter().filter_map(|(addr, len)| Prefix::new(addr, len).ok());
    !taken.any(|p| p.covers(prefix.addr()) || prefix.covers(p.addr()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_hops_are_spread_over_links() {
        let all: Vec<_> = Neighbour::all().collect();
        assert_eq!(all.len(), 8);
        assert_eq!(all.iter().filter(|n| n.egress == 0).count(), 4);
        assert_eq!(all[7].address.to_string(), "198.18.2.5");
        assert!(all.iter().enumerate().all(|(k, n)| all[..k].iter().all(|o| o.mac != n.mac)));
    }

    #[test]
    fn routes_that_nothing_is_forwarded_to_are_left_out() {
        let usable = |text: &str| usable(text.parse().unwrap());
        assert!(usable("10.0.0.0/8") && usable("198.20.0.0/16") && usable("223.255.255.0/24"));
        assert!(!usable("127.1.0.0/16") && !usable("198.18.1.0/24") && !usable("198.0.0.0/8"));
        assert!(!usable("0.0.0.0/0") && !usable("240.0.0.0/8"));
    }
}
