//! IPv4 and IPv6.

use ringway_fib::Walk;

/// IPv4 or IPv6.
pub(super) trait Family: Walk {
    /// Name of the family.
    const NAME: &'static str;
    /// Names of the cases: the streams, latency, build, updates, meanwhile.
    const CASES: [&'static str; 10];
    /// Its table among the data.
    const FILE: &'static str;
    /// An address of the uniform stream.
    fn anywhere(bits: u128) -> Self;
    /// The key as DPDK takes it.
    fn dpdk(self) -> Vec<u8>;
}

impl Family for u32 {
    const NAME: &'static str = "IPv4";
    const CASES: [&'static str; 10] = [
        "ipv4-uniform",
        "ipv4-covered",
        "ipv4-sorted",
        "ipv4-repeat",
        "ipv4-zipf",
        "ipv4-latency",
        "ipv4-build",
        "ipv4-update-trace",
        "ipv4-update-random",
        "ipv4-meanwhile",
    ];
    const FILE: &'static str = "v4-2026-06-19.txt.xz";

    fn anywhere(bits: u128) -> Self {
        bits as Self
    }

    fn dpdk(self) -> Vec<u8> {
        self.to_ne_bytes().into()
    }
}

impl Family for u128 {
    const NAME: &'static str = "IPv6";
    const CASES: [&'static str; 10] = [
        "ipv6-uniform",
        "ipv6-covered",
        "ipv6-sorted",
        "ipv6-repeat",
        "ipv6-zipf",
        "ipv6-latency",
        "ipv6-build",
        "ipv6-update-trace",
        "ipv6-update-random",
        "ipv6-meanwhile",
    ];
    const FILE: &'static str = "v6-2026-06-19.txt.xz";

    fn anywhere(bits: u128) -> Self {
        1 << 125 | bits >> 3
    }

    fn dpdk(self) -> Vec<u8> {
        self.to_be_bytes().into()
    }
}
