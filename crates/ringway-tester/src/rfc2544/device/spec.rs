//! Modelled devices by name.

use crate::trial::words::positive;
use crate::trial::words::time;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Device, Link, Switch, SwitchSpec};
use crate::trial::rate::{MICROSECOND, SECOND};
use ringway_traffic::number::{bits, count, frames};

/// A modelled device, written `link[:delay=1us]` or
/// `switch[:pps=1.2M,bps=8Gbit,buffer=64,latency=5us,recovery=10ms,outage=1s+200ms]`.
///
/// `pps` and `bps` limit a switch by the time it works on each frame and on each byte; both are as of [`number`](ringway_traffic::number); `outage` is when it restarts, and for how
/// long.
///
/// ```
/// use ringway_tester::rfc2544::device::DeviceSpec;
/// let spec: DeviceSpec = "switch:pps=1M,buffer=32,latency=5us".parse()?;
/// assert_eq!(spec.service_ps(64), Some(1_000_000));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct DeviceSpec {
    text: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Link { delay_ps: u64 },
    Switch(SwitchSpec),
}

/// What a switch is when nothing is said.
const SWITCH: SwitchSpec = SwitchSpec {
    frame_ps: 0,
    byte_ps: 0,
    buffer: 64,
    latency_ps: 5 * MICROSECOND,
    recovery_ps: 0,
    outage_ps: None,
    wire_byte_ps: 0,
};

impl DeviceSpec {
    /// An ideal link.
    #[must_use]
    pub fn link() -> Self {
        Self { text: "link".into(), kind: Kind::Link { delay_ps: 0 } }
    }

    /// One direction through the device, between ports of `bits` per second; `None` for ports without a speed.
    #[must_use]
    pub fn build(&self, bits: Option<u64>) -> Box<dyn Device> {
        match self.kind {
            Kind::Link { delay_ps } => Box::new(Link::new(delay_ps)),
            Kind::Switch(spec) => {
                let wire_byte_ps = bits.map_or(0, |bits| 8 * SECOND / bits);
                Box::new(Switch::new(SwitchSpec { wire_byte_ps, ..spec }))
            }
        }
    }

    /// Time between frames of `size` bytes when the device is busy; `None` when it has no limit.
    #[must_use]
    pub fn service_ps(&self, size: u32) -> Option<u64> {
        match self.kind {
            Kind::Link { .. } => None,
            Kind::Switch(spec) => Some(spec.service_ps(size)),
        }
    }
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<DeviceSpec> for String {
    fn from(spec: DeviceSpec) -> Self {
        spec.text
    }
}

impl TryFrom<String> for DeviceSpec {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for DeviceSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let options: Vec<(&str, &str)> = options
            .split(',')
            .filter(|o| !o.is_empty())
            .map(|o| o.split_once('=').unwrap_or((o, "")))
            .collect();
        let kind = match name {
            "link" => link(&options),
            "switch" => switch(&options),
            _ => Err(format!("'{name}' is no device; accepted: link, switch")),
        };
        kind.map(|kind| Self { text: text.into(), kind }).map_err(|why| format!("device '{text}': {why}"))
    }
}

fn link(options: &[(&str, &str)]) -> Result<Kind, String> {
    let mut delay_ps = 0;
    for (key, value) in options {
        match *key {
            "delay" => delay_ps = time(value)?,
            _ => return Err(format!("a link has no '{key}'; accepted: delay")),
        }
    }
    Ok(Kind::Link { delay_ps })
}

fn switch(options: &[(&str, &str)]) -> Result<Kind, String> {
    let mut spec = SWITCH;
    for (key, value) in options {
        match *key {
            "pps" => spec.frame_ps = SECOND / positive(value, frames)?,
            "bps" => spec.byte_ps = 8 * SECOND / positive(value, bits)?,
            "buffer" => spec.buffer = positive(value, count)?,
            "latency" => spec.latency_ps = time(value)?,
            "recovery" => spec.recovery_ps = time(value)?,
            "outage" => {
                let (at, length) =
                    value.split_once('+').ok_or("outage: accepted: TIME+LENGTH such as 1s+200ms")?;
                let at = time(at)?;
                spec.outage_ps = Some((at, at + time(length)?));
            }
            _ => {
                let all = "pps, bps, buffer, latency, recovery, outage";
                return Err(format!("a switch has no '{key}'; accepted: {all}"));
            }
        }
    }
    Ok(Kind::Switch(spec))
}
