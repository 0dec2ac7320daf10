//! The places of each device, and how packets are made to end there.

use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use ringway::ErrorKind;
use ringway::switch::{NicCut, NicOptions, NicPath, Switch};
use ringway_lab::{Lab, LabError};
use ringway_router::kernel::{Interface, Router, StopAfter};
use ringway_sys::drop_all::{Place, drop_all};
use ringway_sys::net;
use ringway_tester::Fault;
use ringway_tester::dut::{Dut, DutKind};

/// A place where packets end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Its name.
    pub name: &'static str,
    /// The work between the place before it and this one.
    pub stage: &'static str,
    at: At,
}

/// How packets are made to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// By a program that drops all at an interface.
    Drop(&'static str, Place),
    /// By a route.
    Blackhole,
    /// By Ringway's router.
    Router(StopAfter),
    /// By Ringway's switch.
    Switch(NicCut),
    /// Nowhere.
    Whole,
}

const fn cut(name: &'static str, stage: &'static str, at: At) -> Cut {
    Cut { name, stage, at }
}

/// The kernel's router, from the wire inwards.
const LINUX_ROUTER: [Cut; 5] = [
    cut("xdp drop", "receive in the driver", At::Drop("d0", Place::Xdp)),
    cut("tc ingress drop", "buffer, GRO and release", At::Drop("d0", Place::TcIngress)),
    cut("blackhole route", "IP input and route", At::Blackhole),
    cut("tc egress drop", "forward and link header", At::Drop("d1", Place::TcEgress)),
    cut("full path", "transmit and sink", At::Whole),
];

/// The kernel's bridge.
const LINUX_BRIDGE: [Cut; 4] = [
    cut("xdp drop", "receive in the driver", At::Drop("d0", Place::Xdp)),
    cut("tc ingress drop", "buffer, GRO and release", At::Drop("d0", Place::TcIngress)),
    cut("tc egress drop", "learn, look up and forward", At::Drop("d1", Place::TcEgress)),
    cut("full path", "transmit and sink", At::Whole),
];

/// Ringway's router by XDP.
const RINGWAY_ROUTER: [Cut; 5] = [
    cut("received", "receive in the driver", At::Router(StopAfter::Received)),
    cut("checked", "check the headers", At::Router(StopAfter::Checked)),
    cut("found", "look up the route", At::Router(StopAfter::Found)),
    cut("written", "rewrite and count", At::Router(StopAfter::Written)),
    cut("full path", "send and sink", At::Whole),
];

/// Ringway's switch by XDP.
const RINGWAY_SWITCH: [Cut; 5] = [
    cut("received", "receive in the driver", At::Switch(NicCut::Received)),
    cut("checked", "check the frame", At::Switch(NicCut::Checked)),
    cut("learned", "learn the sender", At::Switch(NicCut::Learned)),
    cut("found", "look up the receiver", At::Switch(NicCut::Found)),
    cut("full path", "count, send and sink", At::Whole),
];

/// The places of a device, the earliest first.
///
/// # Errors
/// The devices that have places, for others.
pub fn cuts(device: DutKind) -> Result<&'static [Cut], String> {
    match device {
        DutKind::LinuxRouter => Ok(&LINUX_ROUTER),
        DutKind::LinuxBridge => Ok(&LINUX_BRIDGE),
        DutKind::RingwayRouter => Ok(&RINGWAY_ROUTER),
        DutKind::RingwaySwitch => Ok(&RINGWAY_SWITCH),
        other => Err(format!(
            "{other} has no places where packets can end; linux-forward, linux-bridge, ringway-router and ringway-switch have"
        )),
    }
}

/// Packets of a device end at a place, until this is mended.
#[derive(Debug)]
pub(super) struct Held {
    cut: Cut,
    _link: Option<OwnedFd>,
}

/// The destinations of a sweep's flows, by their one route.
const ROUTE: &str = "10.0.0.0/8";

/// The neighbour behind port 1.
const NEIGHBOUR: &str = "198.19.0.2";

