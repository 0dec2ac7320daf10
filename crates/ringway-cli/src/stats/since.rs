//! What happened since the look before.

use ringway::{OpenPort, monotonic_ns};

use crate::rates::Rates;
use crate::units::short;

/// Ports at one moment.
pub(super) struct Look {
    time_ns: u64,
    pub(super) ports: Vec<OpenPort>,
}

impl Look {
    /// The ports as they were read just now.
    pub(super) fn new(ports: Vec<OpenPort>) -> Self {
        Self { time_ns: monotonic_ns(), ports }
    }

    /// The rates of both directions of a port of this look; `None` when the port was not there before.
    pub(super) fn rates(&self, before: &Self, port: &OpenPort) -> Option<[String; 2]> {
        let then = before
            .ports
            .iter()
            .find(|p| (&p.name, p.pid, p.opened) == (&port.name, port.pid, port.opened))?;
        let seconds = self.time_ns.saturating_sub(before.time_ns) as f64 / 1e9;
        let rx = Rates::between(&then.counters.rx, &port.counters.rx, seconds)?;
        let tx = Rates::between(&then.counters.tx, &port.counters.tx, seconds)?;
        Some([rx, tx].map(words))
    }
}

fn words(r: Rates) -> String {
    format!("{} pps, {} bit/s, {} drops/s", short(r.pps), short(r.bps), short(r.drops))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_short() {
        let rates = Rates { pps: 2_500_000.0, bps: 1.2e9, drops: 70.0, ..Rates::default() };
        assert_eq!(words(rates), "2.50M pps, 1.20G bit/s, 70 drops/s");
        assert_eq!(words(Rates::default()), "0 pps, 0 bit/s, 0 drops/s");
    }
}
