//! A modelled switch in words.

use super::table::TableSpec;
use crate::rfc2889::pattern::MOST_PORTS;
use crate::rfc2889::traffic::Flaw;
use ringway_tester::trial::rate::{MICROSECOND, SECOND};
use ringway_tester::trial::words::{Described, InWords, positive, time};
use ringway_traffic::number::{count, frames};

/// What a switch does with a frame that its output has no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// Drops it: queues are at the outputs.
    Output,
    /// Lets it wait at the input, and what came behind it too: head-of-line blocking. Drops what the input has no room for.
    Input,
    /// As [`Input`](Self::Input), but has the sender wait: back pressure.
    Pressure,
}

/// What a switch can do. Times in picoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Ports.
    pub ports: usize,
    /// Time of a frame at an output beyond which its link is no faster; 0 for that of the link.
    pub frame_ps: u64,
    /// Time that the whole device works on a frame; 0 for none.
    pub fabric_ps: u64,
    /// Frames that wait at an output, and at an input or before the fabric.
    pub buffer: u64,
    /// From the last bit in to the first bit out when nothing waits.
    pub latency_ps: u64,
    /// Addresses.
    pub table: TableSpec,
    /// Overloaded outputs.
    pub queueing: Queueing,
    /// Wrong frames that it forwards.
    pub forwards: Vec<Flaw>,
}

/// A modelled switch, written
/// `switch[:ports=4,port-pps=1M,fabric=8M,buffer=64,latency=5us,table=8192,learn=10k,age=300s,hol,pressure,forwards=bad-fcs+oversize]`.
///
/// `port-pps` limits each output, `fabric` all of them together. `hol` has queues at the inputs, `pressure`
/// too and holds senders back. `forwards` names wrong frames that it should drop and does not.
///
/// ```
/// use ringway_rfc::rfc2889::model::SwitchSpec;
/// let spec: SwitchSpec = "switch:ports=8,table=1024,hol".parse()?;
/// assert_eq!((spec.ports, spec.table.capacity), (8, 1024));
/// # Ok::<(), String>(())
/// ```
pub type SwitchSpec = InWords<Model>;

impl Default for Model {
    fn default() -> Self {
        let table = TableSpec { capacity: 8192, learns_per_second: None, age_ps: 300 * SECOND };
        Self {
            ports: 4,
            frame_ps: 0,
            fabric_ps: 0,
            buffer: 64,
            latency_ps: 5 * MICROSECOND,
            table,
            queueing: Queueing::Output,
            forwards: vec![Flaw::Dribble],
        }
    }
}

impl Described for Model {
    const DEFAULT: &'static str = "switch";

    fn named(name: &str) -> Result<Self, String> {
        match name {
            "switch" => Ok(Self::default()),
            _ => Err(format!("'{name}' is no device with several ports; accepted: switch[:ports=4,...]")),
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "ports" => {
                let ports = value.parse().ok().filter(|n| (2..=MOST_PORTS).contains(n));
                self.ports =
                    ports.ok_or_else(|| format!("'{value}' is no number of ports from 2 to {MOST_PORTS}"))?;
            }
            "port-pps" => self.frame_ps = SECOND / positive(value, frames)?,
            "fabric" => self.fabric_ps = SECOND / positive(value, frames)?,
            "buffer" => self.buffer = positive(value, count)?,
            "latency" => self.latency_ps = time(value)?,
            "table" => self.table.capacity = positive(value, count)?,
            "learn" => self.table.learns_per_second = Some(positive(value, count)?),
            "age" => self.table.age_ps = time(value)?,
            "hol" if value.is_empty() => self.queueing = Queueing::Input,
            "pressure" if value.is_empty() => self.queueing = Queueing::Pressure,
            "forwards" => {
                for name in value.split('+') {
                    let flaw = Flaw::ALL.into_iter().find(|flaw| flaw.name() == name);
                    let all = || Flaw::ALL.map(Flaw::name).join(", ");
                    self.forwards
                        .push(flaw.ok_or_else(|| format!("'{name}' is no flaw; accepted: {}", all()))?);
                }
            }
            _ => {
                let all =
                    "ports, port-pps, fabric, buffer, latency, table, learn, age, hol, pressure, forwards";
                return Err(format!("a switch has no '{key}'; accepted: {all}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_options_are_read() {
        let text = "switch:ports=8,port-pps=1M,fabric=4M,buffer=9,latency=1us,table=100,learn=10k,age=1s,pressure,forwards=bad-fcs+undersize";
        let spec: SwitchSpec = text.parse().unwrap();
        let m = &*spec;
        assert_eq!(
            (m.ports, m.frame_ps, m.fabric_ps, m.buffer, m.latency_ps),
            (8, MICROSECOND, MICROSECOND / 4, 9, MICROSECOND)
        );
        assert_eq!(m.table, TableSpec { capacity: 100, learns_per_second: Some(10_000), age_ps: SECOND });
        assert_eq!(
            (m.queueing, &m.forwards[1..]),
            (Queueing::Pressure, &[Flaw::BadFcs, Flaw::Undersize][..])
        );
        assert_eq!(spec.to_string(), text);
        assert_eq!(serde_json::from_str::<SwitchSpec>(&serde_json::to_string(&spec).unwrap()).unwrap(), spec);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("link", "accepted: switch"),
            ("switch:ports=1", "from 2 to 64"),
            ("switch:speed=3", "accepted: ports, port-pps"),
            ("switch:hol=3", "a switch has no 'hol'"),
            ("switch:forwards=x", "accepted: undersize, oversize"),
            ("switch:age=3", "no time"),
        ] {
            let why = text.parse::<SwitchSpec>().unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
