//! A recording, from its start to what comes out of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

use ringway_sys::fd::Epoll;
use ringway_sys::time::monotonic_ns;
use ringway_sys::{Error, Result};
use serde::{Deserialize, Serialize};

use super::collect::{Collector, Function, Stack};
use super::events::Events;
use super::images::Images;
use super::reader::{prepared, read};
use super::tier::{Limits, Source, Tier};
use super::{Options, Target};
use crate::time::{ThreadTime, cpu_time, process_threads, thread_time};

/// A recording that runs. Dropping it ends it without a result.
///
/// ```
/// use ringway_model::sample::{Options, Recorder, Target};
///
/// let own = std::process::id() as i32;
/// match Recorder::start(&Options::of(Target::Process(own))) {
///     Ok(recorder) => {
///         let sum: u64 = (0..10_000_000u64).fold(0, |sum, n| sum ^ std::hint::black_box(n));
///         let samples = recorder.stop();
///         println!("{sum}: {} samples of tier {}", samples.n, samples.tier);
///     }
///     Err(why) => println!("{why}"),
/// }
/// ```
#[derive(Debug)]
pub struct Recorder {
    options: Options,
    events: Arc<Events>,
    reader: Option<JoinHandle<Collector>>,
    stop: Arc<AtomicBool>,
    notes: Vec<String>,
    before: Reading,
}

/// What is read at both ends of a recording.
#[derive(Debug)]
struct Reading {
    at_ns: u64,
    steal_ns: u64,
    threads: HashMap<i32, ThreadTime>,
}

/// What a recording took of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Nanoseconds from start to end.
    pub elapsed_ns: u64,
    /// Nanoseconds that the target's threads ran while they were sampled; of CPUs the time that the machine had them, idle or not.
    pub time_ns: u64,
    /// Cycles of the core, where a hardware counter counted.
    pub cycles: Option<u64>,
    /// Nanoseconds that the hypervisor took from these CPUs.
    pub steal_ns: u64,
    /// Nanoseconds that threads waited for a CPU, of threads that live at the end.
    pub wait_ns: u64,
    /// Times that such threads gave their CPU away.
    pub voluntary: u64,
    /// Times that a CPU was taken from such threads.
    pub forced: u64,
}

/// What a recording has.
#[derive(Debug)]
pub struct Samples {
    /// What the samples come from.
    pub tier: Tier,
    /// Samples a second that were asked for.
    pub frequency: u32,
    /// Whether CPUs were sampled, and not threads.
    pub of_cpus: bool,
    /// Samples.
    pub n: u64,
    /// Samples that the rings had no room for.
    pub lost: u64,
    /// Samples of new stacks, when there was no memory for more.
    pub unstored: u64,
    /// How often the kernel sampled less, since it took too much time.
    pub throttled: u64,
    /// The samples, equal ones together.
    pub stacks: Vec<Stack>,
    /// What processes had mapped.
    pub images: Images,
    /// What the kernel got meanwhile.
    pub functions: Vec<Function>,
    /// Process and name of each thread.
    pub names: HashMap<u32, (u32, String)>,
    /// Time.
    pub spent: Spent,
    /// What is missing, a line each.
    pub notes: Vec<String>,
}

impl Recorder {
    /// Starts to sample with the best source that this process may use.
    ///
    /// # Errors
    /// When the target is gone, or the kernel lets this process sample nothing of it. The error has the cure.
    pub fn start(options: &Options) -> Result<Self> {
        let limits = Limits::read();
        let (events, rings) = Events::open(options, &limits)?;
        let events = Arc::new(events);
        let notes = limits.lack(events.tier, options.kernel).into_iter().collect();
        let (stop, epoll) = (Arc::new(AtomicBool::new(false)), Epoll::new());
        let epoll = epoll.map_err(|e| Error::io("sampling", "making an epoll failed", e))?;
        let collector = prepared(options, &events);
        let reader = {
            let (events, stop) = (Arc::clone(&events), Arc::clone(&stop));
            thread::Builder::new()
                .name("ringway-prof".into())
                .spawn(move || read(&events, collector, rings, &epoll, &stop))
        };
        let reader = reader.map_err(|e| Error::io("sampling", "starting a thread failed", e))?;
        let before = Reading::now(options, &events);
        let recorder = Self { options: options.clone(), events, reader: Some(reader), stop, notes, before };
        if !matches!(options.target, Target::Held(_)) {
            recorder.events.enable().map_err(|e| Error::io("sampling", "starting the events failed", e))?;
        }
        Ok(recorder)
    }

