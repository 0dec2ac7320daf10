//! What ports counted within the last hour, for charts.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringway::{OpenPort, open_ports};
use serde_json::{Value, json};

/// Time between two samples.
pub const STEP: Duration = Duration::from_secs(10);

/// Samples of an hour, and one more for its first rate.
const SAMPLES: usize = 361;

/// Ports of a sample, at most: the first ones by name.
const PORTS: usize = 64;

/// Frames received and sent, bytes received and sent, frames dropped.
type Counts = [u64; 5];

/// Samples of all open ports.
#[derive(Debug, Default)]
pub struct History {
    samples: VecDeque<Sample>,
}

#[derive(Debug)]
struct Sample {
    /// Seconds since 1970.
    at: f64,
    ports: BTreeMap<String, Counts>,
}

impl History {
    /// Takes a sample of the ports that are open now.
    pub fn take(&mut self) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        self.add(at, &open_ports());
    }

    fn add(&mut self, at: f64, open: &[OpenPort]) {
        let mut all = BTreeMap::<String, Counts>::new();
        for port in open {
            let (rx, tx) = (&port.counters.rx, &port.counters.tx);
            let counts =
                [rx.frames_out, tx.frames_out, rx.bytes_out, tx.bytes_out, rx.dropped() + tx.dropped()];
            let sum = all.entry(format!("{} {}", port.name, port.pid)).or_default();
            sum.iter_mut().zip(counts).for_each(|(sum, n)| *sum = sum.wrapping_add(n));
        }
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(Sample { at, ports: all.into_iter().take(PORTS).collect() });
    }

    /// The samples, oldest first: times, and numbers by port with its process. `counts` names the numbers.
    #[must_use]
    pub fn json(&self) -> Value {
        let sample = |s: &Sample| json!({ "at": s.at, "ports": s.ports });
        json!({
            "step": STEP.as_secs(),
            "counts": ["rx_frames", "tx_frames", "rx_bytes", "tx_bytes", "dropped"],
            "samples": self.samples.iter().map(sample).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_is_kept() {
        let mut history = History::default();
        (0..400).for_each(|k| history.add(f64::from(k) * 10.0, &[]));
        let json = history.json();
        let samples = json["samples"].as_array().unwrap();
        assert_eq!(
            (samples.len(), &samples[0]["at"], &samples[360]["at"]),
            (361, &json!(390.0), &json!(3990.0))
        );
        assert_eq!(samples[0]["ports"], json!({}));
    }
}
