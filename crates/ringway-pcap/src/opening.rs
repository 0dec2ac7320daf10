//! Opening the port of a handle, or copies of what an interface receives and sends.

use std::ffi::c_int;
use std::os::fd::OwnedFd;
use std::str::FromStr;

use ringway::{NicRings, OpenOptions, Port, PortName, Result};
use ringway_shim::{Rings, Share};

use crate::config::Config;
use crate::devices::Target;
use crate::interface::Interface;

/// The port of a handle, with all that comes with it.
pub(crate) struct Opened {
    pub(crate) share: Share,
    pub(crate) rings: Rings,
    /// Copies of what the host sends.
    pub(crate) host: Option<Port>,
    pub(crate) interface: Option<Interface>,
    /// Has an error when the interface changes.
    pub(crate) attending: Option<OwnedFd>,
}

impl Opened {
    pub(crate) fn new(target: &Target, ready: Option<Copies>, config: &Config) -> Result<Self> {
        // Before all else it is opened: a program without that right gets this error.
        let larger = larger(config.buffer);
        let (share, rings, host, name) = match target {
            Target::Port(name) => {
                let parsed = name.parse()?;
                let of_interface = larger.filter(|_| interface(&parsed).is_some());
                let (share, rings) = Share::open(name, &options(of_interface), true)?;
                (share, rings, None, parsed)
            }
            Target::Copies(device) => {
                // Ports that are open have the usual room. Beside them no larger ones can be opened.
                let ready = ready.filter(|_| larger.is_none());
                let Copies { port, host } =
                    ready.map_or_else(|| Copies::with(options(larger), device), Ok)?;
                let (share, rings) = Share::alone(port);
                (share, rings, Some(host), PortName::from_str(&format!("ebpf:{device}"))?)
            }
        };
        let Some(name) = interface(&name) else {
            return Ok(Self { share, rings, host, interface: None, attending: None });
        };
        let interface = Interface::new(name)?;
        let attending = interface.attend(config.promisc)?;
        Ok(Self { share, rings, host, interface: Some(interface), attending })
    }
}

/// Ports that have copies of what an interface receives, and of what the host sends there.
pub(crate) struct Copies {
    port: Port,
    host: Port,
}

impl Copies {
    pub(crate) fn open(interface: &str) -> Result<Self> {
        Self::with(options(None), interface)
    }

    fn with(options: OpenOptions, interface: &str) -> Result<Self> {
        let options = options.copy(true);
        let host = options.open(&format!("ebpf:{interface}^"))?;
        Ok(Self { port: options.open(&format!("ebpf:{interface}"))?, host })
    }
}

/// Slots for a buffer of that many bytes, if the usual ones have less room. The ports of switches and pipes have theirs already.
fn larger(buffer: c_int) -> Option<u32> {
    const SLOT: u32 = 2048;
    const USUAL: u32 = 2048;
    const MOST: u32 = 16_384;
    u32::try_from(buffer).ok().map(|bytes| (bytes / SLOT).min(MOST)).filter(|&slots| slots > USUAL)
}

/// The program says by pcap_set_promisc(3) whether the interface is promiscuous; see [`Interface::attend`].
fn options(slots: Option<u32>) -> OpenOptions {
    let options = OpenOptions::new().promiscuous(false);
    slots.map_or_else(|| options.clone(), |slots| options.clone().slots(slots))
}

/// The interface that a port receives from. Host rings receive what the host sends: nothing of it is the interface's.
fn interface(name: &PortName) -> Option<&str> {
    match name {
        PortName::Auto { interface, rings }
        | PortName::Ebpf { interface, rings }
        | PortName::Xdp { interface, rings }
        | PortName::Packet { interface, rings } => (*rings != NicRings::Host).then_some(interface),
        PortName::Tap { port, .. } | PortName::Fault { port, .. } | PortName::Trace { port, .. } => {
            interface(port)
        }
        _ => None,
    }
}
