//! What happened since the look before.

use ringway::{OpenPort, time::monotonic_ns};
use ringway_traffic::units::{bit_rate, scaled};
use ringway_watch::rates::Rates;
use serde_json::{Value, json};

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

    /// What happened at a port of this look; `None` when it was not there before.
    pub(super) fn since(&self, before: &Self, port: &OpenPort) -> Option<Since> {
        let then = before
            .ports
            .iter()
            .find(|p| (&p.name, p.pid, p.opened) == (&port.name, port.pid, port.opened))?;
        let seconds = self.time_ns.saturating_sub(before.time_ns) as f64 / 1e9;
        let rx = Rates::between(&then.counters.rx, &port.counters.rx, seconds)?;
        let tx = Rates::between(&then.counters.tx, &port.counters.tx, seconds)?;
        Some(Since { seconds, rx, tx })
    }
}

/// The rates of both directions of a port.
#[derive(Debug, Clone, Copy)]
pub(super) struct Since {
    /// How long ago the look before was.
    pub(super) seconds: f64,
    pub(super) rx: Rates,
    pub(super) tx: Rates,
}

impl Since {
    /// The object of `--json`.
    pub(super) fn object(&self) -> Value {
        let of = |r: Rates| json!({ "pps": r.pps, "bps": r.bps, "wire_bps": r.wire_bps, "dropped": r.drops });
        json!({ "seconds": self.seconds, "rx": of(self.rx), "tx": of(self.tx) })
    }
}

/// The rates of a direction, for people.
pub(super) fn words(r: Rates) -> String {
    format!("{}, {}, {} drops/s", scaled(r.pps, "pps"), bit_rate(r.bps), short(r.drops))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_as_text_and_as_json() {
        let rx = Rates { pps: 2_500_000.0, bps: 1.2e9, wire_bps: 1.68e9, drops: 70.0, ..Rates::default() };
        assert_eq!(words(rx), "2.500 Mpps, 1.200 Gbit/s, 70 drops/s");
        assert_eq!(words(Rates::default()), "0 pps, 0 bit/s, 0 drops/s");
        let since = Since { seconds: 0.5, rx, tx: Rates::default() };
        let zero = json!({ "pps": 0.0, "bps": 0.0, "wire_bps": 0.0, "dropped": 0.0 });
        let rx = json!({ "pps": 2.5e6, "bps": 1.2e9, "wire_bps": 1.68e9, "dropped": 70.0 });
        assert_eq!(since.object(), json!({ "seconds": 0.5, "rx": rx, "tx": zero }));
    }
}
