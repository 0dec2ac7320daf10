//! One worker over ports: the first ring of a port for each side that runs here.

use std::time::Duration;

use ringway::{Error, ErrorKind, Port, TxBurst, Waiter, Wakeable, time::monotonic_ns};

use crate::code::{Bundle, End};
use crate::schedule::starts::Share;
use crate::shard::{Shape, Shard, Wire};
use crate::transport::Settings;

use super::meter::Meter;
use super::plan::Plan;
use super::report::{Ended, Report, Run};
use super::second::{Second, Seconds};
use super::size;

/// Frames of a ring that a round takes, so that the time of a round is never old.
const BURST: u32 = 256;
/// Starts of a round.
const STARTS: u32 = 256;
/// The longest frame that a shard writes, and reads, with the tag of a VLAN.
const FRAME: usize = 1518;
const TAG: usize = 4;
/// Longest sleep: a stop is noticed within this time.
const NAP_NS: u64 = 50_000_000;
/// A round that has something to do sooner looks at the rings instead of sleeping.
const SPIN_NS: u64 = 2_000_000;
/// Hardware addresses of the emulated hosts, where their pools have none.
const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

/// The ports of the sides that run here.
#[derive(Debug)]
pub struct Sides {
    /// Where the clients are.
    pub client: Option<Port>,
    /// Where the servers are.
    pub server: Option<Port>,
}

/// How a run over ports goes.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How TCP behaves.
    pub settings: Settings,
    /// The run ends after this time, in ns.
    pub until_ns: u64,
    /// How long the rings are looked at before the worker sleeps.
    pub spin: Duration,
}

/// Runs the plan of a bundle over ports, until it is over, or `stopped` says so. A run of servers alone has no plan: it goes on until it is
/// stopped, and expects nothing. `each` gets the numbers of each second.
///
/// # Errors
/// When a port has no ring for each way or too small buffers, when the plan can't be followed, or when a ring fails.
pub fn run(
    bundle: Bundle,
    sides: Sides,
    options: &Options,
    stopped: impl Fn() -> bool,
    each: impl FnMut(&Second),
) -> Result<Report, Error> {
    // Servers elsewhere need the room that the plan asks for, too.
    let (endpoints, block_bytes) = size::room(&bundle);
    let bundle = if sides.client.is_none() { servers_only(bundle) } else { bundle };
    let Sides { client, server } = sides;
    let mut ports = [client, server];
    let tagged = bundle.pools.iter().any(|pool| pool.vlans.is_some());
    ports.iter().flatten().try_for_each(|port| usable(port, tagged))?;
    let wrong = |why: String| Error::new(ErrorKind::Invalid, "the plan", why);
    let plan = Plan::new(&bundle, Share::ALL).map_err(|why| wrong(why.to_string()))?;
    let spans = if ports[0].is_none() { vec![(0, u64::MAX)] } else { super::steady::spans(&bundle) };
    let meter = Meter::over(spans, bundle.flows.len(), 0);
    let shape = Shape { endpoints, block_bytes, macs: MACS, start: 0 };
    let shard = Shard::new(bundle, options.settings, shape).map_err(|why| wrong(why.to_string()))?;
    let waiter = Waiter::new(options.spin)?;
    let mut worker =
        Worker { shard, plan, meter, waiter, begun: monotonic_ns(), seconds: Seconds::new(each) };
    let (now, ended) = worker.rounds(&mut ports, options.until_ns, stopped)?;
    Ok(worker.report(now, ended))
}

/// Servers wait for what clients elsewhere start.
fn servers_only(bundle: Bundle) -> Bundle {
    Bundle { plan: crate::code::Plan::default(), expectations: Vec::new(), ..bundle }
}

/// Whether a worker can use a port, for frames with a tag or without.
fn usable(port: &Port, tagged: bool) -> Result<(), Error> {
    let info = port.info();
    let wrong = |what: &str| Err(Error::new(ErrorKind::Invalid, &info.name, what));
    if port.rx.is_empty() || port.tx.is_empty() {
        return wrong("flows need a port that sends and receives");
    }
    if (info.buf_size as usize) < FRAME {
        return wrong("flows need buffers of 1518 bytes; open it with larger ones");
    }
    if (info.max_frame as usize) < if tagged { FRAME } else { FRAME - TAG } {
        return wrong(
            "flows need frames of 1514 bytes, or of 1518 with VLANs; set the MTU of its interface to 1500, or to 1504",
        );
    }
    Ok(())
}

/// Flows over the rings of ports.
struct Worker<F> {
    shard: Shard,
    plan: Plan,
    meter: Meter,
    waiter: Waiter,
    begun: u64,
    seconds: Seconds<F>,
}

impl<F: FnMut(&Second)> Worker<F> {
    fn rounds(
        &mut self,
        ports: &mut [Option<Port>; 2],
        until: u64,
        stopped: impl Fn() -> bool,
    ) -> Result<(u64, Ended), Error> {
        loop {
            let now = monotonic_ns() - self.begun;
            self.meter.advance(now, self.shard.tally());
            let moved = self.round(ports, now)?;
            self.meter.note_active(self.shard.tally());
            self.seconds.advance(now, moved, self.shard.bundle(), self.shard.tally());
            if let Some(ended) = self.ended(ports, now, until, &stopped) {
                return Ok((now, ended));
            }
            if !moved {
                self.idle(ports, now)?;
            }
        }
    }

