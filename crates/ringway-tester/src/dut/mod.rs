//! Devices under test: bridges, switches and routers, set up by name in namespaces of their own.
//!
//! ```text
//! tester's namespace      device's namespace
//! port 0 on t0 | ---- veth ---- | d0  bridge, switch or
//! port 1 on t1 | ---- veth ---- | d1  router of d0, d1, ...
//! ```
//!
//! | part | module |
//! | --- | --- |
//! | kinds of devices, and how the tester attaches ([`DutKind`], [`Backend`]) | `kind` |
//! | namespaces and links | `place` |
//! | addresses and routes of routers, and Ringway's router | `router` |
//! | packet filters of the kernel's devices | `filters` |
//!
//! Everything goes away with the [`Dut`]. What a killed owner left is removed when the next one is started.

mod backend;
mod bridge;
mod filters;
mod kind;
mod openvswitch;
mod place;
mod router;
mod spec;
#[cfg(test)]
mod tests;

use std::thread;

use ringway_wire::MacAddr;

use super::temporary as own;
use super::temporary::TemporaryRouter;
use super::temporary::TemporarySwitch;

use crate::Fault;
use ringway_lab::{Lab, LabError};

pub use backend::Backend;
pub use bridge::LinuxBridge;
pub use kind::DutKind;
pub use openvswitch::OvsUserspace;
use place::Place;
pub use spec::{Behind, DutSpec, MOST_FILTERS, MOST_PORTS, MOST_ROUTES};

/// A device at work, with the links that lead to it.
///
/// Start it in a thread that lives as long as it does: processes of a device end with the thread that started them.
///
/// ```no_run
/// use ringway_tester::dut::{Dut, DutKind, DutSpec};
/// use ringway_tester::Fault;
/// let dut = Dut::start(DutKind::LinuxBridge, &DutSpec { ports: 4, ..DutSpec::default() })?;
/// let names: Vec<&str> = dut.ports().iter().map(String::as_str).collect();
/// let ports = dut.run(|| Ok::<_, Fault>(ringway::OpenOptions::new().open_each(&names)?))?;
/// assert_eq!(ports.len(), 4);
/// # Ok::<(), Fault>(())
/// ```
#[derive(Debug)]
pub struct Dut {
    kind: DutKind,
    ports: Vec<String>,
    macs: Option<Vec<MacAddr>>,
    /// Before the place, whose links it uses.
    device: Device,
    place: Option<Place>,
}

/// What forwards, kept until it is dropped.
#[derive(Debug)]
enum Device {
    /// The links themselves, or the kernel's own forwarding between them.
    Kernel,
    Bridge {
        _bridge: LinuxBridge,
    },
    Switch {
        switch: TemporarySwitch,
    },
    Router {
        router: TemporaryRouter,
    },
    Ovs {
        switch: Box<OvsUserspace>,
    },
}

impl Dut {
    /// Sets a device up, after removing the devices of owners that are dead.
    ///
    /// # Errors
    /// [`Fault::Unavailable`] when this machine or this user can't have it, with the cure; [`Fault::Failed`] when it has no such
    /// form (number of ports, filters), or its set-up failed. Nothing is left then.
    pub fn start(kind: DutKind, spec: &DutSpec) -> Result<Self, Fault> {
        kind.check(spec)?;
        own::delete_stale();
        if kind == DutKind::RingwayPorts {
            return Self::of_ports(spec);
        }
        let place = Place::new(kind, spec)?;
        let device = place.inside().map_or(Ok(Device::Kernel), |_| Device::start(kind, spec, &place))?;
        filters::install(kind, spec, &place)?;
        Ok(Self {
            kind,
            ports: place.ports(spec.backend),
            macs: kind.is_router().then(|| (0..spec.ports).map(place::mac).collect()),
            device,
            place: Some(place),
        })
    }

    /// Virtual ports of a switch: no links, no namespaces.
    fn of_ports(spec: &DutSpec) -> Result<Self, Fault> {
        let count = u32::try_from(spec.ports).unwrap_or(u32::MAX);
        let switch = TemporarySwitch::with_ports(count, 0)?;
        let ports = (0..spec.ports).map(|k| switch.port_name(&format!("p{k}"))).collect();
        let device = Device::Switch { switch };
        Ok(Self { kind: DutKind::RingwayPorts, ports, macs: None, device, place: None })
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> DutKind {
        self.kind
    }

    /// Names of the tester's ports, to be opened within [`run`](Self::run).
    #[must_use]
    pub fn ports(&self) -> &[String] {
        &self.ports
    }

    /// Link addresses of a router's ports, to which frames have to be sent; `None` for devices that forward whatever the address.
    #[must_use]
    pub fn macs(&self) -> Option<&[MacAddr]> {
        self.macs.as_deref()
    }

    /// Name of the device's network namespace, if it has one.
    #[must_use]
    pub fn netns(&self) -> Option<&str> {
        self.place.as_ref()?.inside().map(|lab| lab.name())
    }

    /// The device's namespace, with its interfaces `d0`, `d1` and so on; `None` where it has no links.
    #[must_use]
    pub fn inside(&self) -> Option<&Lab> {
        self.place.as_ref()?.inside()
    }

    /// The tester's namespace, with its interfaces `t0`, `t1` and so on; `None` where it has no links.
    #[must_use]
    pub fn outside(&self) -> Option<&Lab> {
        self.place.as_ref().map(Place::outside)
    }

    /// The process of a device that is one.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        match &self.device {
            Device::Ovs { switch } => Some(switch.daemon()),
            _ => None,
        }
    }

    /// Name of Ringway's own switch or router in the kernel, if the device is one.
    #[must_use]
    pub fn own(&self) -> Option<&str> {
        match &self.device {
            Device::Switch { switch } => Some(switch.name()),
            Device::Router { router } => Some(router.name()),
            _ => None,
        }
    }

    /// Runs `job` where the tester's ports are, on a thread of its own if that is another namespace, and waits for it. Ports
    /// that it opens go on working outside.
    ///
    /// # Errors
    /// When the namespace can't be entered; otherwise the job's own.
    pub fn run<T: Send, E: Send + From<LabError>>(
        &self,
        job: impl FnOnce() -> Result<T, E> + Send,
    ) -> Result<T, E> {
        match &self.place {
            Some(place) => place.outside().run(job),
            None => job(),
        }
    }
}

impl Device {
    fn start(kind: DutKind, spec: &DutSpec, place: &Place) -> Result<Self, Fault> {
        let Some(inside) = place.inside() else { return Ok(Self::Kernel) };
        let members = place.members();
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        Ok(match kind {
            DutKind::LinuxBridge => {
                Self::Bridge { _bridge: LinuxBridge::create(Some(inside.name()), "br0", &members)? }
            }
            DutKind::RingwaySwitch => {
                let switch = TemporarySwitch::with_ports(0, 0)?;
                switch.add_nics(inside, &members)?;
                Self::Switch { switch }
            }
            DutKind::RingwayRouter => Self::Router { router: router::ringway(inside, &members)? },
            DutKind::OpenVSwitch => {
                let cpu = spec.cpu.unwrap_or_else(last_cpu);
                Self::Ovs { switch: Box::new(OvsUserspace::create(inside.name(), &members, cpu)?) }
            }
            DutKind::Veth | DutKind::RingwayPorts | DutKind::LinuxRouter | DutKind::LinuxBridgedRouter => {
                Self::Kernel
            }
        })
    }
}

fn last_cpu() -> usize {
    thread::available_parallelism().map_or(0, |n| n.get() - 1)
}
