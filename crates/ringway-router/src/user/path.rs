//! The loop over rings.

use ringway::{Buf, Port, Result, RxFrame, RxRing, TxBurst, TxRing, Wakeable, forward, time::monotonic_ns};
use ringway_count::{Borders, Meter, Unwatched};
use ringway_engine::{Signals, Sleeper, Turns};
use ringway_fwd::router::{BURST, Decision, Engine};

use super::stages::{HOST, NAMES, POSTROUTING, PREROUTING, ROUTING, RX, TX};

/// Longest frame: 64 slots of the largest buffers, and all that IP can be.
const LONGEST: usize = 1 << 18;

/// The loop of a router over its rings, and what decides: for those who bring tables and time of their own. [`Router`](super::Router) is
/// this and the kernel's tables.
#[derive(Debug)]
pub struct Path {
    engine: Engine,
    /// Rings of received frames, with the position of their side and their number there.
    wires: Vec<(usize, usize, RxRing)>,
    hosts: Vec<(usize, usize, RxRing)>,
    out: Out,
    /// Bursts of one ring in a round: sending costs a system call for each ring and round.
    bursts: usize,
    sleeper: Sleeper,
    meter: Meter,
    /// The ports: what they attached stays as long as they do.
    _ports: Vec<Port>,
}

/// Where frames go: rings to send by, by side.
#[derive(Debug)]
struct Out {
    wires: Vec<Vec<TxRing>>,
    hosts: Vec<Vec<TxRing>>,
    /// A buffer that is exchanged on the way, for each side's region; there is none in some.
    spares: Vec<Option<Buf>>,
    /// A frame of several slots.
    scratch: Box<[u8]>,
}

/// What a frame leaves by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    Wire(usize),
    Host(usize),
}

impl Path {
    /// Of ports in pairs: wire and host of each side. A [`round`](Self::round) takes `turns` of each ring, in whole
    /// bursts of the engine.
    ///
    /// # Errors
    /// When a wait can't be set up, or there is no memory for counters.
    pub fn new(engine: Engine, mut ports: Vec<Port>, turns: Turns) -> Result<Self> {
        let mut out = Out {
            wires: Vec::new(),
            hosts: Vec::new(),
            spares: Vec::new(),
            scratch: vec![0; LONGEST].into_boxed_slice(),
        };
        let wired: Vec<_> = ports.iter().step_by(2).map(|wire| wire.info().name.as_str()).collect();
        let meter = Meter::new(&format!("router of {}", wired.join(", ")), &NAMES)?;
        let (mut wires, mut hosts) = (Vec::new(), Vec::new());
        let numbered = |side, rx: Vec<RxRing>| rx.into_iter().enumerate().map(move |(n, rx)| (side, n, rx));
        for (side, pair) in ports.chunks_exact_mut(2).enumerate() {
            wires.extend(numbered(side, std::mem::take(&mut pair[0].rx)));
            hosts.extend(numbered(side, std::mem::take(&mut pair[1].rx)));
            out.wires.push(std::mem::take(&mut pair[0].tx));
            out.hosts.push(std::mem::take(&mut pair[1].tx));
            out.spares.push(pair[0].region().take_buf());
        }
        let sleeper = Sleeper::new(turns.spin, wires.len() + hosts.len())?;
        let bursts = (turns.burst as usize).div_ceil(BURST).max(1);
        Ok(Self { engine, wires, hosts, out, bursts, sleeper, meter, _ports: ports })
    }

    /// Forwards until `signals` say stop.
    ///
    /// # Errors
    /// The errors of the rings' sync.
    pub fn run(&mut self, signals: &Signals) -> Result<()> {
        while !signals.stopped() {
            if self.round()? == 0 {
                self.sleep()?;
            }
        }
        Ok(())
    }

    /// Some bursts of each ring; returns the frames or slots moved.
    ///
    /// # Errors
    /// The errors of the rings' sync.
    pub fn round(&mut self) -> Result<usize> {
        match self.meter.watched() {
            None => self.round_with(&mut Unwatched),
            Some(mut borders) => {
                let moved = self.round_with(&mut borders);
                self.meter.add(&borders);
                moved
            }
        }
    }

    /// It exists twice: with borders of stages, and without.
    fn round_with(&mut self, borders: &mut impl Borders) -> Result<usize> {
        let mut moved = 0;
        for wire in 0..self.wires.len() {
            moved += self.receive(wire, borders)?;
        }
        borders.begin();
        let mut sent = 0;
        for (side, number, rx) in &mut self.hosts {
            rx.sync()?;
            let rings = &mut self.out.wires[*side];
            let ring = *number % rings.len().max(1);
            if let Some(tx) = rings.get_mut(ring) {
                sent += forward(rx, tx, u32::try_from(BURST * self.bursts).unwrap_or(u32::MAX)) as usize;
            }
        }
        if sent > 0 {
            borders.end(HOST);
            borders.end_batch(sent);
        } else {
            borders.begin();
        }
        self.out.sync()?;
        if moved + sent > 0 {
            borders.end(TX);
            borders.end_rest();
        }
        Ok(moved + sent)
    }