/// Has packets of a device end at a place.
pub(super) fn hold(device: &Dut, cut: Cut) -> Result<Held, Fault> {
    let inside = inside(device)?;
    let link = match cut.at {
        At::Whole => None,
        At::Drop(interface, place) => Some(attach(inside, interface, place)?),
        At::Blackhole => {
            inside.ip(&format!("route del {ROUTE}"))?;
            inside.ip(&format!("route add blackhole {ROUTE}"))?;
            None
        }
        At::Router(stop) => {
            stop_after(device, inside, stop)?;
            None
        }
        At::Switch(cut) => {
            switch_until(device, inside, cut)?;
            None
        }
    };
    Ok(Held { cut, _link: link })
}

impl Held {
    /// Has packets of the device pass again.
    pub(super) fn mend(self, device: &Dut) -> Result<(), Fault> {
        let inside = inside(device)?;
        match self.cut.at {
            At::Blackhole => {
                inside.ip(&format!("route del blackhole {ROUTE}"))?;
                Ok(inside.ip(&format!("route add {ROUTE} via {NEIGHBOUR}"))?)
            }
            At::Router(_) => stop_after(device, inside, StopAfter::Whole),
            At::Switch(_) => switch_until(device, inside, NicCut::Whole),
            // A program goes with its link.
            At::Drop(..) | At::Whole => Ok(()),
        }
    }
}

fn inside(device: &Dut) -> Result<&Lab, Fault> {
    device.inside().ok_or_else(|| Fault::Failed(format!("{} has no links", device.kind())))
}

fn attach(inside: &Lab, interface: &'static str, place: Place) -> Result<OwnedFd, Fault> {
    let attach = || Ok::<_, LabError>(net::index(interface).and_then(|index| drop_all(index, place)));
    let refused = |e| {
        Fault::Unavailable(format!(
            "a program that drops does not go on {interface} ({e}): Linux 6.6 takes it"
        ))
    };
    inside.run(attach)?.map_err(refused)
}

/// Joins the first interface again, with a program that ends packets at a point.
fn stop_after(device: &Dut, inside: &Lab, stop: StopAfter) -> Result<(), Fault> {
    let name = device.own().unwrap_or_default();
    let mac = device.macs().and_then(|macs| macs.first()).map_or([0; 6], |mac| mac.0);
    let join = || {
        let router = Router::open(name)?;
        // An attempt before this one may have removed it and gone no further.
        match router.remove_member("d0") {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let to = Interface { mac, forwards4: true, ..Interface::default() };
        router.add_member_stopping("d0", &to, stop).map(drop)
    };
    // The process that follows the kernel's tables joins an interface that is gone, and may be first.
    let again = |_| {
        join().ok().or_else(|| {
            thread::sleep(REST);
            None
        })
    };
    let joined = || (1..JOINS).find_map(again).map_or_else(join, Ok);
    Ok(inside.run(|| Ok::<_, LabError>(joined()))??)
}

/// Times that an interface is joined until it is there with its point.
const JOINS: u32 = 100;
/// Time between two of them.
const REST: Duration = Duration::from_millis(10);

/// Makes the first interface a port of the switch again, with a program that ends frames at a point.
fn switch_until(device: &Dut, inside: &Lab, cut: NicCut) -> Result<(), Fault> {
    let name = device.own().unwrap_or_default();
    let join = || {
        let switch = Switch::open(name)?;
        switch.del_port("d0", true)?;
        let options = NicOptions { path: NicPath::XdpUntil(cut), ..NicOptions::default() };
        switch.add_nic_with("d0", &options).map(drop)
    };
    Ok(inside.run(|| Ok::<_, LabError>(join()))??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_place_is_behind_everything() {
        for device in
            [DutKind::LinuxRouter, DutKind::LinuxBridge, DutKind::RingwayRouter, DutKind::RingwaySwitch]
        {
            let cuts = cuts(device).unwrap();
            assert!(cuts.len() > 3 && cuts.iter().filter(|c| c.at == At::Whole).count() <= 1);
            assert_eq!(cuts.last().map(|c| c.name), Some("full path"));
        }
        assert!(cuts(DutKind::OpenVSwitch).unwrap_err().contains("linux-forward"));
    }
}
