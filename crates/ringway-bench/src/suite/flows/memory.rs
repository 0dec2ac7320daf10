//! The engine with both ends over rings in its own memory: what flows cost without any port.

use std::mem;

use ringway::time::monotonic_ns;
use ringway_flows::code::{Bundle, End};
use ringway_flows::run::counted::Counted;
use ringway_flows::run::counts::Counts;
use ringway_flows::run::history::History;
use ringway_flows::run::meter::Meter;
use ringway_flows::run::plan::Plan;
use ringway_flows::run::report::{Ended, Report, Run};
use ringway_flows::run::size;
use ringway_flows::schedule::starts::Share;
use ringway_flows::shard::{Shape, Shard, Wire};
use ringway_flows::transport::Settings;

use super::result::sample;
use super::story::Kind;
use crate::suite::bed::receiver;
use crate::suite::duo::alone;
use crate::suite::{Bed, Fault, Sample};

/// Slots of each ring, and starts of a round.
const SLOTS: usize = 1024;
const STARTS: usize = 256;

/// Bytes of a slot.
const ROOM: usize = 2048;

/// Hardware addresses of the two sides.
const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

/// Flows over rings in memory.
pub(super) fn rate(bed: Bed<'_>, kind: Kind, concurrent: u32) -> Result<Sample, Fault> {
    sample(&run(bed, kind.bundle(concurrent, bed.seconds)?)?)
}

/// Runs the plan of a bundle on the usual CPU.
pub(super) fn run(bed: Bed<'_>, bundle: Bundle) -> Result<Report, Fault> {
    alone(None, receiver(), || rounds(bed, bundle))
}

/// A shard for a bundle, with room for so many ends of connections.
pub(super) fn shard(bundle: Bundle, endpoints: u32, block_bytes: usize) -> Result<Shard, Fault> {
    let shape = Shape { endpoints, block_bytes, macs: MACS, start: 0 };
    Shard::new(bundle, Settings::default(), shape).map_err(|e| Fault::Failed(e.to_string()))
}

fn rounds(bed: Bed<'_>, bundle: Bundle) -> Result<Report, Fault> {
    let mut plan = Plan::new(&bundle, Share::ALL).map_err(|e| Fault::Failed(e.to_string()))?;
    let mut meter = Meter::new(&bundle, 0);
    let (endpoints, block_bytes) = size::room(&bundle);
    let mut shard = shard(bundle, endpoints, block_bytes)?;
    let mut rings = Rings::new();
    let begun = monotonic_ns();
    loop {
        let now = monotonic_ns() - begun;
        meter.advance(now, shard.tally());
        rings.deliver(&mut shard, now);
        shard.poll(now, &mut rings);
        start(&mut shard, &mut plan, &mut rings, now);
        meter.note_active(shard.tally());
        let active = || shard.tally().flows.iter().any(|ends| ends[0].active + ends[1].active > 0);
        let over = now >= plan.over_ns() || now >= plan.end_ns() && !active();
        if over || bed.signals.stopped() {
            meter.end(now, shard.tally());
            let ended = if over { Ended::Plan } else { Ended::Interrupted };
            let (postponed, missed) = (plan.postponed(), plan.missed(now, shard.tally()));
            let mut history = History::new(now.max(1));
            history.end(now, Counts::of(shard.bundle(), shard.tally()));
            let run = Run { start: 0, now, ended, virtual_time: false, workers: Vec::new(), history };
            let counted = Counted::new(&shard, meter, postponed, missed);
            return Ok(Report::new(shard.bundle(), &counted, run));
        }
    }
}

fn start(shard: &mut Shard, plan: &mut Plan, rings: &mut Rings, now: u64) {
    for _ in 0..STARTS {
        let Some(start) = plan.due(now, shard.tally()) else { return };
        // As over ports: flows that are under way come first.
        if rings.room(End::Client) < SLOTS / 2 || shard.start(start.flow, start.due, now, rings).is_err() {
            return plan.postpone(start, now, shard.tally());
        }
        plan.made(start);
    }
}

/// A slot: how much of it is the frame.
type Slot = (usize, [u8; ROOM]);

/// A ring for each side, of frames to it, and what it takes now.
#[derive(Debug)]
pub(super) struct Rings {
    waiting: [Ring; 2],
    taken: Ring,
}

#[derive(Debug)]
struct Ring {
    slots: Vec<Slot>,
    used: usize,
}

impl Ring {
    fn new() -> Self {
        Self { slots: vec![(0, [0; ROOM]); SLOTS], used: 0 }
    }
}

impl Rings {
    pub(super) fn new() -> Self {
        Self { waiting: [Ring::new(), Ring::new()], taken: Ring::new() }
    }

    /// Hands to each side what was sent to it until now; returns how many frames that were.
    pub(super) fn deliver(&mut self, shard: &mut Shard, now: u64) -> usize {
        let mut frames = 0;
        for side in [End::Client, End::Server] {
            let mut taken = mem::replace(&mut self.taken, Ring { slots: Vec::new(), used: 0 });
            mem::swap(&mut taken, &mut self.waiting[side as usize]);
            let came = taken.slots[..taken.used].iter().map(|(len, frame)| &frame[..*len]);
            shard.burst(side, came, |frame| frame, |shard, frame| shard.receive(side, frame, now, self));
            frames += mem::take(&mut taken.used);
            self.taken = taken;
        }
        frames
    }
}

impl Wire for Rings {
    fn room(&mut self, side: End) -> usize {
        SLOTS - self.waiting[side.other() as usize].used
    }

    fn send(&mut self, side: End, write: impl FnOnce(&mut [u8]) -> usize) {
        let ring = &mut self.waiting[side.other() as usize];
        let (len, frame) = &mut ring.slots[ring.used];
        *len = write(frame);
        ring.used += usize::from(*len > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_engine::Signals;
    use ringway_lab::LabError;

    #[test]
    fn all_flows_are_complete() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let bed = Bed::new(&lab, 0.05, &signals);
        for (kind, concurrent) in Kind::ALL.into_iter().flat_map(|kind| [(kind, 1), (kind, 3000)]) {
            // A busy machine may sleep through the whole of so short a run.
            let mut again = (0..100).map(|_| run(bed, kind.bundle(concurrent, 0.05).unwrap()).unwrap());
            let report = again.find(|report| report.total.started > 0).unwrap();
            assert!(report.total.complete > 0, "{kind:?}: {report:?}");
            assert_eq!(report.total.complete, report.total.started, "{kind:?}: {report:?}");
        }
        signals.stop();
        assert_eq!(run(bed, Kind::Dns.bundle(1, 3600.0).unwrap()).unwrap().ended, "interrupted");
    }
}
