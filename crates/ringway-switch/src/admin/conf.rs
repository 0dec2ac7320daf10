//! What root asks of a port of a switch beyond forwarding: VLANs, isolation, storm limits, a mirror.

use std::sync::atomic::Ordering::{Relaxed, Release};

use ringway_bpf::layout::switch::numbers;

use super::module::Module;
use super::port::SwitchPort;
use super::switch::Switch;
use super::vlan::{VlanMode, VlanSet, WORDS};
use crate::layout::{self, info, port as at};
use ringway_sys::error::{Error, ErrorKind, Result};

/// What a storm limit's interval is counted in: parts of a nanosecond.
const UNITS_PER_SECOND: u64 = 16_000_000_000;
const _: () = assert!(UNITS_PER_SECOND == 10 * numbers::STORM_BURST as u64);
/// The interval of a limit of 0 frames: none ever passes.
const NEVER: u64 = u64::MAX;

/// How a port of a switch behaves. The default is a plain port, and a switch of plain ports pays nothing for the rest.
///
/// ```
/// use ringway_switch::{Mirror, PortConf, StormLimits, VlanMode};
/// let conf = PortConf {
///     vlan: VlanMode::Trunk { allowed: "10-20".parse()?, native: Some(1) },
///     storm: StormLimits { broadcast: Some(1000), ..Default::default() },
///     mirror: Some(Mirror { to: "monitor".into(), rx: true, tx: true }),
///     ..Default::default()
/// };
/// assert!(!conf.isolated);
/// # Ok::<(), ringway_sys::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PortConf {
    /// The VLANs it belongs to.
    pub vlan: VlanMode,
    /// Whether it is cut off from other isolated ports: frames of one to another are dropped as `isolated`, those to all leave the
    /// others out.
    pub isolated: bool,
    /// How many frames to all it may send.
    pub storm: StormLimits,
    /// Where copies of its frames go.
    pub mirror: Option<Mirror>,
}

/// Frames to all that a port may send in a second, by kind; those above are dropped as `storm`. `None`: as many as it likes.
///
/// Up to a tenth of a second's frames, at least one, pass at once. All rings of the port share a limit. A frame that goes to one
/// port only, since its sender chose that port, is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StormLimits {
    /// Frames to `ff:ff:ff:ff:ff:ff`.
    pub broadcast: Option<u32>,
    /// Frames to other groups.
    pub multicast: Option<u32>,
    /// Frames to an address that the table does not have.
    pub unknown: Option<u32>,
}

impl StormLimits {
    fn rates(&self) -> [Option<u32>; 3] {
        [self.broadcast, self.multicast, self.unknown]
    }
}

/// Copies of a port's frames for another port: what netmap calls a monitor, and hardware a SPAN port.
///
/// The copy is as on the mirrored port, with the tags it has there, whatever VLANs the mirror belongs to. The mirror goes on being
/// a port as others are; copies to it are not mirrored again. When it has no room, copies are lost as its `ring_full`, and
/// the mirrored traffic does not notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// Name of the port that gets the copies.
    pub to: String,
    /// Copies of what the mirrored port receives: of frames that there was room for.
    pub rx: bool,
    /// Copies of what the mirrored port sends: of all well-formed frames, whatever becomes of them, before they are
    /// delivered.
    pub tx: bool,
}

impl Switch {
    /// How a port behaves.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is no such port.
    pub fn conf(&self, port: &str) -> Result<PortConf> {
        let number = self.number_of(port).ok_or_else(|| self.no_port(port))?;
        let base = at::SIZE * number as usize;
        let flag = |bit| self.ports.u32(base + at::FEATURES).load(Relaxed) & bit != 0;
        let rate = |i: usize| {
            let limited = self.ports.u64(base + at::STORM + 8 * i).load(Relaxed) != 0;
            limited.then(|| self.ports.u32(base + at::RATE + 4 * i).load(Relaxed))
        };
        let mirror = self.ports.u32(base + at::MIRROR).load(Relaxed);
        Ok(PortConf {
            vlan: self.vlan_of(base),
            isolated: flag(at::ISOLATED),
            storm: StormLimits { broadcast: rate(0), multicast: rate(1), unknown: rate(2) },
            mirror: self.record(mirror).map(|(to, _)| Mirror {
                to,
                rx: flag(at::MIRROR_RX),
                tx: flag(at::MIRROR_TX),
            }),
        })
    }

