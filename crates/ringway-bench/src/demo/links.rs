//! The demonstration over veth pairs.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use ringway::PortCounters;

use super::compare::Integrity;
use super::frames::Frames;
use super::outcome::Outcome;
use super::stage::{Carrier, Event, Options, check, flood, gently};
use crate::peers::{Peer, PeerKind};
use crate::suite::Bed;
use crate::suite::io::{Kind, forward};
use crate::suite::{Case, Fault, Unit};
use ringway_lab::Conditions;
use ringway_lab::raw::{RawReceiver, RawSender};
use ringway_lab::{Lab, LabError};
use ringway_tester::dut::LinuxBridge;

pub(super) const STORY: &str = "\
A namespace with two pairs of virtual links, and a forwarder between them:
  traffic -> a0|a1 -> forwarder -> b0|b1 -> witness
The forwarder is in turn the kernel's bridge, a bridge over libpcap, and Ringway.";

/// How long the far end must be silent for the replay to be over.
const SILENCE: Duration = Duration::from_millis(300);

/// How long it must be while frames are missing: a forwarder may stand still on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// Frames on their way at most, fewer than any forwarder has room for: on a busy machine a forwarder may stand still for long.
const WINDOW: usize = 256;

/// How long frames that are on their way are waited for before they are taken for lost.
const LOST: Duration = Duration::from_secs(3);

/// How long a forwarder may take to pass the first frame on.
const WAKE_LIMIT: Duration = Duration::from_secs(20);

/// A frame that no capture holds: IEEE 802 local experimental.
const PROBE: [u8; 60] = {
    let mut frame = [0x52; 60];
    let head = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5];
    let mut i = 0;
    while i < head.len() {
        frame[i] = head[i];
        i += 1;
    }
    frame
};

pub(super) fn run(
    lab: &Lab,
    options: &Options,
    conditions: Conditions,
    replay: Frames,
    tell: &mut dyn FnMut(Event<'_>),
) -> Outcome {
    let carriers: Vec<Carrier<'_>> = vec![
        ("linux-bridge", Box::new(|frames| linux_bridge(lab, frames))),
        ("libpcap", Box::new(|frames| libpcap(lab, frames))),
        ("ringway-ebpf", Box::new(|frames| ringway(lab, frames))),
    ];
    let (count, source) = (replay.frames, &replay.source);
    tell(Event::Says(format!(
        "\nLow load: {count} frames ({source}), each compared byte by byte at the far end."
    )));
    let passages = check(carriers, &replay, &options.signals, tell);
    tell(Event::Says(
        "\nFlood of 64-byte frames from CPU 0, forwarder on CPU 1, counted at the far end.".into(),
    ));
    let counters = RefCell::new([PortCounters::default(); 2]);
    let lab = Ok(lab);
    let bed = Bed::of(lab, options.seconds, &options.signals);
    let case = Case::new("forward", Unit::Mpps)
        .burst(256)
        .system("linux-bridge", || forward::linux_bridge(bed))
        .system("libpcap", || forward::libpcap(bed))
        .system("ringway-ebpf", || {
            let (sample, lost) = forward::ringway(bed, Kind::Ebpf)?;
            *counters.borrow_mut() = lost;
            Ok(sample)
        });
    let report = flood(case, options, &conditions, tell);
    let [a, b] = counters.into_inner();
    Outcome::new("veth", replay, passages, report).with_drops([("ebpf:a1", a), ("ebpf:b0", b)])
}

fn linux_bridge(lab: &Lab, frames: &[Vec<u8>]) -> Result<Integrity, Fault> {
    let links = Links::make(lab)?;
    let _bridge = LinuxBridge::create(Some(lab.name()), "br0", &["a1", "b0"])?;
    // Both sides of each conversation come from the same link; a bridge that learns that would filter them.
    lab.ip("link set a1 type bridge_slave learning off")?;
    links.replay(frames)
}

fn libpcap(lab: &Lab, frames: &[Vec<u8>]) -> Result<Integrity, Fault> {
    let links = Links::make(lab)?;
    let _forwarder = Peer::spawn(PeerKind::Pcap, ["forward", "a1", "b0"], Some(lab.name()), None)?;
    links.replay(frames)
}

