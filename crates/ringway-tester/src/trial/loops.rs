//! Running the loops of a trial: in lock step under a virtual clock, or in threads under the real one.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use ringway::Result;

use super::collect::{Collector, Expected, Span};
use super::ledger::Ledger;
use super::pollers::{Cpus, HEAD_START_PS, Pollers};
use super::port::{Clock, RxPort, TxPort};
use super::result::TrialResult;
use super::schedule::Schedule;
use super::transmit::{Flight, Transmitter};
use crate::trial::conclude::{LoopEnds, conclude};
use crate::trial::polled::{Polled, Work};
use crate::trial::spec::TrialSpec;
use ringway_engine::{Signals, WorkerError, crew};

/// One direction: frames of a stream go from `tx` to `rx`.
#[derive(Debug)]
pub struct Direction<T, R> {
    /// Where they are sent.
    pub tx: T,
    /// Where they arrive.
    pub rx: R,
    /// Number of the stream.
    pub stream: u16,
}

/// Frames sent and received so far, over all streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Picoseconds since the start of the trial.
    pub since_ps: u64,
    /// Frames sent.
    pub sent: u64,
    /// Different frames received.
    pub received: u64,
}

/// Called with live numbers; false ends the trial.
pub type Watch<'a> = dyn FnMut(Live) -> bool + 'a;

/// Turns between two live numbers in lock step.
const LIVE_TURNS: u64 = 256;

/// A clock that stands still until it is set.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock(Rc<Cell<u64>>);

impl VirtualClock {
    /// Moves it on.
    pub fn advance(&self, ps: u64) {
        self.0.set(self.0.get() + ps);
    }
}

impl Clock for VirtualClock {
    fn now_ps(&self) -> u64 {
        self.0.get()
    }
}

fn live(flights: &[Flight], since_ps: u64) -> Live {
    let sum = |of: fn(&Flight) -> u64| flights.iter().map(of).sum();
    Live { since_ps, sent: sum(|f| f.sent.load(Relaxed)), received: sum(|f| f.received.load(Relaxed)) }
}

fn flights(n: usize) -> Vec<Flight> {
    (0..n).map(|_| Flight::default()).collect()
}

/// Runs a trial in this thread: senders and receivers take turns, and the clock moves on between them by what the senders hand
/// over ahead. The result does not depend on the machine.
///
/// # Errors
/// When a port is gone or refuses.
pub fn lock_step<T: TxPort, R: RxPort>(
    directions: &mut [Direction<T, R>],
    order: &TrialSpec,
    clock: &VirtualClock,
    watch: &mut Watch<'_>,
) -> Result<TrialResult> {
    lock_step_with(directions, None, order, clock, watch)
}

