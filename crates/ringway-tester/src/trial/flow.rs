//! Flows: which addresses and ports a frame carries, as a function of its number.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Most flows.
pub const MAX_FLOWS: u32 = 1 << 24;

/// Lowest source port, and number of source and destination ports, that RFC 4814 (4.5) draws from: 1024 to 65535 and 1 to 49151.
const SRC_PORTS: (u16, u64) = (1024, 64_512);
const DST_PORTS: (u16, u64) = (1, 49_151);

/// A single flow: the ports of RFC 2544, C.2.6.4.
const ONE_FLOW: Flow = Flow { src_host: 0, dst_host: 0, src_port: 49_184, dst_port: 7, mac: 0 };

/// In which order flows take turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowOrder {
    /// One after the other.
    #[default]
    Sequential,
    /// Each as likely as the others.
    Random,
    /// The `k`th in proportion to `1 / k`: a few large flows and many small ones.
    Zipf,
}

impl fmt::Display for FlowOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
            Self::Zipf => "zipf",
        })
    }
}

impl FromStr for FlowOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "sequential" => Ok(Self::Sequential),
            "random" => Ok(Self::Random),
            "zipf" => Ok(Self::Zipf),
            _ => Err(format!("'{text}' is no order; accepted: sequential, random, zipf")),
        }
    }
}

/// What varies from flow to flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Host bits of the source, below 4096.
    pub src_host: u16,
    /// Host bits of the destination, below 4096.
    pub dst_host: u16,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Low 24 bits of MAC addresses, where they vary.
    pub mac: u32,
}

/// A number of flows and their order. All of it follows from the seed.
///
/// ```
/// use ringway_tester::trial::flow::{FlowOrder, Flows};
/// let flows = Flows::new(1000, FlowOrder::Sequential, 1);
/// assert_eq!(flows.of(5), flows.of(1005));
/// assert_ne!(flows.of(5), flows.of(6));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flows {
    count: u32,
    order: FlowOrder,
    seed: u64,
}

impl Flows {
    /// `count` flows, 1 to [`MAX_FLOWS`].
    #[must_use]
    pub fn new(count: u32, order: FlowOrder, seed: u64) -> Self {
        Self { count: count.clamp(1, MAX_FLOWS), order, seed }
    }

    /// Number of flows.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// In which order they take turns.
    #[must_use]
    pub fn order(&self) -> FlowOrder {
        self.order
    }

    /// What all of it follows from.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Which flow frame `seq` belongs to.
    #[must_use]
    pub fn index(&self, seq: u64) -> u32 {
        let count = u64::from(self.count);
        match self.order {
            FlowOrder::Sequential => (seq % count) as u32,
            // The high bits of a product with the count: evenly spread, no division.
            FlowOrder::Random => ((u128::from(mix(seq ^ self.seed)) * u128::from(count)) >> 64) as u32,
            FlowOrder::Zipf => {
                let share = mix(seq ^ self.seed) as f64 / 2f64.powi(64);
                let rank = f64::from(self.count + 1).powf(share) as u32;
                (rank - 1).min(self.count - 1)
            }
        }
    }

    /// What frame `seq` carries. Different flows differ in their pair of addresses.
    // Inlined, so that it stays in registers: what is read from memory that was just written waits for all writes before.
    #[inline]
    #[must_use]
    pub fn of(&self, seq: u64) -> Flow {
        if self.count == 1 { ONE_FLOW } else { self.at(self.index(seq)) }
    }

    /// What frames of a flow carry.
    #[must_use]
    pub fn at(&self, index: u32) -> Flow {
        if self.count == 1 {
            return ONE_FLOW;
        }
        let hosts = shuffle(index, self.seed);
        let ports = mix(u64::from(index) ^ self.seed.rotate_left(32));
        Flow {
            src_host: (hosts >> 12) as u16,
            dst_host: (hosts & 0xfff) as u16,
            src_port: SRC_PORTS.0 + ((ports >> 32) % SRC_PORTS.1) as u16,
            dst_port: DST_PORTS.0 + ((ports & 0xffff_ffff) % DST_PORTS.1) as u16,
            mac: hosts,
        }
    }
}

/// Mixes the bits of a number (the finisher of SplitMix64).
fn mix(n: u64) -> u64 {
    let z = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Reorders the numbers below 2^24 (a Feistel network of two halves of 12 bits), so that no two share a result.
fn shuffle(n: u32, seed: u64) -> u32 {
    let (mut left, mut right) = (n >> 12 & 0xfff, n & 0xfff);
    for round in 0..4 {
        let f = mix(u64::from(right) ^ seed ^ (round << 48)) as u32 & 0xfff;
        (left, right) = (right, left ^ f);
    }
    left << 12 | right
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn flows_are_as_many_as_asked_for() {
        for count in [1, 2, 1000, 100_000] {
            let flows = Flows::new(count, FlowOrder::Sequential, 9);
            let seen: HashSet<_> = (0..2 * u64::from(count))
                .map(|seq| flows.of(seq))
                .map(|f| (f.src_host, f.dst_host))
                .collect();
            assert_eq!(seen.len(), count as usize);
        }
        assert_eq!(Flows::new(u32::MAX, FlowOrder::Random, 0).count(), MAX_FLOWS);
    }

    #[test]
    fn no_two_flows_share_their_addresses() {
        let mut seen = vec![false; MAX_FLOWS as usize];
        for n in (0..MAX_FLOWS).step_by(7) {
            assert!(!std::mem::replace(&mut seen[shuffle(n, 5) as usize], true), "{n}");
        }
    }

    #[test]
    fn ports_are_those_of_rfc_4814() {
        let flows = Flows::new(MAX_FLOWS, FlowOrder::Random, 3);
        let (mut low, mut high) = ((u16::MAX, u16::MAX), (0, 0));
        for f in (0..200_000).map(|seq| flows.of(seq)) {
            assert!(
                f.src_port >= 1024
                    && (1..=49_151).contains(&f.dst_port)
                    && f.src_host < 4096
                    && f.dst_host < 4096
            );
            low = (low.0.min(f.src_port), low.1.min(f.dst_port));
            high = (high.0.max(f.src_port), high.1.max(f.dst_port));
        }
        assert!(low.0 < 1030 && low.1 < 10 && high.0 > 65_500 && high.1 > 49_100, "{low:?} {high:?}");
    }

    #[test]
    fn orders_have_their_shapes() {
        let shares = |order| {
            let flows = Flows::new(1000, order, 1);
            let mut counts = vec![0u32; 1000];
            (0..200_000).for_each(|seq| counts[flows.index(seq) as usize] += 1);
            counts
        };
        let random = shares(FlowOrder::Random);
        assert!(random.iter().all(|&n| (100..320).contains(&n)));
        let zipf = shares(FlowOrder::Zipf);
        // ln 2 / ln 1001 of all frames belong to the first flow.
        assert!(zipf[0].abs_diff(20_065) < 800, "{}", zipf[0]);
        assert!(zipf[0] > zipf[1] && zipf[1] > zipf[9] && zipf[9] > zipf[99] && zipf[999] < 100);
        assert!(shares(FlowOrder::Sequential).iter().all(|&n| n == 200));
        assert_eq!("zipf".parse(), Ok(FlowOrder::Zipf));
        assert!("up".parse::<FlowOrder>().unwrap_err().contains("accepted: sequential"));
    }
}
