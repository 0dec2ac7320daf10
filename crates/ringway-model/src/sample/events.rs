//! The kernel's events of a target: one for each thread and CPU, and one ring for each CPU.

use std::collections::BTreeMap;
use std::io;

use ringway_sys::perf::own::Timers;
use ringway_sys::perf::ring::Ring;
use ringway_sys::perf::{Counted, Event, Settings};
use ringway_sys::{Error, Result};

use super::tier::{Limits, Tier};
use super::{Options, Target};
use crate::time::process_threads;

/// Pages of a ring: with its control page as much as an unprivileged process may lock for each CPU.
const PAGES: usize = 128;
/// Below this samples would get lost.
const FEWEST_PAGES: usize = 8;

/// The open events of a target.
#[derive(Debug)]
pub(super) struct Events {
    pub(super) tier: Tier,
    pub(super) cpus: Vec<u32>,
    events: Vec<Event>,
    /// Instead of events, where the kernel allows none.
    pub(super) timers: Option<Timers>,
}

impl Events {
    /// Opens the best tier that the kernel allows, with a ring for each CPU.
    pub(super) fn open(options: &Options, limits: &Limits) -> Result<(Self, Vec<Ring>)> {
        let on = named(&options.target);
        let cpus = chosen_cpus(&options.target);
        let fits =
            |tier: &&Tier| (options.kernel || !tier.kernel) && (options.cycles || tier.letter() != 'A');
        let mut refused = io::Error::from_raw_os_error(libc::ENOENT);
        for &tier in Tier::ALL.iter().filter(fits) {
            match open_all(&settings(options, tier), &options.target, &cpus) {
                Ok(by_cpu) => {
                    let rings = rings(&by_cpu).map_err(|e| no_memory(&on, e))?;
                    let events = by_cpu.into_values().flatten().collect();
                    return Ok((Self { tier, cpus, events, timers: None }, rings));
                }
                Err(e) => refused = e,
            }
        }
        match Self::by_timers(options, cpus) {
            Some(events) => Ok((events, Vec::new())),
            None => Err(limits.refusal(&on, refused)),
        }
    }

    /// Timers, if the target is threads of this process.
    fn by_timers(options: &Options, cpus: Vec<u32>) -> Option<Self> {
        let own = process_threads(std::process::id() as i32);
        let threads = match &options.target {
            Target::Threads(tids) if tids.iter().all(|tid| own.contains(tid)) => tids.clone(),
            Target::Process(pid) if *pid == std::process::id() as i32 => own,
            _ => return None,
        };
        let timers = Timers::start(&threads, options.frequency).ok()?;
        Some(Self { tier: Tier::TIMERS, cpus, events: Vec::new(), timers: Some(timers) })
    }

    pub(super) fn enable(&self) -> io::Result<()> {
        self.events.iter().try_for_each(Event::enable)
    }

    pub(super) fn disable(&self) {
        // One that can't be stopped stops when it is closed.
        self.events.iter().for_each(|event| drop(event.disable()));
    }

    pub(super) fn each(&self) -> impl Iterator<Item = &Event> {
        self.events.iter()
    }

    /// The sum over all events.
    pub(super) fn counted(&self) -> Counted {
        let each = self.events.iter().filter_map(|event| event.counted().ok());
        each.fold(Counted::default(), |sum, c| Counted {
            count: sum.count.saturating_add(c.count),
            ns: sum.ns.saturating_add(c.ns),
        })
    }
}

fn settings(options: &Options, tier: Tier) -> Settings {
    Settings {
        counts: tier.counts(),
        frequency: options.frequency,
        kernel: tier.kernel,
        inherit: matches!(options.target, Target::Process(_) | Target::Held(_)),
        on_exec: matches!(options.target, Target::Held(_)),
    }
}

