//! A device with what feeds it and what takes its frames.

use std::os::fd::OwnedFd;
use std::thread;

use ringway::{OpenOptions, Port};
use ringway_lab::LabError;
use ringway_lab::raw::RawSender;
use ringway_sys::drop_all::{Place, drop_all};
use ringway_sys::net;
use ringway_tester::Fault;
use ringway_tester::dut::{Backend, Behind, Dut, DutKind, DutSpec};
use ringway_wire::MacAddr;

use super::frames::Ends;
use super::links::Links;
use super::napi;
use crate::time::process_threads;

/// CPUs of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpus {
    /// Of the generator.
    pub generator: usize,
    /// Of the thread that forwards.
    pub device: usize,
}

impl Default for Cpus {
    /// The first and the last.
    fn default() -> Self {
        Self { generator: 0, device: thread::available_parallelism().map_or(0, |n| n.get() - 1) }
    }
}

/// Link address of the station behind port 1.
const STATION: MacAddr = MacAddr([2, 0x52, 0x57, 0, 2, 1]);

/// Link address of the first sender.
const SENDER: MacAddr = MacAddr([2, 0x52, 0x57, 0, 0, 0]);

/// A device at work.
#[derive(Debug)]
pub struct Bed {
    /// Where the generator sends.
    pub(super) tx: Port,
    /// Where frames arrive that have to be taken by a program: ports of a switch, else none.
    pub(super) rx: Option<Port>,
    pub(super) worker: Worker,
    pub(super) cpus: Cpus,
    ends: Ends,
    /// Drops what arrives, in the driver; sockets would make a buffer of it first.
    _sink: Option<OwnedFd>,
    /// Of the tester's namespace and of the device's.
    links: [Option<Links>; 2],
    count: Count,
    dut: Dut,
}

/// Which packets count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Count {
    /// Packets that came out.
    #[default]
    Passed,
    /// Packets that the device received, whatever became of them.
    Received,
}

/// Whose time counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Worker {
    /// Threads that forward.
    Threads(Vec<i32>),
    /// The generator, which forwards what it sends.
    Generator,
}

impl Bed {
    /// Sets a device up with so many routes, with the generator on a link by `backend`.
    ///
    /// # Errors
    /// [`Fault::Unavailable`] when this machine or this user can't have it, with the cure.
    pub fn new(kind: DutKind, backend: Backend, routes: u32, cpus: Cpus) -> Result<Self, Fault> {
        let behind = kind.is_router().then_some(Behind { routes, mac: STATION });
        let spec = DutSpec { backend, behind, cpu: Some(cpus.device), ..DutSpec::default() };
        let dut = Dut::start(kind, &spec)?;
        let to = dut.macs().and_then(|macs| macs.first()).copied().unwrap_or(STATION);
        let ends = Ends { to, from: SENDER, routed: kind.is_router() };
        let (tx, rx) = ports(&dut)?;
        let mut bed = Self {
            tx,
            rx,
            worker: worker(&dut, cpus)?,
            cpus,
            ends,
            _sink: sink(&dut)?,
            links: [dut.outside().map(Links::of).transpose()?, dut.inside().map(Links::of).transpose()?],
            count: Count::Passed,
            dut,
        };
        bed.announce()?;
        Ok(bed)
    }

    /// Whose addresses frames carry.
    #[must_use]
    pub fn ends(&self) -> &Ends {
        &self.ends
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Dut {
        &self.dut
    }

    /// Threads that forward; empty when the generator does.
    #[must_use]
    pub fn threads(&self) -> &[i32] {
        match &self.worker {
            Worker::Threads(threads) => threads,
            Worker::Generator => &[],
        }
    }

    /// Says which packets count.
    pub fn set_count(&mut self, count: Count) {
        self.count = count;
    }

    /// Packets that count so far; `None` where they are received by a port.
    pub(super) fn counted(&mut self) -> Result<Option<u64>, Fault> {
        let [outside, inside] = &mut self.links;
        let (links, interface) = match self.count {
            Count::Passed => (outside, "t1"),
            Count::Received => (inside, "d0"),
        };
        let Some(links) = links else { return Ok(None) };
        let counts =
            links.counts(interface).map_err(|e| Fault::Failed(format!("counts of {interface}: {e}")))?;
        Ok(counts.map(|c| c.received))
    }

    /// Has switches and bridges learn where the station is: it sends a frame.
    pub(super) fn announce(&mut self) -> Result<(), Fault> {
        if self.ends.routed {
            return Ok(());
        }
        let mut frame = [0; 60];
        frame[..6].copy_from_slice(&SENDER.0);
        frame[6..12].copy_from_slice(&STATION.0);
        frame[12..14].copy_from_slice(&0x88b5u16.to_be_bytes()); // for experiments (IEEE 802)
        if let Some(port) = &mut self.rx {
            if let Some(mut slot) = port.tx[0].burst().next_slot() {
                slot.buf()[..60].copy_from_slice(&frame);
                slot.send(60);
            }
            port.tx[0].sync()?;
            return Ok(());
        }
        let Some(outside) = self.dut.outside() else { return Ok(()) };
        let sent = RawSender::open(outside, "t1")?.send(&frame);
        sent.map_err(|e| Fault::Failed(format!("t1 does not send: {e}")))
    }
}

/// The generator's port, and the far one where it is a port of a switch.
fn ports(dut: &Dut) -> Result<(Port, Option<Port>), Fault> {
    let names = dut.ports();
    let [near, far, ..] = names else { return Err(Fault::Failed("the device has no two ports".into())) };
    if dut.outside().is_none() {
        let open = |name: &str| OpenOptions::new().open(name);
        return Ok((open(near)?, Some(open(far)?)));
    }
    // By another way the device's thread would have nothing to do.
    let options = OpenOptions::new().send_only(true).most_pools(u32::MAX);
    let open = || Ok::<_, Fault>(options.open(near)?);
    Ok((dut.run(open)?, None))
}

/// Whose time is that of the device.
fn worker(dut: &Dut, cpus: Cpus) -> Result<Worker, Fault> {
    if let Some(process) = dut.process() {
        let threads = process_threads(process as i32);
        return match threads.is_empty() {
            true => Err(Fault::Failed(format!("process {process} of {} has no threads", dut.kind()))),
            false => Ok(Worker::Threads(threads)),
        };
    }
    match dut.inside().or(dut.outside()) {
        Some(lab) => {
            let interface = if dut.inside().is_some() { "d0" } else { "t1" };
            Ok(Worker::Threads(napi::threads(lab, interface, cpus.device)?))
        }
        None => Ok(Worker::Generator),
    }
}

/// Frames that no kernel buffer holds are dropped in the driver at the far end; all others behind it, as frames for another station.
fn sink(dut: &Dut) -> Result<Option<OwnedFd>, Fault> {
    let bare = matches!(dut.kind(), DutKind::RingwayRouter | DutKind::RingwaySwitch | DutKind::Veth);
    let Some(outside) = dut.outside().filter(|_| bare) else { return Ok(None) };
    let attach = || Ok::<_, LabError>(net::index("t1").and_then(|t1| drop_all(t1, Place::Xdp)));
    let link = outside.run(attach)?;
    Ok(Some(link.map_err(|e| Fault::Failed(format!("a program that drops does not go on t1: {e}")))?))
}