    /// Changes how a port behaves. Addresses that were learned of it are forgotten when its VLANs change. Bursts under way
    /// may still go by what was before.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is no such port, or no such mirror. [`ErrorKind::Invalid`] for a VLAN that is not 1 to
    /// 4094, a trunk without VLANs, or a port that is its own mirror. [`ErrorKind::Unfit`] when a module decides in this switch,
    /// or a host's side is its port. Nothing is changed then.
    pub fn set_conf(&self, port: &str, conf: &PortConf) -> Result<()> {
        let refuse = |kind, what: String, cure: &'static str| {
            Err(Error::new(kind, format!("{}:{port}", self.name), what).cure(cure))
        };
        let bad = |what, cure| refuse(ErrorKind::Invalid, what, cure);
        let _lock = self.lock()?;
        if matches!(self.spec().module, Module::Object(_)) && *conf != PortConf::default() {
            return refuse(
                ErrorKind::Unfit,
                "the switch's module alone decides where frames go".into(),
                "make a switch without a module",
            );
        }
        let ports = self.ports();
        if let Some(host) = ports.iter().find(|p| p.host && *conf != PortConf::default()) {
            let what = format!("the switch has the host's side {}, which knows nothing of this", host.name);
            return refuse(ErrorKind::Unfit, what, "make a switch whose interfaces have no --host");
        }
        let number = self.number_in(&ports, port)?;
        if let Some(what) = conf.vlan.fault() {
            return bad(what, "take VLANs of 1 to 4094");
        }
        let mirror = conf.mirror.as_ref().filter(|m| m.rx || m.tx);
        let to = mirror.map_or(Ok(0), |m| self.number_in(&ports, &m.to))?;
        if to == number {
            return bad("a port can't mirror itself".into(), "name another port for the copies");
        }
        let moved = self.vlan_of(at::SIZE * number as usize) != conf.vlan;
        self.write_conf(number, conf, to);
        if moved {
            self.flush_learned(number);
        }
        Ok(())
    }

    /// Whether a port is more than a plain one.
    pub(crate) fn is_configured(&self, number: u32) -> bool {
        self.ports.u32(number as usize * at::SIZE + at::FEATURES).load(Relaxed) & !at::WATCHED != 0
    }

    fn no_port(&self, name: &str) -> Error {
        Error::new(ErrorKind::NotFound, format!("{}:{name}", self.name), "there is no such port")
            .cure(format!("`ringway switch list {}` shows them", self.name))
    }

    fn number_in(&self, ports: &[SwitchPort], name: &str) -> Result<u32> {
        ports.iter().find(|p| p.name == name).map(|p| p.number).ok_or_else(|| self.no_port(name))
    }

    /// Makes a number the one of a plain port that nobody mirrors to.
    pub(super) fn reset_conf(&self, number: u32) {
        for other in 1..=layout::PORTS_MAX {
            let base = at::SIZE * other as usize;
            if self.ports.u32(base + at::MIRROR).load(Relaxed) == number {
                self.ports.u32(base + at::FEATURES).fetch_and(!(at::MIRROR_RX | at::MIRROR_TX), Relaxed);
                self.ports.u32(base + at::MIRROR).store(0, Relaxed);
            }
        }
        self.write_conf(number, &PortConf::default(), 0);
    }

    /// While it changes, the port belongs to no VLAN.
    fn write_conf(&self, number: u32, conf: &PortConf, mirror: u32) {
        let base = at::SIZE * number as usize;
        let (kind, native) = match conf.vlan {
            VlanMode::Transparent => (0, 0),
            VlanMode::Access(vid) => (at::ACCESS, vid),
            VlanMode::Trunk { native, .. } => (at::TRUNK, native.unwrap_or(0)),
        };
        self.write_members(number, &VlanSet::default());
        self.ports.u32(base + at::NATIVE).store(native.into(), Relaxed);
        self.ports.u32(base + at::MIRROR).store(mirror, Relaxed);
        let mut features = kind;
        for (i, rate) in conf.storm.rates().into_iter().enumerate() {
            let interval = rate.map_or(0, |r| UNITS_PER_SECOND.checked_div(r.into()).unwrap_or(NEVER));
            self.ports.u32(base + at::RATE + 4 * i).store(rate.unwrap_or(0), Relaxed);
            self.ports.u64(base + at::STORM + 8 * i).store(interval, Relaxed);
            features |= if rate.is_some() { at::STORM_LIMIT } else { 0 };
        }
        features |= if conf.isolated { at::ISOLATED } else { 0 };
        if let Some(m) = conf.mirror.as_ref().filter(|_| mirror != 0) {
            features |= if m.rx { at::MIRROR_RX } else { 0 } | if m.tx { at::MIRROR_TX } else { 0 };
        }
        self.ports.u32(base + at::FEATURES).store(features, Relaxed);
        self.update_shared_features();
        self.write_members(number, &conf.vlan.members());
    }

    /// Tells all senders whether receivers want more than plain copies.
    fn update_shared_features(&self) {
        let features = |n: u32| self.ports.u32(at::SIZE * n as usize + at::FEATURES).load(Relaxed);
        let any = (1..=layout::PORTS_MAX).fold(0, |all, n| all | features(n));
        let shared = any & (at::ACCESS | at::TRUNK | at::MIRROR_RX);
        self.update_nic_features(shared);
        self.info.u32(info::SHARED).store(shared, Release);
    }

    fn write_members(&self, number: u32, set: &VlanSet) {
        for (i, &w) in set.words().iter().enumerate() {
            self.vlans.u64(8 * (WORDS * number as usize + i)).store(w, Release);
        }
    }

    fn vlan_of(&self, base: usize) -> VlanMode {
        let first = 8 * WORDS * (base / at::SIZE);
        let native = self.ports.u32(base + at::NATIVE).load(Relaxed) as u16;
        match self.ports.u32(base + at::FEATURES).load(Relaxed) & (at::ACCESS | at::TRUNK) {
            0 => VlanMode::Transparent,
            at::ACCESS => VlanMode::Access(native),
            _ => VlanMode::Trunk {
                allowed: VlanSet::from_words(std::array::from_fn(|i| {
                    self.vlans.u64(first + 8 * i).load(Relaxed)
                })),
                native: Some(native).filter(|&v| v != 0),
            },
        }
    }
}