    /// What the samples come from.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.events.tier
    }

    /// What this tier lacks, a line each with its cure.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Ends the recording.
    #[must_use]
    pub fn stop(mut self) -> Samples {
        self.events.disable();
        let spent = self.spent();
        let mut collector = self.join();
        Samples {
            tier: self.events.tier,
            frequency: self.options.frequency,
            of_cpus: matches!(self.options.target, Target::Cpus(_)),
            n: collector.n,
            lost: collector.lost,
            unstored: collector.unstored,
            throttled: collector.throttled,
            stacks: collector.take_stacks(),
            images: collector.images,
            functions: collector.functions,
            names: collector.names,
            spent,
            notes: std::mem::take(&mut self.notes),
        }
    }

    fn join(&mut self) -> Collector {
        self.stop.store(true, Relaxed);
        let joined = self.reader.take().map(JoinHandle::join);
        match joined {
            Some(Ok(collector)) => collector,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Collector::default(),
        }
    }

    fn spent(&self) -> Spent {
        let (after, counted) = (Reading::now(&self.options, &self.events), self.events.counted());
        let since = |tid: &i32, now: &ThreadTime| {
            now.since(self.before.threads.get(tid).unwrap_or(&ThreadTime::default()))
        };
        let threads = after.threads.iter().map(|(tid, now)| since(tid, now));
        let threads = threads.fold(ThreadTime::default(), |sum, t| sum.plus(&t));
        let steal_ns = after.steal_ns.saturating_sub(self.before.steal_ns);
        let stolen = if matches!(self.options.target, Target::Cpus(_)) { steal_ns } else { 0 };
        Spent {
            elapsed_ns: after.at_ns.saturating_sub(self.before.at_ns),
            time_ns: if self.events.timers.is_some() {
                threads.run_ns
            } else {
                counted.ns.saturating_sub(stolen)
            },
            cycles: (self.events.tier.source == Source::Cycles).then_some(counted.count),
            steal_ns,
            wait_ns: threads.wait_ns,
            voluntary: threads.voluntary,
            forced: threads.forced,
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(reader) = self.reader.take() {
            // A panic of the reader has been printed.
            let _ = reader.join();
        }
    }
}

impl Reading {
    fn now(options: &Options, events: &Events) -> Self {
        let tids = match &options.target {
            Target::Threads(tids) => tids.clone(),
            Target::Process(pid) | Target::Held(pid) => process_threads(*pid),
            Target::Cpus(_) => Vec::new(),
        };
        let threads = tids.into_iter().filter_map(|tid| Some((tid, thread_time(tid)?))).collect();
        Self { at_ns: monotonic_ns(), steal_ns: cpu_time(&events.cpus).steal_ns, threads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Work that a sample can hit.
    #[inline(never)]
    fn spin(turns: u64) -> u64 {
        (0..turns).fold(0, |sum, n| sum ^ std::hint::black_box(n))
    }

    #[test]
    fn own_threads_are_sampled_without_any_right() {
        let own = nix::unistd::gettid().as_raw();
        let mut options = Options::of(Target::Threads(vec![own]));
        (options.frequency, options.kernel) = (4999, false);
        let recorder = match Recorder::start(&options) {
            Ok(recorder) => recorder,
            Err(e) => return eprintln!("SKIP: this process may not sample itself: {e}"),
        };
        assert!(!recorder.tier().kernel && recorder.notes().is_empty());
        let before = thread_time(own).unwrap().run_ns;
        while thread_time(own).unwrap().run_ns - before < 100_000_000 {
            spin(100_000);
        }
        let ran = thread_time(own).unwrap().run_ns - before;
        let samples = recorder.stop();
        let sum: u64 = samples.stacks.iter().map(|s| s.count).sum();
        assert!(sum == samples.n && samples.n > 20, "{} samples", samples.n);
        assert!(samples.stacks.iter().all(|s| s.kernel == 0 && s.tid == own as u32));
        let near = (samples.spent.time_ns as f64 / ran as f64 - 1.0).abs();
        assert!(near < 0.5, "the event ran {} ns, the thread {ran} ns", samples.spent.time_ns);
    }

    #[test]
    fn a_target_that_is_gone_is_named() {
        let e = Recorder::start(&Options::of(Target::Process(i32::MAX))).unwrap_err().to_string();
        assert!(e.starts_with("process 2147483647: ") && e.contains("ended"), "{e}");
    }
}
