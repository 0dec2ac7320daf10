//! A run over ports: its workers, and the thread that listens to them.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use ringway::{Error, ErrorKind, Port};

use super::plan::holding;
use super::progress::{News, Now, Progress};
use super::report::{Ended, Report, Run};
use super::report_workers::WorkerReport;
use super::setup;
pub use super::sides::{Options, Sides};
use super::steering::Inbox;
use super::worker::{Outcome, Worker};
use crate::code::Bundle;

/// How often the user and the ports are asked.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the plan of a bundle over ports, until it is over, or `stopped` says so. A run of servers alone has no plan: it goes on until it is
/// stopped, and expects nothing. `each` gets the numbers of each second.
///
/// Several pairs of ports are several wires, and each has a worker. Over one pair, each worker has rings of its own, and frames are passed on to the
/// workers that own their connections.
///
/// # Errors
/// When a port has too few rings or too small buffers, when the plan can't be followed, or when a ring fails.
pub fn run(
    bundle: Bundle,
    sides: Vec<Sides>,
    options: &Options,
    stopped: impl FnMut() -> bool,
    each: impl FnMut(&Now<'_>),
) -> Result<Report, Error> {
    let servers_only = sides.iter().all(|sides| sides.client.is_none());
    let plan = if servers_only { setup::servers_only(bundle.clone()) } else { bundle.clone() };
    let (workers, ports) = setup::workers(&bundle, &plan, sides, options)?;
    let stop = AtomicBool::new(false);
    let mut watch = Watch {
        bundle: &plan,
        stopped,
        each,
        ports: &ports,
        progress: Progress::new(workers.len()),
        stop: &stop,
        ended: None,
    };
    let mut outcomes = thread::scope(|scope| {
        // Also when this thread panics, which waits for all others.
        let _stop = StopAll(&stop);
        let (news, heard) = channel();
        let threads: Vec<_> = workers
            .into_iter()
            .map(|worker| {
                let (news, stop, begin) = (news.clone(), &stop, options.begin);
                scope.spawn(move || work(worker, begin, stop, &news))
            })
            .collect();
        drop(news);
        watch.listen(&heard, threads.len());
        let ends: Vec<_> = threads.into_iter().map(ScopedJoinHandle::join).collect();
        let ends = ends.into_iter().enumerate();
        ends.map(|(number, end)| end.unwrap_or_else(|why| Err(panicked(number, &*why))))
            .collect::<Result<Vec<_>, _>>()
    })?;
    settle(&mut outcomes);
    Ok(watch.report(outcomes))
}

/// Stops all workers when it goes.
struct StopAll<'a>(&'a AtomicBool);

impl Drop for StopAll<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The thread of a worker panicked.
fn panicked(number: usize, why: &(dyn Any + Send)) -> Error {
    let text =
        why.downcast_ref::<String>().map(String::as_str).or_else(|| why.downcast_ref::<&str>().copied());
    let what = format!("it panicked: {}", text.unwrap_or("for an unknown reason"));
    Error::new(ErrorKind::Unfit, format!("worker {number}"), what)
        .cure("this is a fault of Ringway; please report it")
}

/// A frame that its owner never took was lost, and was not passed on.
fn settle(outcomes: &mut [Outcome]) {
    let left: Vec<usize> =
        outcomes.iter().filter_map(|outcome| outcome.inbox.as_ref()).flat_map(Inbox::left).collect();
    for from in left {
        let counted = &mut outcomes[from].counted;
        (counted.passed, counted.lost) = (counted.passed - 1, counted.lost + 1);
    }
}

/// The thread of a worker.
fn work(worker: Worker, begin: fn(usize), stop: &AtomicBool, news: &Sender<News>) -> Result<Outcome, Error> {
    /// Tells that the thread ends, however it does.
    struct Gone<'a>(&'a Sender<News>);
    impl Drop for Gone<'_> {
        fn drop(&mut self) {
            let _ = self.0.send(News::Gone);
        }
    }
    let _gone = Gone(news);
    begin(worker.number);
    worker.run(stop, news)
}

/// Listens to the workers, and says when they stop.
struct Watch<'a, S, E> {
    bundle: &'a Bundle,
    stopped: S,
    each: E,
    ports: &'a [Port],
    progress: Progress,
    stop: &'a AtomicBool,
    ended: Option<Ended>,
}

