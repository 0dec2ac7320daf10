//! The suite `containers`: two containers on veths as `ip` makes them, joined by switches and by routers.
//!
//! ```text
//! container             middle                      container
//! eth0 ---- veth ---- c0 | switch or router | c1 ---- veth ---- eth0
//! ```
//!
//! | case | what | counted |
//! | --- | --- | --- |
//! | `tcp-1`, `tcp-4` | TCP of one and of four streams in one network, MTU 1500 and 9000 | by the receiving sockets |
//! | `udp-small` | datagrams of 18 bytes, which are frames of 64 with FCS | by the receiving socket |
//! | `frames-small` | the same frames, made without a socket | by the other interface |
//! | `ping` | round trips of ICMP | by the sender |
//! | `route-tcp-1`, `route-tcp-4`, `route-udp-small`, `route-frames-small` | the same between two networks | by the same |
//!
//! Each run has namespaces and links of its own. Offloads, queues and settings are the kernel's own, with two exceptions. Ringway by XDP needs
//! GRO at the far ends. Open vSwitch in user space needs checksums that the containers finish: without that no TCP connection comes about.
//!
//! Streams are threads on ordinary sockets; the kernel chooses their CPUs. Cases of TCP tell the time of all CPUs for a Gbit that
//! arrived: that of all programs, so other work on the machine counts too.

mod cpu;
mod frames;
mod join;
mod ping;
mod place;
mod round_trip;
mod tcp;
mod udp;

use super::{Bed, Case, Fault, Sample, Unit};
use join::{Scene, System, Way};

/// Links of ordinary size, and those with jumbo frames.
const MTUS: [(u32, &str); 2] = [(1500, "MTU 1500"), (9000, "MTU 9000")];

const SWITCHES: [System; 4] =
    [System::Switch(Way::Usual), System::Switch(Way::Xdp), System::LinuxBridge, System::OpenVSwitch];

const ROUTERS: [System; 3] = [System::Router(Way::Usual), System::Router(Way::Xdp), System::LinuxForward];

const TCP: &str = "goodput of plain sockets, writes of 128 KiB, no thread bound to a CPU; GRO on in containers for systems named -xdp, tx checksums off for \
                   ovs-userspace, whose daemon has CPU 0; CPU time is that of the whole machine";

const UDP: &str = "datagrams of 18 bytes that the receiver took: sendmmsg of 64 on CPU 0, with all that is between the sockets, recvmmsg without \
                   sleep on CPU 1";

const FRAMES: &str = "frames of 64 with FCS that the other interface received: mapped packet socket on CPU 0, with all that is between the interfaces; no \
                      program takes them";

const PING: &str = "median round trip of an ICMP echo of 64 bytes, a request each millisecond, all on CPU 0";

/// What is measured between two containers that reach each other.
type Measure = fn(Bed<'_>, &Scene) -> Result<Sample, Fault>;

/// All cases of the suite, in the order in which they are run.
pub fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    let mut cases = streams(bed, ["tcp-1", "tcp-4"], &SWITCHES);
    cases.push(small(bed, "udp-small", &SWITCHES));
    cases.push(bare(bed, "frames-small", &SWITCHES));
    let ping = Case::new("ping", Unit::Us).frame(102).note(PING);
    cases.push(compared(bed, ping, MTUS[0].0, round_trip::median, &SWITCHES));
    cases.extend(streams(bed, ["route-tcp-1", "route-tcp-4"], &ROUTERS));
    cases.push(small(bed, "route-udp-small", &ROUTERS));
    cases.push(bare(bed, "route-frames-small", &ROUTERS));
    cases
}

/// One and four streams, over links of each size.
fn streams<'a>(bed: Bed<'a>, names: [&'static str; 2], systems: &[System]) -> Vec<Case<'a>> {
    let measures: [Measure; 2] =
        [|bed, scene| tcp::goodput(bed, scene, 1), |bed, scene| tcp::goodput(bed, scene, 4)];
    let case = |(mtu, variant)| {
        names.into_iter().zip(measures).map(move |(name, measure)| {
            let case = Case::new(name, Unit::Gbit).variant(variant).frame(0).cores(2).note(TCP);
            compared(bed, case, mtu, measure, systems)
        })
    };
    MTUS.into_iter().flat_map(case).collect()
}

fn small<'a>(bed: Bed<'a>, name: &'static str, systems: &[System]) -> Case<'a> {
    let case = Case::new(name, Unit::Mpps).burst(udp::BURST as u32).cores(2).note(UDP);
    compared(bed, case, MTUS[0].0, udp::delivered, systems)
}

fn bare<'a>(bed: Bed<'a>, name: &'static str, systems: &[System]) -> Case<'a> {
    let case = Case::new(name, Unit::Mpps).burst(udp::BURST as u32).note(FRAMES);
    compared(bed, case, MTUS[0].0, frames::received, systems)
}

/// The same measurement over each system.
fn compared<'a>(bed: Bed<'a>, case: Case<'a>, mtu: u32, measure: Measure, systems: &[System]) -> Case<'a> {
    systems.iter().fold(case, |case, &system| {
        case.system(system.name(), move || measure(bed, &Scene::new(bed, system, mtu)?))
    })
}