    /// Takes what came, does what is due, sends what there is. Returns whether anything moved.
    fn round(&mut self, ports: &mut [Option<Port>; 2], now: u64) -> Result<bool, Error> {
        for port in ports.iter_mut().flatten() {
            port.rx[0].sync()?;
            port.tx[0].sync()?;
        }
        let mut moved = false;
        let [client, server] = ports;
        let (mut rings, mut wire) = split([client, server]);
        for (side, ring) in [End::Client, End::Server].into_iter().zip(&mut rings) {
            let Some(rx) = ring else { continue };
            for frame in rx.burst(BURST) {
                moved = true;
                let mut whole = [0; FRAME];
                let bytes = if frame.is_chained() {
                    let len = frame.copy_to(&mut whole);
                    &whole[..len]
                } else {
                    frame.bytes()
                };
                self.shard.receive(side, bytes, now, &mut wire);
            }
        }
        self.shard.poll(now, &mut wire);
        moved |= self.start(now, &mut wire);
        drop(wire);
        for port in ports.iter_mut().flatten() {
            if port.tx[0].pending() > 0 {
                port.tx[0].sync()?;
            }
        }
        Ok(moved)
    }

    /// Starts what is due; returns whether a flow began.
    fn start(&mut self, now: u64, wire: &mut Bursts<'_>) -> bool {
        let mut began = false;
        for _ in 0..STARTS {
            let Some(start) = self.plan.due(now, self.shard.tally()) else { break };
            // Slots run short: flows that are under way come first.
            if wire.is_short(End::Client) || self.shard.start(start.flow, start.due, now, wire).is_err() {
                self.plan.postpone(start, now, self.shard.tally());
                continue;
            }
            self.plan.made(start);
            began = true;
        }
        began
    }

    fn ended(
        &self,
        ports: &[Option<Port>; 2],
        now: u64,
        until: u64,
        stopped: impl Fn() -> bool,
    ) -> Option<Ended> {
        let tally = self.shard.tally();
        if stopped() || ports.iter().flatten().any(Port::ended) {
            return Some(Ended::Interrupted);
        }
        if now >= until {
            return Some(Ended::Limit);
        }
        if let Some(stop) = self.plan.stopped(now, self.shard.bundle(), tally) {
            return Some(Ended::Stop(stop));
        }
        // Servers don't know when clients elsewhere are done.
        let has_plan = ports[0].is_some();
        let active = || tally.flows.iter().any(|ends| ends[0].active + ends[1].active > 0);
        let over = now >= self.plan.over_ns() || now >= self.plan.end_ns() && !active();
        (has_plan && over).then_some(Ended::Plan)
    }

    /// Waits until a frame comes or something is due.
    fn idle(&mut self, ports: &mut [Option<Port>; 2], now: u64) -> Result<(), Error> {
        let tally = self.shard.tally();
        let due = self.plan.next_ns(now, tally).into_iter().chain(self.shard.next_ns()).min();
        let rest = due.map_or(NAP_NS, |due| due.saturating_sub(now)).min(NAP_NS);
        if rest < SPIN_NS {
            std::hint::spin_loop();
            return Ok(());
        }
        let mut rings: Vec<&mut dyn Wakeable> =
            ports.iter_mut().flatten().map(|port| &mut port.rx[0] as &mut dyn Wakeable).collect();
        self.waiter.wait(&mut rings, Duration::from_nanos(rest - SPIN_NS / 2))?;
        Ok(())
    }

    fn report(mut self, now: u64, ended: Ended) -> Report {
        self.meter.end(now, self.shard.tally());
        let (postponed, missed) = (self.plan.postponed(), self.plan.missed(now, self.shard.tally()));
        let run = Run { start: 0, now, ended, postponed, missed, virtual_time: false };
        Report::new(&self.shard, &self.meter, &run)
    }
}

/// The rings to receive from, and the free slots to send with.
fn split<'a>(ports: [&'a mut Option<Port>; 2]) -> ([Option<&'a mut ringway::RxRing>; 2], Bursts<'a>) {
    let halves = ports.map(|port| {
        let Port { rx, tx, .. } = port.as_mut()?;
        let (rx, tx) = (rx.first_mut()?, tx.first_mut()?);
        let slots = tx.slots();
        Some((rx, (tx.burst(), slots)))
    });
    let [client, server] = halves.map(Option::unzip);
    ([client.0, server.0], Bursts { free: [client.1, server.1] })
}

/// The free slots of each side's ring. What is sent leaves when it is dropped and the ring is synced.
struct Bursts<'a> {
    /// By side, with the number of all slots.
    free: [Option<(TxBurst<'a>, u32)>; 2],
}

impl Bursts<'_> {
    /// Whether less than half of the slots of a ring are free.
    fn is_short(&self, side: End) -> bool {
        self.free[side as usize].as_ref().is_some_and(|(burst, slots)| burst.free() < slots / 2)
    }
}

impl Wire for Bursts<'_> {
    fn room(&mut self, side: End) -> usize {
        self.free[side as usize].as_ref().map_or(0, |(burst, _)| burst.free() as usize)
    }

    fn send(&mut self, side: End, write: impl FnOnce(&mut [u8]) -> usize) {
        // A slot that its peer broke is passed on empty: the frame is lost, and the ring counts it.
        let free = self.free[side as usize].as_mut();
        let Some(mut slot) = free.and_then(|(burst, _)| burst.next_slot()) else { return };
        let len = write(slot.buf());
        if len > 0 {
            slot.send(len);
        }
    }
}
