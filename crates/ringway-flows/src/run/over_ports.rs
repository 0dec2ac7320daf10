//! A run over ports: its workers, and the thread that listens to them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use ringway::{Error, Port};

use super::counted::Counted;
use super::plan::holding;
use super::progress::{News, Now, Progress};
use super::report::{Ended, Report, Run};
use super::report_workers::WorkerReport;
use super::setup;
pub use super::sides::{Options, Sides};
use super::worker::Worker;
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
    let outcomes = thread::scope(|scope| {
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
        // A thread that panicked makes this one panic, too.
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|why| std::panic::resume_unwind(why)))
            .collect::<Result<Vec<_>, _>>()
    })?;
    Ok(watch.report(outcomes))
}

/// The thread of a worker.
fn work(
    worker: Worker,
    begin: fn(usize),
    stop: &AtomicBool,
    news: &Sender<News>,
) -> Result<(u64, Counted), Error> {
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

    fn report(mut self, outcomes: Vec<(u64, Counted)>) -> Report {
        let rounds = self.progress.each();
        let one =
            |((_, outcome), rounds): (&(u64, Counted), _)| WorkerReport::new(self.bundle, outcome, rounds);
        let workers: Vec<WorkerReport> = outcomes.iter().zip(rounds).map(one).collect();
        let now = outcomes.iter().map(|(now, _)| *now).max().unwrap_or(0);
        let mut history = std::mem::take(&mut self.progress.history);
        let mut all = outcomes.into_iter().map(|(_, outcome)| outcome);
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
