//! Rates, concurrency and memory that a plan asks for, as far as they are known before a run.

use crate::code::{Bundle, End, Flow, Load, Unit, What};
use crate::shard::access::end_bytes;

use super::steady::{end_of, is_attack, placed};

/// What a packet is taken to need from one end to the other when nobody knows the network.
pub const PACKET_NS: u64 = 50_000;
/// Connections beyond the estimate: flows that begin and end at the same time, and flows that fail slowly.
const SPARE: f64 = 1.25;
/// How long a flow may take longer than estimated, in ns.
const LONGER: f64 = 1e9;
/// Most connection ends of a shard.
const MOST: f64 = 64e6;

/// The highest sum of all loads at one time, of which each number may be at another time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peak {
    /// Flows that start in a second.
    pub flows: f64,
    /// Packets in a second, of both ends.
    pub packets: f64,
    /// Bits of layer 2 in a second, of both ends.
    pub bits: f64,
    /// Flows at the same time, with [`PACKET_NS`] for each packet.
    pub active: f64,
    /// Bytes of their records, of both ends, without bytes that wait.
    pub memory: f64,
}

/// Means over the flows that a load starts.
struct Mean {
    packets: f64,
    bits: f64,
    seconds: f64,
    memory: f64,
}

impl Mean {
    fn of(bundle: &Bundle, load: &Load) -> Self {
        let shares: Vec<(u32, f64)> = match load.what {
            What::Flow(flow) => vec![(flow, 1.0)],
            What::Mix(mix) => {
                let shares = bundle.mixes.get(mix as usize).map_or(&[][..], |mix| &mix.shares);
                let sum: f64 = shares.iter().map(|share| f64::from(share.weight)).sum();
                shares.iter().map(|share| (share.flow, f64::from(share.weight) / sum)).collect()
            }
        };
        let mut mean = Self { packets: 0.0, bits: 0.0, seconds: 0.0, memory: 0.0 };
        for (flow, share) in shares {
            let Some(flow) = bundle.flows.get(flow as usize) else { continue };
            mean.packets += share * flow.estimate.milli_packets as f64 / 1e3;
            mean.bits += share * flow.estimate.bytes as f64 * 8.0;
            mean.seconds += share * duration_ns(flow) / 1e9;
            mean.memory += share * bytes(flow) as f64;
        }
        mean
    }

    /// What a level of a load, in thousandths of its unit, asks for.
    fn at(&self, unit: Unit, milli: u64) -> Peak {
        let level = milli as f64 / 1e3;
        let flows = match unit {
            Unit::Flows | Unit::Packets => level,
            Unit::Bits => level / self.bits.max(1.0),
            Unit::Active => level / self.seconds,
        };
        let active = if unit == Unit::Active { level } else { flows * self.seconds };
        let (packets, bits) = (flows * self.packets, flows * self.bits);
        Peak { flows, packets, bits, active, memory: active * self.memory }
    }
}

/// How long a flow takes, by the compiler's estimate, in ns.
pub fn duration_ns(flow: &Flow) -> f64 {
    flow.estimate.think as f64 + (flow.estimate.milli_packets as f64 / 1e3).max(1.0) * PACKET_NS as f64
}

/// Bytes of the records of both ends of a flow.
pub fn bytes(flow: &Flow) -> usize {
    end_bytes(flow, End::Client) + end_bytes(flow, End::Server)
}

/// The highest rates and numbers of a plan.
pub fn peak(bundle: &Bundle) -> Peak {
    let loads: Vec<(&Load, Mean)> =
        bundle.plan.loads.iter().map(|load| (load, Mean::of(bundle, load))).collect();
    let mut edges: Vec<u64> =
        loads.iter().flat_map(|(load, _)| placed(load).flat_map(|(a, b, _)| [a, b])).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut peak = Peak::default();
    for edge in edges {
        // Just before the edge, and just behind it.
        for after in [false, true] {
            let here = loads
                .iter()
                .filter_map(|(load, mean)| Some(mean.at(load.unit, level_at(load, edge, after)?)));
            let sum = here.fold(Peak::default(), |a, b| a.with(b, |x, y| x + y));
            peak = peak.with(sum, f64::max);
        }
    }
    let most = bundle.plan.max_active as f64;
    if most > 0.0 && peak.active > most {
        (peak.memory, peak.active) = (peak.memory * most / peak.active, most);
    }
    peak
}

