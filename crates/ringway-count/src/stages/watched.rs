//! The files of loops, for who watches.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Duration;

use ringway_sys::private_dir::PrivateDir;
use ringway_sys::{mmap::Mmap, time};

use super::layout::{BATCHES, BYTES, FOLDER, IS, MAGIC, NAME, PACKETS, PID, STAGES, TIME, UNTIL, name_of};
use super::{MAX_STAGES, StageCounts};
use crate::entry::text;
use crate::files::open_alive;
use crate::run_directory::directory;

/// A loop of a process that lives, whose stages can be watched.
#[derive(Debug)]
pub struct MeteredLoop {
    /// What it is, in its owner's words.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// Its stages.
    pub stages: Vec<String>,
    mem: Mmap,
    entry: String,
}

/// The loops whose stages the caller may watch: its own ones, or root's.
#[must_use]
pub fn metered_loops() -> Vec<MeteredLoop> {
    let Some(dir) = directory(FOLDER) else { return Vec::new() };
    let mut names = dir.names();
    names.sort();
    names.iter().filter_map(|file| open(&dir, file)).collect()
}

fn open(dir: &PrivateDir, entry: &str) -> Option<MeteredLoop> {
    let Some(file) = open_alive(dir, entry) else {
        let _ = dir.remove(entry);
        return None;
    };
    if file.metadata().ok()?.len() != BYTES as u64 {
        return None;
    }
    let mem = Mmap::shared(file.as_fd(), BYTES, 0, true).ok()?;
    if mem.u64(IS).load(Acquire) != MAGIC {
        return None;
    }
    let stage = |n| {
        let (at, end) = name_of(n);
        text(&mem, at, end)
    };
    let stages = (0..MAX_STAGES).map(stage).take_while(|name| !name.is_empty()).collect();
    let (name, pid) = (text(&mem, NAME, STAGES), mem.u32(PID).load(Relaxed));
    Some(MeteredLoop { name, pid, stages, mem, entry: entry.to_owned() })
}

impl MeteredLoop {
    /// Has the loop count for so long from now on, or longer when another watcher asked for that.
    pub fn watch(&self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.mem.u64(UNTIL).fetch_max(time::monotonic_ns().saturating_add(time), Relaxed);
    }

    /// Whether the loop counts.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.mem.u64(UNTIL).load(Relaxed) != 0
    }

    /// Whether its owner has the loop still.
    #[must_use]
    pub fn is_there(&self) -> bool {
        directory(FOLDER).is_some_and(|dir| open_alive(&dir, &self.entry).is_some())
    }

    /// What its stages cost so far, in ticks of the TSC.
    #[must_use]
    pub fn counts(&self) -> StageCounts {
        let word = |at| self.mem.u64(at).load(Relaxed);
        StageCounts {
            batches: word(BATCHES),
            packets: word(PACKETS),
            time: std::array::from_fn(|stage| word(TIME + 8 * stage)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use ringway_sys::fd;

    use super::*;
    use crate::run_directory::make_directory;
    use crate::{Borders, Meter};

    /// Where there is no run directory, there is nothing to watch.
    fn found(name: &str) -> Option<MeteredLoop> {
        let found = metered_loops().into_iter().find(|l| l.name == name && l.pid == std::process::id());
        if found.is_none() {
            eprintln!("SKIP: no run directory, so no loop can be watched");
        }
        found
    }

    #[test]
    fn a_loop_counts_while_somebody_watches() {
        let mut meter = Meter::new("test-counts", &["RX", "TX"]).unwrap();
        assert!(meter.watched().is_none());
        let Some(found) = found("test-counts") else { return };
        assert_eq!(found.stages, ["RX", "TX"]);
        found.watch(Duration::from_secs(600));
        let mut round = meter.watched().expect("somebody watches");
        round.begin();
        round.end(1);
        round.end_batch(64);
        meter.add(&round);
        assert!(meter.watched().is_some() && found.is_watched());
        let counts = found.counts();
        assert_eq!((counts.batches, counts.packets, counts.time[0]), (1, 64, 0));
        assert_eq!(counts.since(&counts), StageCounts::default());
    }

    #[test]
    fn one_round_in_17_is_timed() {
        let mut meter = Meter::new("test-part", &["RX"]).unwrap();
        let Some(found) = found("test-part") else { return };
        found.watch(Duration::from_secs(600));
        let rounds = 10 * 64 * crate::TIMED_ONE_IN;
        assert_eq!((0..rounds).filter(|_| meter.watched().is_some()).count(), 640);
    }

    #[test]
    fn a_watch_that_nobody_prolongs_ends() {
        let mut meter = Meter::new("test-ends", &["RX"]).unwrap();
        let Some(found) = found("test-ends") else { return };
        found.watch(Duration::ZERO);
        let round = meter.watched().expect("the loop finds out in its next round");
        meter.add(&round);
        assert!(meter.watched().is_none() && !found.is_watched());
    }

    /// Who may do what: the file is its user's alone, and a strange one is no loop.
    #[test]
    fn strange_files_are_no_loops() {
        let Some(Ok(dir)) = make_directory(FOLDER) else {
            return eprintln!("SKIP: no run directory, so no loop can be watched");
        };
        for len in [BYTES - 1, BYTES, BYTES + 1] {
            let name = format!("strange_{len}.{}.0", std::process::id());
            let file = dir.create(&name).unwrap();
            assert!(fd::lock_byte(file.as_fd(), 0, false).unwrap());
            file.set_len(len as u64).unwrap();
            let found = metered_loops().iter().any(|l| l.entry == name);
            let meta = file.metadata().unwrap();
            dir.remove(&name).unwrap();
            assert!(!found, "{len} bytes of zeros");
            let parent = std::fs::metadata(dir.path()).unwrap();
            assert_eq!((meta.mode() & 0o777, meta.uid()), (0o600, parent.uid()));
        }
    }

    #[test]
    fn a_file_goes_with_its_loop() {
        let meter = Meter::new("test-goes", &[]).unwrap();
        let Some(found) = found("test-goes") else { return };
        assert!(found.is_there());
        drop(meter);
        assert!(!found.is_there());
        assert!(metered_loops().iter().all(|l| l.name != "test-goes"));
        assert_eq!(found.counts(), StageCounts::default(), "who has it mapped keeps it");
    }
}