impl<S: FnMut() -> bool, E: FnMut(&Now<'_>)> Watch<'_, S, E> {
    /// Until all threads have ended.
    fn listen(&mut self, heard: &Receiver<News>, workers: usize) {
        let (mut over, mut gone) = (vec![false; workers], 0);
        while gone < workers {
            match heard.recv_timeout(LOOK) {
                Ok(News::Tick { worker, tick, now, counts, flows }) => {
                    let second = self.progress.tick(worker, tick, now, counts, flows);
                    if workers > 1
                        && let Some(stop) = holding(&self.bundle.plan.stops, now, self.progress.sum().flows)
                    {
                        self.end(Ended::Stop(stop));
                    }
                    if let Some(second) = second {
                        let flows = self.progress.flows();
                        let history = &self.progress.history;
                        (self.each)(&Now { bundle: self.bundle, second, flows: &flows, history });
                    }
                }
                Ok(News::Over { worker, ended }) => {
                    over[worker] = true;
                    if over.iter().all(|over| *over) {
                        self.end(ended);
                    }
                }
                Ok(News::Gone) => {
                    gone += 1;
                    // One that failed ends the others.
                    self.stop.store(true, Ordering::Relaxed);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if !self.stop.load(Ordering::Relaxed) && ((self.stopped)() || self.ports.iter().any(Port::ended))
            {
                self.end(Ended::Interrupted);
            }
        }
    }

    /// Everything ends now. The first reason counts.
    fn end(&mut self, why: Ended) {
        self.ended.get_or_insert(why);
        self.stop.store(true, Ordering::Relaxed);
    }

    fn report(mut self, outcomes: Vec<Outcome>) -> Report {
        let rounds = self.progress.each();
        let one = |(outcome, rounds): (&Outcome, _)| WorkerReport::new(self.bundle, &outcome.counted, rounds);
        let workers: Vec<WorkerReport> = outcomes.iter().zip(rounds).map(one).collect();
        let now = outcomes.iter().map(|outcome| outcome.now).max().unwrap_or(0);
        let mut history = std::mem::take(&mut self.progress.history);
        let mut all = outcomes.into_iter().map(|outcome| outcome.counted);
        let Some(mut sum) = all.next() else { unreachable!("a run has a worker") };
        all.for_each(|outcome| sum.merge(&outcome));
        history.end(now, super::counts::Counts::of(self.bundle, &sum.tally));
        if workers.len() > 1 {
            sum.meter.bound_active(history.most_active());
        }
        let ended = self.ended.unwrap_or(Ended::Interrupted);
        Report::new(self.bundle, &sum, Run { start: 0, now, ended, virtual_time: false, workers, history })
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::code::End;
    use crate::pools::owners::Owners;
    use crate::run::counted::Counted;
    use crate::run::example::{ASK, bundle};
    use crate::run::meter::Meter;
    use crate::run::steering::{Steering, tests::datagram};
    use crate::shard::Tally;

    /// Pairs of pipes of this test.
    fn pairs(test: &str, count: usize) -> Vec<Sides> {
        let open = |name: String| Some(Port::open(&name).unwrap());
        let id = |at| format!("flows-{test}-{}-{at}", std::process::id());
        (0..count)
            .map(|at| Sides {
                client: open(format!("pipe:{}{{1", id(at))),
                server: open(format!("pipe:{}}}1", id(at))),
            })
            .collect()
    }

    fn endless() -> Bundle {
        bundle(&format!("{ASK} run {{ ask rate 100 flows/s for 10 h }}"))
    }

    #[test]
    fn a_worker_that_panics_ends_the_run_with_its_number() {
        let options = Options { begin: |worker| assert!(worker != 1, "on purpose"), ..Options::default() };
        let error = run(endless(), pairs("panic", 3), &options, || false, |_| {}).unwrap_err();
        assert!(error.to_string().starts_with("worker 1: it panicked: on purpose;"), "{error}");
    }

    #[test]
    fn a_user_that_panics_ends_the_run_too() {
        let run = || run(endless(), pairs("user", 2), &Options::default(), || panic!("on purpose"), |_| {});
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    }

    #[test]
    fn a_frame_that_its_owner_never_took_is_lost_and_not_passed_on() {
        let mut all = Steering::all(Owners::new(1, 2), 2);
        let here = (1..=100).filter(|port| all[0].is_here(End::Client, &datagram(*port))).count() as u64;
        (0..10).for_each(|_| assert!(all[1].next().is_some()));
        let outcome = |steering: Steering| {
            let (passed, lost, inbox) = steering.end();
            let meter = Meter::over(Vec::new(), 0, 0);
            let (tally, refused) = (Tally::default(), Default::default());
            let counted = Counted { tally, refused, meter, postponed: 0, missed: 0, passed, lost };
            Outcome { now: 0, counted, inbox: Some(inbox) }
        };
        let mut outcomes: Vec<Outcome> = all.into_iter().map(outcome).collect();
        settle(&mut outcomes);
        let counted: Vec<(u64, u64)> =
            outcomes.iter().map(|outcome| (outcome.counted.passed, outcome.counted.lost)).collect();
        assert_eq!(counted, [(10, 100 - here - 10), (0, 0)]);
    }
}