/// What errors name.
fn named(target: &Target) -> String {
    let list = |numbers: &mut dyn Iterator<Item = String>| numbers.collect::<Vec<_>>().join(", ");
    match target {
        Target::Threads(tids) => format!("thread {}", list(&mut tids.iter().map(ToString::to_string))),
        Target::Process(pid) | Target::Held(pid) => format!("process {pid}"),
        Target::Cpus(cpus) if cpus.is_empty() => "all CPUs".to_owned(),
        Target::Cpus(cpus) => format!("CPU {}", list(&mut cpus.iter().map(ToString::to_string))),
    }
}

/// The CPUs of a target; threads may run on all.
fn chosen_cpus(target: &Target) -> Vec<u32> {
    match target {
        Target::Cpus(cpus) if !cpus.is_empty() => cpus.clone(),
        _ => numbers(&std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default()),
    }
}

/// A list of the kernel, such as `0-3,8`.
fn numbers(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    let found: Vec<u32> = list.trim().split(',').filter_map(range).flatten().collect();
    if found.is_empty() { vec![0] } else { found }
}

type ByCpu = BTreeMap<u32, Vec<Event>>;

/// Opens the events of all threads. A thread that ended meanwhile is left out, unless no other is there.
fn open_all(settings: &Settings, target: &Target, cpus: &[u32]) -> io::Result<ByCpu> {
    let threads: Vec<Option<i32>> = match target {
        Target::Cpus(_) => vec![None],
        Target::Threads(tids) => tids.iter().copied().map(Some).collect(),
        Target::Held(pid) => vec![Some(*pid)],
        Target::Process(pid) => process_threads(*pid).into_iter().map(Some).collect(),
    };
    let mut gone = io::Error::from_raw_os_error(libc::ESRCH);
    let mut by_cpu = ByCpu::new();
    for thread in threads {
        match cpus
            .iter()
            .map(|&cpu| Ok((cpu, Event::open(settings, thread, cpu)?)))
            .collect::<io::Result<Vec<_>>>()
        {
            Ok(events) => {
                events.into_iter().for_each(|(cpu, event)| by_cpu.entry(cpu).or_default().push(event))
            }
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => gone = e,
            Err(e) => return Err(e),
        }
    }
    if by_cpu.is_empty() { Err(gone) } else { Ok(by_cpu) }
}

/// A ring for each CPU, at the first event there, which all other events there share.
fn rings(by_cpu: &ByCpu) -> io::Result<Vec<Ring>> {
    let ring = |events: &Vec<Event>| {
        let (first, others) = events.split_first().ok_or(io::ErrorKind::NotFound)?;
        let ring = mapped(first, PAGES)?;
        others.iter().try_for_each(|other| other.redirect(first))?;
        Ok(ring)
    };
    by_cpu.values().map(ring).collect()
}

fn mapped(event: &Event, pages: usize) -> io::Result<Ring> {
    match event.ring(pages) {
        Err(_) if pages > FEWEST_PAGES => mapped(event, pages / 2),
        other => other,
    }
}

fn no_memory(on: &str, e: io::Error) -> Error {
    Error::io(on, "mapping a ring for samples failed", e)
        .cure("raise kernel.perf_event_mlock_kb, or end other profilers of this user")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel() {
        assert_eq!(numbers("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(numbers("5"), [5]);
        assert_eq!(numbers("nonsense"), [0]);
    }

    #[test]
    fn own_threads_have_timers_where_there_is_no_event() {
        let own = Options::of(Target::Process(std::process::id() as i32));
        let events = Events::by_timers(&own, vec![0]).unwrap();
        assert!(events.tier.to_string().contains("timers of own threads, user part only"));
        assert!(Events::by_timers(&Options::of(Target::Process(1)), vec![0]).is_none());
        assert!(Events::by_timers(&Options::of(Target::Cpus(vec![0])), vec![0]).is_none());
    }

    #[test]
    fn errors_name_the_target() {
        assert_eq!(named(&Target::Threads(vec![4, 5])), "thread 4, 5");
        assert_eq!(named(&Target::Cpus(vec![])), "all CPUs");
        assert_eq!(named(&Target::Held(9)), "process 9");
    }
}
