//! The two sides of a port of the tester.

use ringway::{CounterWatch, Port, Result, RxRing, TxRing};

use super::super::traffic::{EVERYONE, Hop, Numbers, Route};
use crate::rfc2544::flow::{FlowOrder, Flows};
use crate::rfc2544::format::{FCS, Format};
use crate::rfc2544::frame::{Kind, Writer, age_ps, classify};
use crate::rfc2544::ledger::Ledger;
use crate::rfc2544::port::{Clock, RxPort, Train, TxPort};
use crate::rfc2544::real::{held, own_drops};

/// Syncs in which old frames are taken out of a ring at most.
const DRAINS: u32 = 64;

/// Stream of frames that announce a port: no receiver waits for it.
const ANNOUNCEMENT: u16 = u16::MAX;

/// Size of such a frame.
const LEAST: u32 = 64;

/// Sends on a port.
#[derive(Debug)]
pub(super) struct Tx {
    ring: TxRing,
    counters: CounterWatch,
    numbers: Numbers,
    port: usize,
    /// One for each port that frames may go to, one for those to everyone, one for announcements.
    writers: Vec<Writer>,
    pub(super) route: Option<Route>,
    /// How far ahead of time frames are written: more than nothing under a virtual clock only.
    pub(super) ahead_ps: u64,
    lost_before: u64,
    /// Where a frame longer than a buffer is written first.
    long: Vec<u8>,
}

/// Receives on a port.
#[derive(Debug)]
pub(super) struct Rx<C> {
    rings: Vec<RxRing>,
    counters: CounterWatch,
    clock: C,
    /// Under a virtual clock a frame has no age.
    ageless: bool,
    slots_per_frame: u32,
}

impl Tx {
    /// Sends on a ring of `port`, the tester's number `number`.
    pub(super) fn new(
        ring: TxRing,
        port: &Port,
        number: usize,
        numbers: Numbers,
    ) -> std::result::Result<Self, String> {
        let ports = numbers.ports();
        // Addresses are written over: the format's are those of RFC 2544.
        let format = Format::new(Flows::new(1, FlowOrder::Sequential, 0));
        let streams = (0..=ports).map(|to| (to * ports + number) as u16).chain([ANNOUNCEMENT]);
        let writers =
            streams.map(|stream| Writer::new(&format, stream, 0)).collect::<std::result::Result<_, _>>()?;
        let counters = port.watch();
        Ok(Self {
            ring,
            counters,
            numbers,
            port: number,
            writers,
            route: None,
            ahead_ps: 0,
            lost_before: 0,
            long: Vec::new(),
        })
    }

    /// A trial begins, with frames of `size` bytes in buffers of `buf_size`.
    pub(super) fn begin(&mut self, route: Option<Route>, size: u32, buf_size: u32) {
        self.route = route;
        self.lost_before = own_drops(&self.counters.counters().tx);
        let longest = size - FCS;
        self.long.resize(if longest > buf_size { longest as usize } else { 0 }, 0);
    }

    /// Sends a frame from which a switch learns where this port is.
    pub(super) fn announce(&mut self) -> Result<()> {
        let mut frame = [0; LEAST as usize];
        let hop =
            Hop { to: None, stream: ANNOUNCEMENT, seq: 0, dst: EVERYONE, src: self.numbers.port(self.port) };
        let len = write(&mut self.writers[self.numbers.ports() + 1], &hop, &mut frame, 0, LEAST);
        self.ring.push(&frame[..len]);
        self.ring.sync().map(drop)
    }
}

/// Writes a frame and returns its length.
fn write(writer: &mut Writer, hop: &Hop, buf: &mut [u8], now_ns: u64, size: u32) -> usize {
    let len = writer.write(buf, hop.seq, now_ns, size);
    buf[..6].copy_from_slice(&hop.dst);
    buf[6..12].copy_from_slice(&hop.src);
    len
}

impl TxPort for Tx {
    fn send(&mut self, train: &Train<'_>) -> Result<u64> {
        let Some(route) = &self.route else { return Ok(0) };
        let mut burst = self.ring.burst();
        let mut sent = 0;
        while sent < train.count {
            let hop = self.numbers.hop(route, self.port, train.first + sent);
            let writer = &mut self.writers[hop.to.unwrap_or(self.numbers.ports())];
            let (size, now_ns) = (train.size(sent), train.leaves_ps(sent) / 1000);
            if self.long.is_empty() {
                let Some(mut slot) = burst.next_slot() else { break };
                let len = write(writer, &hop, slot.buf(), now_ns, size);
                slot.send(len);
            } else {
                let len = write(writer, &hop, &mut self.long, now_ns, size);
                if !burst.push(&self.long[..len]) {
                    break;
                }
            }
            sent += 1;
        }
        burst.commit();
        self.ring.sync()?;
        Ok(sent)
    }

    fn ahead_ps(&self) -> u64 {
        self.ahead_ps
    }

    /// Frames in the ring that nobody takes, and those that the port itself dropped.
    fn pending(&mut self) -> Result<u64> {
        held(&mut self.ring, &self.counters, self.lost_before)
    }
}

impl<C> Rx<C> {
    pub(super) fn new(rings: Vec<RxRing>, port: &Port, clock: C, ageless: bool) -> Self {
        Self { rings, counters: port.watch(), clock, ageless, slots_per_frame: 1 }
    }

    /// A trial begins; what lies in the rings belongs to none.
    pub(super) fn begin(&mut self, size: u32, buf_size: u32) -> Result<()> {
        self.slots_per_frame = (size - FCS).div_ceil(buf_size);
        for ring in &mut self.rings {
            for _ in 0..DRAINS {
                if ring.sync()? == 0 {
                    break;
                }
                ring.burst(u32::MAX).for_each(drop);
            }
        }
        Ok(())
    }
}

impl<C: Clock> RxPort for Rx<C> {
    fn poll(&mut self, _now_ps: u64, ledger: &mut Ledger) -> Result<u64> {
        let mut frames = 0;
        let mut whole = Vec::new();
        for ring in &mut self.rings {
            if ring.sync()? == 0 {
                continue;
            }
            let now = self.clock.now_ps();
            for frame in ring.burst(u32::MAX) {
                frames += 1;
                let bytes = if frame.is_chained() {
                    whole.resize(frame.len(), 0);
                    frame.copy_to(&mut whole);
                    &whole[..]
                } else {
                    frame.bytes()
                };
                // No trial is as long as the numbers of short tags, so that they need no hint.
                match classify(bytes, 0) {
                    Kind::Test { stream, seq, time_ns } => {
                        let age = if self.ageless { 0 } else { age_ps(now / 1000, time_ns) };
                        ledger.frame(stream, seq, now, age);
                    }
                    Kind::Corrupted => ledger.corrupted(),
                    Kind::Foreign => ledger.foreign(),
                }
            }
        }
        Ok(frames)
    }

    fn capacity(&self) -> u64 {
        // One flow may have one ring only.
        let slots = self.rings.iter().map(|ring| ring.slots() - 1).min().unwrap_or(0);
        u64::from(slots / self.slots_per_frame.max(1))
    }

    fn dropped(&self) -> u64 {
        own_drops(&self.counters.counters().rx)
    }
}
