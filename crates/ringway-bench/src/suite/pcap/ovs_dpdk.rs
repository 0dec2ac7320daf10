//! `ovs-dpdk`: Open vSwitch with DPDK, on its own ports and on memif ports of a switch of Ringway.
//!
//! ```text
//! flood, CPU 0 -> switch -> memif -> Open vSwitch, CPU 1 -> memif -> switch -> drain, CPU 0
//! ```

use std::env;
use std::thread;
use std::time::{Duration, Instant};

use ringway::{OpenOptions, Port};

use super::launch::Under;
use super::ovs;
use super::wires::{BURST, Wires};
use crate::peers::testpmd::Driver;
use crate::suite::bed::receiver;
use crate::suite::io::forward::{links, through};
use crate::suite::loops::hand_on;
use crate::suite::{Bed, Case, Fault, Sample, Unit};
use ringway_lab::TemporaryFolder;
use ringway_tester::dut::OvsUserspace;

const NOTE: &str = "datapath_type=netdev, a learning switch between two ports, its polling thread on CPU 1. dpdk-af_packet, dpdk-af_xdp: Debian's \
                    Open vSwitch with DPDK, without huge pages, on such ports of DPDK over veths; kernel: plain Open vSwitch on packet sockets; a \
                    flood on CPU 0, counted by a tc sink. ringway-memif: Open vSwitch with DPDK as memif client of two switches; a \
                    thread on CPU 0 floods, carries frames between ports and memif, and drains, in turn";

/// The daemon's main thread has a queue to send on, and its polling thread another one. A queue for which there is no ring would write
/// garbage into the first ring (DPDK 22.11).
const RINGS: u16 = 2;

/// How long a daemon may take to connect, and how often that is looked for.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(1);

pub(super) fn case(bed: Bed<'_>) -> Case<'_> {
    Case::new("ovs-dpdk", Unit::Mpps)
        .burst(BURST)
        .note(NOTE)
        .system("dpdk-af_packet", move || veths(bed, Driver::AfPacket))
        .system("dpdk-af_xdp", move || veths(bed, Driver::AfXdp))
        .system("kernel", move || through(bed, "sink-skb", |lab| ovs::start(lab, Under::System)))
        .system("ringway-memif", move || switches(bed))
}

fn veths(bed: Bed<'_>, driver: Driver) -> Result<Sample, Fault> {
    let devices = [driver.device(0, "a1"), driver.device(1, "b0")];
    through(bed, "sink-skb", |lab| start(lab.name(), &devices))
}

fn start(netns: &str, devices: &[String; 2]) -> Result<OvsUserspace, Fault> {
    Ok(OvsUserspace::create_on_dpdk(netns, &devices.each_ref().map(String::as_str), receiver())?)
}

/// The links are there for their namespace alone.
fn switches(bed: Bed<'_>) -> Result<Sample, Fault> {
    let links = links(bed)?;
    let mut wires = Wires::new()?;
    // Abstract names would not lead out of the daemon's namespace.
    let folder = TemporaryFolder::create(&env::temp_dir())
        .map_err(|e| Fault::Failed(format!("no folder can be made for sockets: {e}")))?;
    let sockets = ["a", "b"].map(|name| folder.path().join(name).display().to_string());
    let [a, b] = wires.names();
    let mut joints = [Joint::open(&a, &sockets[0])?, Joint::open(&b, &sockets[1])?];
    let device = |k: usize| format!("net_memif{k},role=client,id=0,socket={},socket-abstract=no", sockets[k]);
    // Dropped first: a client of DPDK breaks when its server goes while it sends.
    let _daemon = start(links.lab.name(), &[device(0), device(1)])?;
    for joint in &joints {
        joint.await_link(bed)?;
    }
    wires.flood_with(bed, || joints.iter_mut().try_for_each(Joint::carry))
}

/// A port of a switch and a memif port, and what goes between them.
struct Joint([Port; 2]);

impl Joint {
    fn open(port: &str, socket: &str) -> Result<Self, Fault> {
        Ok(Self(OpenOptions::new().open_all([port, &format!("memif:{socket},rings={RINGS}")])?))
    }

    /// Waits until the daemon has connected: its threads share their CPUs with loops that spin later.
    fn await_link(&self, bed: Bed<'_>) -> Result<(), Fault> {
        let start = Instant::now();
        while !self.0[1].link_up()? {
            if bed.signals.stopped() || start.elapsed() > CONNECTS_WITHIN {
                return Err(Fault::Failed(format!("Open vSwitch did not connect: {}", self.0[1].status())));
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// A burst each way.
    fn carry(&mut self) -> ringway::Result<()> {
        let [port, memif] = &mut self.0;
        hand_on(&mut port.rx[0], &mut memif.tx[0], BURST)?;
        memif.rx.iter_mut().try_for_each(|rx| hand_on(rx, &mut port.tx[0], BURST).map(drop))
    }
}
