//! What joins the containers.

use std::any::Any;
use std::fmt;
use std::time::{Duration, Instant};

use ringway::probe;
use ringway::switch::{NicOptions, NicPath};
use ringway_router::follow::Options;
use ringway_router::kernel::{Outcome, Path, Router};

use super::ping::Pinger;
use super::place::{MEMBERS, Place};
use crate::suite::bed::SENDER;
use crate::suite::{Bed, Fault};
use ringway_lab::Lab;
use ringway_tester::dut::{LinuxBridge, OvsUserspace};
use ringway_tester::temporary::TemporaryRouter;
use ringway_tester::temporary::TemporarySwitch;

/// How long a system may take until the containers reach each other.
const PATIENCE: Duration = Duration::from_secs(15);

/// Longest packet whose frame is in one piece in XDP.
const ONE_PIECE: u32 = 3400;

/// How long an answer is waited for meanwhile.
const ANSWER: Duration = Duration::from_millis(50);

/// What joins the containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    /// The kernel's bridge.
    LinuxBridge,
    /// Open vSwitch with its datapath in user space.
    OpenVSwitch,
    /// A switch of Ringway.
    Switch(Way),
    /// The kernel's forwarding.
    LinuxForward,
    /// A router of Ringway.
    Router(Way),
}

/// How frames get from an interface into Ringway and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The one that Ringway chooses when it is asked for nothing.
    Usual,
    /// XDP.
    Xdp,
}

impl Way {
    /// How interfaces become ports of a switch.
    fn nic_options(self) -> NicOptions {
        let path = match self {
            Self::Usual => NicPath::Auto,
            Self::Xdp => NicPath::Xdp,
        };
        NicOptions { path, ..NicOptions::default() }
    }

    /// How interfaces become members of a router.
    fn router_options(self) -> Options {
        let path = match self {
            Self::Usual => None,
            Self::Xdp => Some(Path::Xdp),
        };
        Options { nics: MEMBERS.map(String::from).into(), path, ..Options::default() }
    }

    /// Has the containers take what XDP redirects to them, if need be.
    fn prepare(self, place: &Place) -> Result<(), Fault> {
        match self {
            Self::Usual => Ok(()),
            Self::Xdp => place.offload(["gro", "on"]),
        }
    }

    /// The usual way of veths is measured by itself only where it is not XDP.
    fn check(self, place: &Place) -> Result<(), Fault> {
        let looked = place.middle.run(|| Ok::<_, Fault>(probe::interface(MEMBERS[0])?))?;
        let xdp = looked.programs.iter().any(|p| p.hook.is_xdp());
        match self {
            Self::Usual if xdp => {
                Err(Fault::Unavailable("veths go by XDP here, as in the system named -xdp".into()))
            }
            _ => Ok(()),
        }
    }
}

impl System {
    /// Its name in reports.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::LinuxBridge => "linux-bridge",
            Self::OpenVSwitch => "ovs-userspace",
            Self::Switch(Way::Usual) => "ringway-switch",
            Self::Switch(Way::Xdp) => "ringway-switch-xdp",
            Self::LinuxForward => "linux-forward",
            Self::Router(Way::Usual) => "ringway-router",
            Self::Router(Way::Xdp) => "ringway-router-xdp",
        }
    }

    /// What it does not carry at all.
    fn check(self, mtu: u32) -> Result<(), Fault> {
        match self {
            Self::Switch(Way::Xdp) if mtu > ONE_PIECE => Err(Fault::Unavailable(
                "by XDP a switch finishes no checksums of TCP in frames in several pieces: `ethtool -K IF tx off` in containers".into(),
            )),
            _ => Ok(()),
        }
    }

    fn routes(self) -> bool {
        matches!(self, Self::LinuxForward | Self::Router(_))
    }

    fn start(self, place: &Place) -> Result<Joined, Fault> {
        let middle = &place.middle;
        Ok(match self {
            Self::LinuxBridge => Joined::by(LinuxBridge::create(Some(middle.name()), "br0", &MEMBERS)?),
            Self::OpenVSwitch => {
                place.offload(["tx", "off"])?;
                Joined::by(OvsUserspace::create(middle.name(), &MEMBERS, SENDER)?)
            }
            Self::Switch(way) => {
                way.prepare(place)?;
                let switch = TemporarySwitch::with_ports(0, 0)?;
                switch.add_nics_with(middle, &MEMBERS, &way.nic_options())?;
                way.check(place)?;
                Joined::by(switch)
            }
            Self::LinuxForward => Joined::by(()),
            Self::Router(way) => {
                way.prepare(place)?;
                let router = TemporaryRouter::following(middle, way.router_options())?;
                way.check(place)?;
                Joined { router: Some(router.name().to_owned()), _keeps: Box::new(router) }
            }
        })
    }
}

/// A system at work, until it is dropped.
struct Joined {
    _keeps: Box<dyn Any>,
    /// The name of Ringway's router.
    router: Option<String>,
}

impl Joined {
    fn by(keeps: impl Any) -> Self {
        Self { _keeps: Box::new(keeps), router: None }
    }

    /// Whether Ringway's router has forwarded something: until it is ready the kernel does. Others have no
    /// such time.
    fn works(&self, middle: &Lab) -> Result<bool, Fault> {
        let Some(name) = &self.router else { return Ok(true) };
        let stats = middle.run(|| Ok::<_, Fault>(Router::open(name)?.stats()))?;
        Ok(stats.iter().any(|s| s.counts.get(Outcome::Forwarded) > 0))
    }
}

/// Two containers that reach each other.
pub(super) struct Scene {
    /// First, so that it goes before its interfaces.
    _joined: Joined,
    pub(super) place: Place,
}

impl fmt::Debug for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scene").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Scene {
    /// Makes containers and a system between them, and waits until answers come.
    pub(super) fn new(bed: Bed<'_>, system: System, mtu: u32) -> Result<Self, Fault> {
        system.check(mtu)?;
        let place = Place::new(system.routes(), mtu)?;
        let joined = system.start(&place)?;
        reach(bed, &place, &joined)?;
        Ok(Self { _joined: joined, place })
    }
}

/// Asks until the other container answers, by way of the system.
fn reach(bed: Bed<'_>, place: &Place, joined: &Joined) -> Result<(), Fault> {
    let mut pinger = place.containers[0].run(|| Pinger::open(place.address(1), ANSWER))?;
    let end = Instant::now() + PATIENCE;
    loop {
        if pinger.ask()?.is_some() && joined.works(&place.middle)? {
            return Ok(());
        }
        if bed.signals.stopped() {
            return Err(Fault::Failed("interrupted".into()));
        }
        if Instant::now() > end {
            return Err(Fault::Failed(format!("no answer came in {} s", PATIENCE.as_secs())));
        }
    }
}
