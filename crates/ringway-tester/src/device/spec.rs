//! Modelled devices by name.

use super::{Device, Link, Switch, SwitchSpec};
use crate::trial::rate::{MICROSECOND, SECOND};
use crate::trial::words::{Described, InWords, positive, time};
use ringway_traffic::number::{bits, count, frames};

/// A modelled device, written `link[:delay=1us]` or
/// `switch[:pps=1.2M,bps=8Gbit,buffer=64,latency=5us,recovery=10ms,outage=1s+200ms]`.
///
/// `pps` and `bps` limit a switch by the time it works on each frame and on each byte; both are as of [`number`](ringway_traffic::number); `outage` is when it restarts, and for how
/// long.
///
/// ```
/// use ringway_tester::device::DeviceSpec;
/// let spec: DeviceSpec = "switch:pps=1M,buffer=32,latency=5us".parse()?;
/// assert_eq!(spec.service_ps(64), Some(1_000_000));
/// # Ok::<(), String>(())
/// ```
pub type DeviceSpec = InWords<Modelled>;

/// One of the modelled devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modelled {
    /// A link that each bit takes so many picoseconds for.
    Link {
        /// Picoseconds.
        delay_ps: u64,
    },
    /// A device that stores frames.
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

impl Default for Modelled {
    fn default() -> Self {
        Self::Link { delay_ps: 0 }
    }
}

impl Modelled {
    /// One direction through the device, between ports of `bits` per second; `None` for ports without a speed.
    #[must_use]
    pub fn build(&self, bits: Option<u64>) -> Box<dyn Device> {
        match *self {
            Self::Link { delay_ps } => Box::new(Link::new(delay_ps)),
            Self::Switch(spec) => {
                let wire_byte_ps = bits.map_or(0, |bits| 8 * SECOND / bits);
                Box::new(Switch::new(SwitchSpec { wire_byte_ps, ..spec }))
            }
        }
    }

    /// Time between frames of `size` bytes when the device is busy; `None` when it has no limit.
    #[must_use]
    pub fn service_ps(&self, size: u32) -> Option<u64> {
        match *self {
            Self::Link { .. } => None,
            Self::Switch(spec) => Some(spec.service_ps(size)),
        }
    }
}

impl Described for Modelled {
    const DEFAULT: &'static str = "link";

    fn named(name: &str) -> Result<Self, String> {
        match name {
            "link" => Ok(Self::default()),
            "switch" => Ok(Self::Switch(SWITCH)),
            _ => Err(format!("'{name}' is no device; accepted: link, switch")),
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match (self, key) {
            (Self::Link { delay_ps }, "delay") => *delay_ps = time(value)?,
            (Self::Link { .. }, _) => return Err(format!("a link has no '{key}'; accepted: delay")),
            (Self::Switch(spec), _) => return set(spec, key, value),
        }
        Ok(())
    }
}

/// Sets an option of a switch.
fn set(spec: &mut SwitchSpec, key: &str, value: &str) -> Result<(), String> {
    match key {
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
    Ok(())
}
