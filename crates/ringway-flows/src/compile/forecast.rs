//! What a run will ask of the network and of memory, as far as the stories say.

use crate::code::{Bundle, Flow, Load, Unit, What};

/// Bytes of a connection at one end, of a flow at one end, and of a register.
const CONNECTION: f64 = 64.0;
const CONTEXT: f64 = 40.0;
const REGISTER: f64 = 8.0;
/// Bytes of a connection's place in the table of one end, at a load of three quarters.
const PLACE: f64 = 4.0 / 0.75;
/// Registers are kept for so many at once.
const CLASSES: [u8; 4] = [0, 4, 8, 16];

/// The greatest numbers of a run. They assume that nothing is lost, and that the network answers at once.
///
/// ```
/// use ringway_flows::compile::{Forecast, Options, Source, compile};
///
/// let text = "
///     pool a = 198.18.0.0/24
///     pool b = 198.19.0.0/24
///     flow f { udp q = a -> b : 7  q > \"ping\"  q < \"pong\"  think 10 ms }
///     run { f ramp 0..1 k flows/s in 1 s hold 5 s }";
/// let bundle = compile(&Source { name: "f", text, read: &|_| Err(String::new()) }, &Options::default()).unwrap();
/// let forecast = Forecast::new(&bundle);
/// assert_eq!((forecast.flows, forecast.packets, forecast.active), (1_000.0, 2_000.0, 10.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Forecast {
    /// Flows that start in a second.
    pub flows: f64,
    /// Packets in a second, of both directions.
    pub packets: f64,
    /// Bits of layer 2 in a second, of both directions.
    pub bits: f64,
    /// Flows that are active at the same time, because they think or because the plan asks for them.
    pub active: f64,
    /// Bytes for these flows, with both ends in one process.
    pub memory: f64,
}

/// Means over the flows of a load.
#[derive(Clone, Copy, Default)]
struct Mean {
    packets: f64,
    bits: f64,
    think: f64,
    memory: f64,
}

impl Forecast {
    /// The forecast for the plan of a bundle.
    #[must_use]
    pub fn new(bundle: &Bundle) -> Self {
        let loads: Vec<(&Load, Mean)> =
            bundle.plan.loads.iter().map(|load| (load, mean(bundle, load.what))).collect();
        let mut greatest = Self::default();
        for time in loads.iter().flat_map(|(load, _)| boundaries(load)) {
            let mut now = Self::default();
            for (load, mean) in &loads {
                now.add(load.unit, level(load, time), *mean);
            }
            greatest.flows = greatest.flows.max(now.flows);
            greatest.packets = greatest.packets.max(now.packets);
            greatest.bits = greatest.bits.max(now.bits);
            greatest.active = greatest.active.max(now.active);
            greatest.memory = greatest.memory.max(now.memory);
        }
        if bundle.plan.max_active > 0 && greatest.active > bundle.plan.max_active as f64 {
            greatest.memory *= bundle.plan.max_active as f64 / greatest.active;
            greatest.active = bundle.plan.max_active as f64;
        }
        greatest
    }

    /// Adds a load at its level of the moment.
    fn add(&mut self, unit: Unit, level: f64, mean: Mean) {
        let flows = match unit {
            Unit::Flows => level,
            Unit::Bits => level / mean.bits.max(1.0),
            Unit::Packets => level / mean.packets.max(1.0),
            // Without a time to think, how many start depends on the network alone.
            Unit::Active if mean.think > 0.0 => level / mean.think,
            Unit::Active => 0.0,
        };
        let active = if unit == Unit::Active { level } else { flows * mean.think };
        self.flows += flows;
        self.packets += flows * mean.packets;
        self.bits += flows * mean.bits;
        self.active += active;
        self.memory += active * mean.memory;
    }
}

/// When the phases of a load begin and end.
fn boundaries(load: &Load) -> Vec<u64> {
    let mut times = vec![load.start];
    for phase in &load.phases {
        times.push(times[times.len() - 1] + phase.length);
    }
    times
}