fn ringway(lab: &Lab, frames: &[Vec<u8>]) -> Result<Integrity, Fault> {
    let links = Links::make(lab)?;
    let _napi = Peer::spawn(PeerKind::Xdp, ["pass", "b1"], Some(lab.name()), None)?;
    forward::bridging(lab, Kind::Ebpf, || links.replay(frames)).map(|(_, integrity)| integrity)
}

/// Two pairs of links, deleted when dropped.
struct Links<'a>(&'a Lab);

impl<'a> Links<'a> {
    fn make(lab: &'a Lab) -> Result<Self, LabError> {
        let links = Self(lab);
        lab.veth("a0", "a1")?;
        lab.veth("b0", "b1")?;
        Ok(links)
    }

    fn replay(&self, frames: &[Vec<u8>]) -> Result<Integrity, Fault> {
        let sender = RawSender::open(self.0, "a0")?;
        let mut receiver = RawReceiver::open(self.0, "b1")?;
        let os = |action: &str, e: std::io::Error| Fault::Failed(format!("{action}: {e}"));
        await_passage(&sender, &mut receiver)?;
        let arrived = AtomicUsize::new(0);
        let mut window = Window::new(&arrived);
        let received = thread::scope(|scope| {
            let collector = scope.spawn(|| collect(&mut receiver, frames.len(), &arrived));
            let sent = gently(frames, |frame| {
                window.wait();
                sender.send(frame)
            });
            let received = collector.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            sent.map_err(|e| os("replaying into a0", e))?;
            received.map_err(|e| os("capturing at b1", e))
        })?;
        Ok(Integrity::of(frames, &received))
    }
}

impl Drop for Links<'_> {
    fn drop(&mut self) {
        for link in ["a0", "b0"] {
            let _ = self.0.ip(&format!("link del {link}")); // absent if it was never made
        }
    }
}

/// Sends probes until one comes through, and takes what is left of them.
fn await_passage(sender: &RawSender, receiver: &mut RawReceiver) -> Result<(), Fault> {
    let os = |e: std::io::Error| Fault::Failed(format!("probing the path: {e}"));
    let end = Instant::now() + WAKE_LIMIT;
    while Instant::now() < end {
        sender.send(&PROBE).map_err(os)?;
        if receiver.next(Duration::from_millis(50)).map_err(os)?.is_some() {
            while receiver.next(Duration::from_millis(100)).map_err(os)?.is_some() {}
            return Ok(());
        }
    }
    Err(Fault::Failed("nothing comes through".into()))
}

/// What a sender knows of its frames on their way.
struct Window<'a> {
    arrived: &'a AtomicUsize,
    sent: usize,
    lost: usize,
}

impl<'a> Window<'a> {
    fn new(arrived: &'a AtomicUsize) -> Self {
        Self { arrived, sent: 0, lost: 0 }
    }

    /// Waits until one more frame may be on its way.
    fn wait(&mut self) {
        let start = Instant::now();
        let mut missing = self.missing();
        while missing >= WINDOW && start.elapsed() < LOST {
            thread::sleep(Duration::from_millis(1));
            missing = self.missing();
        }
        if missing >= WINDOW {
            self.lost += missing;
        }
        self.sent += 1;
    }

    fn missing(&self) -> usize {
        self.sent.saturating_sub(self.lost + self.arrived.load(Relaxed))
    }
}

/// Takes frames, and counts them, until as many came as were sent and a moment of silence follows, or a long one while some are
/// missing.
fn collect(
    receiver: &mut RawReceiver,
    expected: usize,
    arrived: &AtomicUsize,
) -> std::io::Result<Vec<Vec<u8>>> {
    let mut frames = Vec::with_capacity(expected);
    while let Some(frame) = receiver.next(if frames.len() < expected { PATIENCE } else { SILENCE })? {
        frames.push(frame);
        arrived.fetch_add(1, Relaxed);
    }
    Ok(frames)
}
