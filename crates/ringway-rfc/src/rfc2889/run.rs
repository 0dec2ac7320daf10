//! Running a trial over several ports: in lock step under a virtual clock, or in two threads under the real one.

use std::sync::atomic::Ordering::Relaxed;

use ringway::Result;
use ringway_engine::{Signals, crew};

use super::receive::{Setting, receiver};
use super::traffic::{Numbers, TrialSpec};
use super::trial::{Sent, TrialResult, conclude};
use ringway_tester::trial::collect::{Collected, Collector};
use ringway_tester::trial::loops::{Live, VirtualClock, Watch};
use ringway_tester::trial::pollers::{Cpus, HEAD_START_PS, Pollers};
use ringway_tester::trial::port::{Clock, RxPort, Train, TxPort};
use ringway_tester::trial::schedule::Schedule;
use ringway_tester::trial::transmit::{Flight, Transmitter};

/// Turns between two live numbers in lock step; in each of them all ports may send hundreds of frames.
const TURNS: u64 = 16;

/// A port of the tester.
#[derive(Debug)]
pub struct Station<T, R> {
    /// Where it sends.
    pub tx: T,
    /// Where it receives.
    pub rx: R,
}

/// Counts the turns in which a port takes fewer frames than it is given.
#[derive(Debug)]
struct Counting<'a, T> {
    port: &'a mut T,
    refused: u64,
}

impl<T: TxPort> TxPort for Counting<'_, T> {
    fn send(&mut self, train: &Train<'_>) -> Result<u64> {
        let sent = self.port.send(train)?;
        self.refused += u64::from(sent < train.count);
        Ok(sent)
    }

    fn ahead_ps(&self) -> u64 {
        self.port.ahead_ps()
    }

    fn pending(&mut self) -> Result<u64> {
        self.port.pending()
    }
}

/// The two halves of all stations: the stations that send in the order of the senders, and all that receive.
fn halves<'a, T, R>(
    stations: &'a mut [Station<T, R>],
    order: &TrialSpec,
) -> (Vec<Counting<'a, T>>, Vec<&'a mut R>) {
    let (txs, rxs): (Vec<_>, Vec<_>) = stations.iter_mut().map(|s| (Some(&mut s.tx), &mut s.rx)).unzip();
    let mut txs = txs;
    let of = |port: usize, txs: &mut Vec<Option<&'a mut T>>| txs.get_mut(port).and_then(Option::take);
    let senders = order.senders.iter().filter_map(|s| of(s.port, &mut txs));
    (senders.map(|port| Counting { port, refused: 0 }).collect(), rxs)
}

fn transmitters<'a, 'b, T: TxPort>(
    senders: &'a mut [Counting<'b, T>],
    schedules: &'a [Schedule],
    setting: Setting<'a>,
) -> Vec<Transmitter<'a, Counting<'b, T>>> {
    let each = senders.iter_mut().zip(schedules).zip(&setting.order.senders);
    each.map(|((port, schedule), sender)| {
        let flight = &setting.flights[sender.port];
        Transmitter::new(port, schedule, flight, sender.port as u16, setting.start_ps, setting.order.wait_ps)
    })
    .collect()
}

fn live(setting: &Setting<'_>, now_ps: u64) -> Live {
    let sum = |of: fn(&Flight) -> u64| setting.flights.iter().map(of).sum();
    Live {
        since_ps: now_ps.saturating_sub(setting.start_ps),
        sent: sum(|f| f.sent.load(Relaxed)),
        received: sum(|f| f.received.load(Relaxed)),
    }
}

