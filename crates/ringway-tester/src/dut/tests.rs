//! Each device forwards frames of every size, both ways, and leaves nothing behind.

use ringway_router::kernel::routers;

use super::*;
use crate::bed::{RealTestBed, TestBedSpec};
use crate::trial::bed::TestBed;
use crate::trial::flow::{FlowOrder, Flows};
use crate::trial::format::Format;
use crate::trial::mix::Mix;
use crate::trial::pollers::Cpus;
use crate::trial::rate::{MILLISECOND, Rate};
use crate::trial::spec::TrialSpec;
use ringway_lab::{is_root, labs};

/// Jumbo frames of 9216 bytes.
const MTU: u32 = 9216 - 18;

/// How many of the frames sent must come through: a device that is a process may be kept from running while they come.
fn enough(kind: DutKind, tx: u64) -> u64 {
    if kind == DutKind::OpenVSwitch { tx / 2 } else { tx }
}

/// Sends bursts both ways, until enough of one comes through or there were `tries`. Returns how many frames
/// of the last one arrived, and how many were sent. A busy machine may leave out some of a burst.
fn forwarded(dut: &Dut, ipv6: bool, size: u32, tries: u32) -> (u64, u64) {
    let mut format = Format::new(Flows::new(300, FlowOrder::Sequential, 1));
    format.ipv6 = ipv6;
    format.gateways = dut.macs().map(|macs| [macs[0].to_string(), macs[1].to_string()]);
    let spec = TestBedSpec {
        ports: [dut.ports()[0].clone(), dut.ports()[1].clone()],
        format,
        bidirectional: true,
        slots: None,
        cpus: Cpus::default(),
        virtual_time: false,
    };
    let burst = TrialSpec::burst(&Mix::fixed(size), Rate::new(5000, 1), 300, 200 * MILLISECOND);
    let order = TrialSpec { catch_up: 300, ..burst };
    let kind = dut.kind();
    let trials = || {
        let mut bed = RealTestBed::open(&spec)?;
        let mut last = (0, 0);
        for _ in 0..tries {
            let trial = bed.run(&order, &mut |_| true)?;
            assert_eq!((trial.received.corrupted, trial.received.misdirected), (0, 0), "{trial:?}");
            last = (trial.rx, trial.tx);
            if trial.tx > 0
                && trial.streams.iter().all(|s| s.tx > 0 && s.tx.saturating_sub(s.lost) >= enough(kind, s.tx))
            {
                break;
            }
        }
        Ok::<_, Fault>(last)
    };
    dut.run(trials).unwrap()
}

/// Whether nothing of this process is left but what other tests have: `names` are what was there.
fn left(names: &[String]) -> Vec<String> {
    let all = [labs(), ringway::switch::switches(), routers()].concat();
    names.iter().filter(|name| all.contains(name)).cloned().collect()
}

/// Names of what a device made.
fn made(dut: &Dut) -> Vec<String> {
    let place = dut.place.iter().flat_map(|place| {
        std::iter::once(place.outside()).chain(place.inside()).map(|lab| lab.name().to_owned())
    });
    let device = match &dut.device {
        Device::Switch { switch } => vec![switch.port_name("").trim_end_matches(':').to_owned()],
        Device::Router { router } => vec![router.name().to_owned()],
        _ => Vec::new(),
    };
    place.chain(device).collect()
}

fn each_size(kind: DutKind, spec: &DutSpec, sizes: &[u32]) {
    if !is_root() {
        return eprintln!("SKIP: devices need root (namespaces); run these tests with sudo");
    }
    let dut = match Dut::start(kind, spec) {
        Err(Fault::Unavailable(why)) => return eprintln!("SKIP: {kind}: {why}"),
        dut => dut.unwrap(),
    };
    for &size in sizes {
        let (rx, tx) = forwarded(&dut, spec.ipv6, size, 100);
        // More than is known to have left may come when the sender was held up at the very end.
        assert!(rx >= enough(kind, tx) && tx > 0, "{kind}, {size} bytes: {rx} of {tx}");
    }
    let names = made(&dut);
    assert_eq!(left(&names), names);
    drop(dut);
    assert_eq!(left(&names), Vec::<String>::new());
}

fn jumbo() -> DutSpec {
    DutSpec { mtu: MTU, ..DutSpec::default() }
}

#[test]
fn a_veth_and_every_backend() {
    for backend in Backend::ALL {
        each_size(DutKind::Veth, &DutSpec { backend, ..jumbo() }, &[64, 1518, 9216]);
    }
}

#[test]
fn the_bridge_of_the_kernel() {
    each_size(DutKind::LinuxBridge, &jumbo(), &[64, 1518, 9216]);
    each_size(DutKind::LinuxBridge, &DutSpec { ports: 8, filters: 25, ..DutSpec::default() }, &[64, 1518]);
}

#[test]
fn the_router_of_the_kernel() {
    each_size(DutKind::LinuxRouter, &jumbo(), &[64, 1518, 9216]);
    each_size(DutKind::LinuxRouter, &DutSpec { ipv6: true, filters: 25, ..jumbo() }, &[78, 1518, 9216]);
}

#[test]
fn the_switch_of_ringway() {
    each_size(DutKind::RingwaySwitch, &DutSpec { ports: 4, ..jumbo() }, &[64, 1518, 9216]);
    each_size(DutKind::RingwayPorts, &jumbo(), &[64, 1518, 9216]);
}

#[test]
fn the_router_of_ringway() {
    each_size(DutKind::RingwayRouter, &jumbo(), &[64, 1518, 9216]);
    each_size(DutKind::RingwayRouter, &DutSpec { ipv6: true, ..jumbo() }, &[78, 1518, 9216]);
}

#[test]
fn open_vswitch() {
    // Its datapath in user space loses some frames of 9216 bytes, however slowly they come.
    each_size(DutKind::OpenVSwitch, &DutSpec { ports: 3, ..DutSpec::default() }, &[64, 1518]);
}

#[test]
fn what_no_filter_permits_does_not_pass() {
    if !is_root() {
        return eprintln!("SKIP: devices need root (namespaces); run these tests with sudo");
    }
    for kind in [DutKind::LinuxBridge, DutKind::LinuxRouter] {
        let spec = DutSpec { filters: 2, ..DutSpec::default() };
        let dut = match Dut::start(kind, &spec) {
            Err(Fault::Unavailable(why)) => return eprintln!("SKIP: {kind}: {why}"),
            dut => dut.unwrap(),
        };
        let (rx, tx) = forwarded(&dut, false, 128, 100);
        assert!(rx >= tx && tx > 0, "{kind}: {rx} of {tx}");
        let family = if kind == DutKind::LinuxBridge { "bridge" } else { "inet" };
        let inside = dut.place.as_ref().and_then(Place::inside).unwrap();
        let block = format!("insert rule {family} dut filters ip saddr 198.18.0.0/15 drop");
        inside.exec("nft", &[&block]).unwrap();
        assert_eq!(forwarded(&dut, false, 128, 10).0, 0, "{kind}");
    }
}