/// The level of a load at a time: the greater one where two phases meet.
fn level(load: &Load, time: u64) -> f64 {
    let (mut begin, mut greatest) = (load.start, 0.0f64);
    for phase in &load.phases {
        let end = begin + phase.length;
        if (begin..=end).contains(&time) && phase.length > 0 {
            let share = (time - begin) as f64 / phase.length as f64;
            let level = phase.from as f64 + (phase.to as f64 - phase.from as f64) * share;
            greatest = greatest.max(level / 1e3);
        }
        begin = end;
    }
    greatest
}

/// Means over the flows of a mix, or the numbers of a flow.
fn mean(bundle: &Bundle, what: What) -> Mean {
    let shares: Vec<(u32, f64)> = match what {
        What::Flow(index) => vec![(index, 1.0)],
        What::Mix(index) => match bundle.mixes.get(index as usize) {
            Some(mix) => mix.shares.iter().map(|share| (share.flow, f64::from(share.weight))).collect(),
            None => Vec::new(),
        },
    };
    let total: f64 = shares.iter().map(|(_, weight)| weight).sum();
    let mut sum = Mean::default();
    for (index, weight) in shares {
        let Some(flow) = bundle.flows.get(index as usize) else { continue };
        let share = weight / total.max(f64::MIN_POSITIVE);
        sum.packets += share * flow.estimate.milli_packets as f64 / 1e3;
        sum.bits += share * flow.estimate.bytes as f64 * 8.0;
        sum.think += share * flow.estimate.think as f64 / 1e9;
        sum.memory += share * memory(flow);
    }
    sum
}

/// Bytes of a flow at both ends.
fn memory(flow: &Flow) -> f64 {
    let registers = |used: u8| f64::from(CLASSES.into_iter().find(|class| *class >= used).unwrap_or(16));
    let both = registers(flow.client.registers) + registers(flow.server.registers);
    2.0 * (CONTEXT + flow.connections.len() as f64 * (CONNECTION + PLACE)) + both * REGISTER
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{Options, Source, compile};

    /// The forecast of a run of one flow with two packets and a second to think.
    fn forecast(run: &str) -> Forecast {
        let text = format!(
            "pool a = 198.18.0.0/24\npool b = 198.19.0.0/24\nflow f {{ udp q = a -> b : 7\nq > \"1234567\"\nq < \"1\"\nthink 1 s }}\n\
             attack x {{ raw udp a* -> b : 9 }}\nrun {{ {run} }}"
        );
        let source = Source { name: "f", text: &text, read: &|_| Err(String::new()) };
        Forecast::new(&compile(&source, &Options::default()).unwrap())
    }

    #[test]
    fn loads_add_up_where_they_meet() {
        let apart = forecast("f rate 10 flows/s for 5 s\nx rate 100 pkt/s from 6 s to 8 s");
        assert_eq!((apart.flows, apart.packets), (100.0, 100.0));
        let together = forecast("f rate 10 flows/s for 5 s\nx rate 100 pkt/s from 4 s to 8 s");
        assert_eq!((together.flows, together.packets), (110.0, 120.0));
    }

    #[test]
    fn bits_and_active_flows_give_rates() {
        // 42 bytes of headers each, and 8 bytes of data.
        let bits = forecast("f rate 7360 bit/s for 5 s");
        assert_eq!((bits.flows, bits.active), (10.0, 10.0));
        let active = forecast("f ramp 0..50 flows in 1 s hold 1 s\nconcurrent max 20");
        assert_eq!((active.flows, active.active), (50.0, 20.0));
        // Two contexts, two connections in two tables, no registers but the one for the time.
        assert!((active.memory - 20.0 * (2.0 * (40.0 + 64.0 + 4.0 / 0.75) + 32.0)).abs() < 1e-6);
    }
}