impl Peak {
    fn with(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            flows: f(self.flows, other.flows),
            packets: f(self.packets, other.packets),
            bits: f(self.bits, other.bits),
            active: f(self.active, other.active),
            memory: f(self.memory, other.memory),
        }
    }
}

/// The level of a load next to an edge, in thousandths.
fn level_at(load: &Load, edge: u64, after: bool) -> Option<u64> {
    placed(load).find_map(|(start, end, phase)| match after {
        true if start == edge => Some(phase.from),
        false if end == edge => Some(phase.to),
        _ if start < edge && edge < end => {
            let passed = (edge - start) as f64 / (end - start) as f64;
            Some((phase.from as f64 + (phase.to as f64 - phase.from as f64) * passed) as u64)
        }
        _ => None,
    })
}

/// When the last load ends, in ns of the run.
pub fn end_ns(bundle: &Bundle) -> u64 {
    bundle.plan.loads.iter().map(end_of).max().unwrap_or(0)
}

/// Ends of connections that a shard with both ends needs, and bytes for messages that wait.
///
/// Flows that take a second longer than [`duration_ns`] still have room, up to the `concurrent max` of the plan.
pub fn room(bundle: &Bundle) -> (u32, usize) {
    let widest = bundle.flows.iter().map(|flow| flow.connections.len().max(1)).max().unwrap_or(1) as f64;
    let slow = |load: &Load| {
        let highest = load.phases.iter().map(|phase| phase.from.max(phase.to)).max().unwrap_or(0);
        let mean = Mean::of(bundle, load);
        let at = mean.at(load.unit, highest);
        // Packets of an attack are sent at once; a connection of it counts like that of a flow.
        let longer =
            if is_attack(bundle, load) && load.unit == Unit::Packets { 0.0 } else { at.flows * LONGER / 1e9 };
        if load.unit == Unit::Active { at.active } else { at.active + longer }
    };
    let flows: f64 = bundle.plan.loads.iter().map(slow).sum();
    let most = if bundle.plan.max_active == 0 { f64::INFINITY } else { bundle.plan.max_active as f64 };
    let ends = (flows.min(most) * widest * 2.0 * SPARE + 1024.0).min(MOST);
    (ends as u32, (ends as usize).saturating_mul(1024).clamp(16 << 20, 4 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{Phase, Spacing};
    use crate::run::example::bundle;

    fn plan(unit: Unit, phases: &[(u64, u64, u64)]) -> Bundle {
        let mut bundle = bundle("flow web { tcp c = inside -> outside : 80\n c > \"a\"\n c > close }");
        bundle.flows[0].estimate.milli_packets = 10_000;
        bundle.flows[0].estimate.bytes = 1000;
        let phases =
            phases.iter().map(|&(from, to, length)| Phase { from, to, length, steady: from == to }).collect();
        let load = Load { what: What::Flow(0), unit, start: 5, phases, spacing: Spacing::Even };
        bundle.plan.loads = vec![load];
        bundle
    }

    #[test]
    fn a_peak_is_the_highest_sum() {
        let mut bundle = plan(Unit::Flows, &[(0, 2_000_000, 100), (1_000_000, 1_000_000, 100)]);
        let one = peak(&bundle);
        assert_eq!((one.flows, one.packets, one.bits, one.active), (2000.0, 20_000.0, 16e6, 1.0));
        // A second load over the first phase's last half, at half of its level.
        let mut second = bundle.plan.loads[0].clone();
        (second.start, second.phases) =
            (55, vec![Phase { from: 500_000, to: 500_000, length: 20, steady: true }]);
        bundle.plan.loads.push(second);
        assert_eq!(peak(&bundle).flows, 2000.0);
        bundle.plan.loads[1].start = 105;
        bundle.plan.max_active = 1;
        let both = peak(&bundle);
        assert_eq!((both.flows, both.active), (2000.0, 1.0));
        assert_eq!(both.memory, bytes(&bundle.flows[0]) as f64);
    }

    #[test]
    fn a_number_of_flows_is_their_room() {
        let bundle = plan(Unit::Active, &[(8_000_000, 8_000_000, 100)]);
        assert_eq!((peak(&bundle).active, room(&bundle).0), (8000.0, 8000 * 2 * 5 / 4 + 1024));
        assert_eq!(room(&Bundle::default()), (1024, 16 << 20));
    }
}