/// Runs a trial in this thread: ports take turns, and the clock moves on between them by what the senders hand over ahead. The
/// result does not depend on the machine.
///
/// # Errors
/// When a port is gone or refuses.
pub fn lock_step<T: TxPort, R: RxPort>(
    stations: &mut [Station<T, R>],
    order: &TrialSpec,
    numbers: Numbers,
    clock: &VirtualClock,
    watch: &mut Watch<'_>,
) -> Result<TrialResult> {
    let schedules: Vec<Schedule> = order.senders.iter().map(|s| order.schedule(s)).collect();
    let flights: Vec<Flight> = stations.iter().map(|_| Flight::default()).collect();
    let start_ps = clock.now_ps();
    let close_ps = start_ps + order.duration_ps();
    let setting = Setting { order, numbers, flights: &flights, start_ps, close_ps };
    let (mut senders, rxs) = halves(stations, order);
    let mut sending = transmitters(&mut senders, &schedules, setting);
    let mut receiving: Vec<_> = rxs.into_iter().enumerate().map(|(k, rx)| receiver(rx, k, setting)).collect();
    let (mut going, mut turns) = (true, 0u64);
    while going {
        turns += 1;
        if turns.is_multiple_of(TURNS) && !watch(live(&setting, clock.now_ps())) {
            break;
        }
        let now = clock.now_ps();
        let mut next = close_ps;
        for t in &mut sending {
            if t.turn(now)? {
                next = next.min(now + t.ahead_ps().max(1));
            }
        }
        going = false;
        for r in &mut receiving {
            going |= r.turn(now)?;
            next = next.min(now.saturating_add((r.slack_ps() / 2).max(1)));
        }
        clock.advance(next.saturating_sub(now));
    }
    // All left when they were due.
    sending.iter_mut().try_for_each(|t| t.finish(start_ps))?;
    let departures: Vec<_> = sending.into_iter().map(Transmitter::into_report).collect();
    let sent: Vec<Sent> = departures
        .into_iter()
        .zip(&senders)
        .map(|(departures, s)| Sent { departures, refused: s.refused })
        .collect();
    let collected: Vec<Collected> = receiving.into_iter().map(Collector::into_report).collect();
    Ok(conclude(order, numbers, &sent, &collected, going))
}

/// Runs a trial in real time: one thread polls all senders and one all receivers. They share the start.
///
/// # Errors
/// When a port is gone or refuses, and when a thread can't be kept on its CPU.
pub fn threads<T: TxPort + Send, R: RxPort + Send, C: Clock + Sync>(
    stations: &mut [Station<T, R>],
    order: &TrialSpec,
    numbers: Numbers,
    clock: &C,
    cpus: &Cpus,
    watch: &mut Watch<'_>,
) -> Result<TrialResult> {
    let schedules: Vec<Schedule> = order.senders.iter().map(|s| order.schedule(s)).collect();
    let flights: Vec<Flight> = stations.iter().map(|_| Flight::default()).collect();
    let start_ps = clock.now_ps() + HEAD_START_PS;
    let close_ps = start_ps + order.duration_ps();
    let setting = Setting { order, numbers, flights: &flights, start_ps, close_ps };
    let (mut senders, rxs) = halves(stations, order);
    let sending = transmitters(&mut senders, &schedules, setting);
    let receiving: Vec<_> = rxs.into_iter().enumerate().map(|(k, rx)| receiver(rx, k, setting)).collect();
    let signals = Signals::new();
    let (sent, received, interrupted) = crew(&signals, |crew| {
        let mut pollers = Pollers::new(crew, &signals, cpus);
        let s = pollers.start(
            "senders",
            sending,
            |all| all.iter_mut().try_fold(false, |going, t| Ok(t.turn(clock.now_ps())? | going)),
            |mut all| {
                all.iter_mut().try_for_each(|t| t.finish(clock.now_ps()))?;
                Ok(all.into_iter().map(Transmitter::into_report).collect::<Vec<_>>())
            },
        );
        let r = pollers.start(
            "receivers",
            receiving,
            |all| all.iter_mut().try_fold(false, |going, r| Ok(r.turn(clock.now_ps())? | going)),
            |all| Ok(all.into_iter().map(Collector::into_report).collect::<Vec<_>>()),
        );
        let interrupted = pollers.watch(|| watch(live(&setting, clock.now_ps())));
        (s.join(), r.join(), interrupted)
    });
    let (departures, collected) = (sent.map_err(|e| e.error)?, received.map_err(|e| e.error)?);
    let sent: Vec<Sent> = departures
        .into_iter()
        .zip(&senders)
        .map(|(departures, s)| Sent { departures, refused: s.refused })
        .collect();
    Ok(conclude(order, numbers, &sent, &collected, interrupted))
}