    /// What has come in by a ring of a wire.
    fn receive(&mut self, wire: usize, borders: &mut impl Borders) -> Result<usize> {
        let Self { engine, wires, out, bursts, .. } = self;
        let (side, number, rx) = &mut wires[wire];
        borders.begin();
        rx.sync()?;
        let mut all = 0;
        for _ in 0..*bursts {
            rx.fetch(BURST as u32);
            let mut frames = [const { None }; BURST];
            engine.begin(*side, monotonic_ns());
            borders.end(RX);
            for (frame, place) in rx.burst(BURST as u32).zip(&mut frames) {
                engine.push(frame.bytes(), frame.len());
                *place = Some(frame);
            }
            let frames = &mut frames[..engine.len()];
            if frames.is_empty() {
                break;
            }
            borders.end(PREROUTING);
            engine.decide();
            borders.end(ROUTING);
            for (at, frame) in frames.iter_mut().flatten().enumerate() {
                engine.rewrite(at, frame.bytes_mut());
            }
            borders.end(POSTROUTING);
            all += frames.len();
            out.send(engine, *side, *number, frames)?;
            borders.end(TX);
            borders.end_batch(frames.len());
        }
        Ok(all)
    }

    fn sleep(&mut self) -> Result<bool> {
        let pending = self.out.rings().any(|tx| tx.pending() > 0);
        let rings = self.wires.iter_mut().chain(&mut self.hosts).map(|(.., rx)| rx as &mut dyn Wakeable);
        self.sleeper.idle(rings, pending)
    }
}

impl Out {
    fn rings(&mut self) -> impl Iterator<Item = &mut TxRing> {
        self.wires.iter_mut().chain(&mut self.hosts).flatten()
    }

    fn sync(&mut self) -> Result<()> {
        self.rings().filter_map(|tx| (tx.pending() > 0).then(|| tx.sync().map(|_| ()))).collect()
    }

    /// Puts the frames of a decided burst into the rings that they leave by: runs of frames for one ring together, so that frames of a
    /// flow keep their order.
    fn send(
        &mut self,
        engine: &Engine,
        side: usize,
        number: usize,
        frames: &mut [Option<RxFrame<'_>>],
    ) -> Result<()> {
        let exit = |at: usize| match engine.decision(at) {
            Decision::Forward(to) => Some(Exit::Wire(usize::from(to.egress))),
            Decision::Host(_) => Some(Exit::Host(side)),
            Decision::Drop(_) => None,
        };
        let mut at = 0;
        while at < frames.len() {
            let first = at;
            let to = exit(first);
            while at < frames.len() && exit(at) == to {
                at += 1;
            }
            let (rings, position) = match to {
                Some(Exit::Wire(egress)) => (&mut self.wires[egress], egress),
                Some(Exit::Host(side)) => (&mut self.hosts[side], side),
                None => continue,
            };
            let ring = number % rings.len().max(1);
            let sent = match rings.get_mut(ring) {
                Some(tx) => {
                    let mut run = Run { engine, spare: &mut self.spares[side], scratch: &mut self.scratch };
                    run.send(first, &mut frames[first..at], tx)?
                }
                None => 0,
            };
            engine.no_room(position, (at - first - sent) as u64);
        }
        Ok(())
    }
}

/// Frames that follow each other to one ring.
struct Run<'a> {
    engine: &'a Engine,
    spare: &'a mut Option<Buf>,
    scratch: &'a mut [u8],
}

impl Run<'_> {
    /// Sends; returns how many there was room for.
    fn send(&mut self, first: usize, frames: &mut [Option<RxFrame<'_>>], tx: &mut TxRing) -> Result<usize> {
        let sent = self.fill(first, frames, tx);
        if sent == frames.len() {
            return Ok(sent);
        }
        tx.sync()?;
        Ok(sent + self.fill(first + sent, &mut frames[sent..], tx))
    }

    /// Fills free slots; returns how many frames went in.
    fn fill(&mut self, first: usize, frames: &mut [Option<RxFrame<'_>>], tx: &mut TxRing) -> usize {
        let swap = self.spare.as_ref().is_some_and(|spare| spare.region().ptr_eq(tx.region()));
        let mut burst = tx.burst();
        let mut sent = 0;
        for (at, frame) in (first..).zip(frames.iter_mut().flatten()) {
            let len = match self.engine.decision(at) {
                Decision::Forward(to) => to.len as usize,
                _ => frame.len(),
            };
            if !self.put(&mut burst, frame, len, swap) {
                break;
            }
            sent += 1;
        }
        sent
    }

    /// The first `len` bytes of a frame into the next slot, or slots; false without room.
    fn put(&mut self, burst: &mut TxBurst<'_>, frame: &mut RxFrame<'_>, len: usize, swap: bool) -> bool {
        if frame.is_chained() {
            let len = len.min(frame.copy_to(self.scratch));
            return burst.push(&self.scratch[..len]);
        }
        match self.spare {
            Some(spare) if swap => {
                let Some(mut slot) = burst.next_slot() else { return false };
                // The frame's buffer to the slot, by way of the spare one, which is the slot's old one then.
                if !frame.exchange(spare) || !slot.exchange(spare) {
                    return false;
                }
                slot.send(len);
                true
            }
            _ => burst.push(&frame.bytes()[..len]),
        }
    }
}