/// The same with a device of this process between the directions' ends, which has a turn before theirs.
///
/// # Errors
/// When a port or the device is gone or refuses.
pub fn lock_step_with<T: TxPort, R: RxPort>(
    directions: &mut [Direction<T, R>],
    mut device: Option<&mut (dyn Polled + '_)>,
    order: &TrialSpec,
    clock: &VirtualClock,
    watch: &mut Watch<'_>,
) -> Result<TrialResult> {
    let schedule = order.schedule();
    let mut work = device.as_ref().map(|_| Work::default());
    let (start, flights) = (clock.now_ps(), flights(directions.len()));
    let close = start + schedule.end_ps() + order.wait_ps;
    let mut loops: Vec<_> = directions
        .iter_mut()
        .zip(&flights)
        .map(|(direction, flight)| ends(direction, flight, &schedule, (start, close), order))
        .collect();
    let mut going = true;
    let mut turns = 0u64;
    while going {
        turns += 1;
        if turns.is_multiple_of(LIVE_TURNS) && !watch(live(&flights, clock.now_ps() - start)) {
            break;
        }
        let now = clock.now_ps();
        if let (Some(device), Some(work)) = (&mut device, &mut work) {
            work.frames += device.poll()?;
        }
        let mut next = close;
        going = false;
        for (transmitter, collector) in &mut loops {
            if transmitter.turn(now)? {
                next = next.min(now + transmitter.ahead_ps().max(1));
            }
            going |= collector.turn(now)?;
            next = next.min(now.saturating_add((collector.slack_ps() / 2).max(1)));
        }
        clock.advance(next.saturating_sub(now));
    }
    // All left when they were due.
    loops.iter_mut().try_for_each(|(transmitter, _)| transmitter.finish(start))?;
    let interrupted = going;
    let ends: Vec<LoopEnds> = loops.into_iter().map(|(t, c)| finished(t, c)).collect();
    Ok(TrialResult { device: work, ..conclude(order, &schedule, &ends, interrupted) })
}

/// Runs a trial in real time: each sender and each receiver polls in a thread of its own. All share the start.
///
/// # Errors
/// When a port is gone or refuses, and when a thread can't be kept on its CPU.
pub fn threads<T: TxPort + Send, R: RxPort + Send, C: Clock + Sync>(
    directions: &mut [Direction<T, R>],
    order: &TrialSpec,
    clock: &C,
    cpus: &Cpus,
    watch: &mut Watch<'_>,
) -> Result<TrialResult> {
    let schedule = order.schedule();
    let flights = flights(directions.len());
    let start = clock.now_ps() + HEAD_START_PS;
    let close = start + schedule.end_ps() + order.wait_ps;
    let signals = Signals::new();
    let (ends, interrupted) = crew(&signals, |crew| {
        let mut pollers = Pollers::new(crew, &signals, cpus);
        let mut running = Vec::new();
        for (k, (direction, flight)) in directions.iter_mut().zip(&flights).enumerate() {
            let (transmitter, collector) = ends(direction, flight, &schedule, (start, close), order);
            let sending = pollers.start(
                format!("sender {k}"),
                transmitter,
                |transmitter| transmitter.turn(clock.now_ps()),
                |mut transmitter| transmitter.finish(clock.now_ps()).map(|()| transmitter),
            );
            let turn = |collector: &mut Collector<'_, _, _>| collector.turn(clock.now_ps());
            let receiving = pollers.start(format!("receiver {k}"), collector, turn, Ok);
            running.push((sending, receiving));
        }
        let interrupted = pollers.watch(|| watch(live(&flights, clock.now_ps().saturating_sub(start))));
        let ends = running.into_iter().map(|(s, r)| {
            let (transmitter, collector) = (s.join(), r.join());
            Ok(finished(transmitter?, collector?))
        });
        let ends = ends.collect::<std::result::Result<Vec<LoopEnds>, WorkerError>>();
        (ends, interrupted)
    });
    Ok(conclude(order, &schedule, &ends.map_err(|e| e.error)?, interrupted))
}

fn ends<'a, T: TxPort, R: RxPort>(
    direction: &'a mut Direction<T, R>,
    flight: &'a Flight,
    schedule: &'a Schedule,
    (start_ps, close_ps): (u64, u64),
    order: &TrialSpec,
) -> (Transmitter<'a, T>, Collector<'a, R, impl Fn() -> u64>) {
    let wait_ps = close_ps - start_ps - schedule.end_ps();
    let transmitter =
        Transmitter::new(&mut direction.tx, schedule, flight, direction.stream, start_ps, wait_ps);
    let ledger = Ledger::new(direction.stream, 1).with_marks(order.variant.marks(schedule));
    let ledger = if order.latency { ledger.with_latencies() } else { ledger };
    let sent = || flight.sent.load(Relaxed);
    let expected = Expected { sent, received: &flight.received, peak: schedule.peak(), senders: 1 };
    let collector = Collector::new(&mut direction.rx, ledger, expected, Span { start_ps, close_ps });
    (transmitter, collector)
}

fn finished<T: TxPort, R: RxPort>(
    transmitter: Transmitter<'_, T>,
    collector: Collector<'_, R, impl Fn() -> u64>,
) -> LoopEnds {
    let stream = transmitter.stream();
    LoopEnds { stream, departures: transmitter.into_report(), collected: collector.into_report() }
}
