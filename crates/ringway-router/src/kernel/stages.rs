//! What the stages of packets cost, counted while somebody watches (bpf/router/stages.h).

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use libbpf_rs::{MapCore, MapHandle};
use ringway::time::monotonic_ns;
use ringway::{Error, Result};
use ringway_bpf::layout::router::{numbers, stage, stage_counts, stage_lease};
use ringway_count::{MAX_STAGES, StageCounts, TIMED_ONE_IN};

use super::maps::{Tables, array, quiet, refused};
use super::pins::STAGES;
use crate::sys::{self, Mapping};

const _: () = assert!(stage::STAGES as usize <= MAX_STAGES);
const _: () = assert!(numbers::STAGES_EVERY == TIMED_ONE_IN);

/// The stages of a router's packets: who has it may have them counted. Their map lies beside the router's others, for root alone.
///
/// ```no_run
/// use ringway_router::kernel::{Router, Stages};
/// let stages = Router::open("vale0")?.stages()?;
/// stages.watch(std::time::Duration::from_secs(2));
/// println!("{:?} took {:?}", Stages::NAMES, stages.counts().time);
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug)]
pub struct Stages {
    pub(super) map: MapHandle,
    page: Mapping,
    cpus: usize,
}

impl Stages {
    /// Of a packet: to check it; to look up its destination; then its next hop, its new header, and to send it.
    pub const NAMES: [&str; stage::STAGES as usize] = ["prerouting", "routing", "postrouting"];

    /// Has members count what packets cost, for so long from now on, or longer when another watcher asked for that. The control process
    /// exchanges the programs of members, one after the other, and exchanges them back when nobody asks any more.
    pub fn watch(&self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.page.u64(stage_lease::UNTIL).fetch_max(monotonic_ns().saturating_add(time), Relaxed);
    }

    /// Whether the programs of members are to time their stages. They do so when they [are exchanged](Self::are_exchanged).
    #[must_use]
    pub fn are_timed(&self) -> bool {
        self.page.u64(stage_lease::TIMED).load(Acquire) != 0
    }

    /// Whether all members have the programs that [`are_timed`](Self::are_timed) says. A control process of an earlier version never says so.
    #[must_use]
    pub fn are_exchanged(&self) -> bool {
        self.page.u64(stage_lease::EXCHANGED).load(Acquire) != 0
    }

    /// What the stages cost so far, in nanoseconds: of all members that there are and were. A batch is one run of a program, and has one
    /// packet or one super-frame.
    #[must_use]
    pub fn counts(&self) -> StageCounts {
        let mut sum = StageCounts::default();
        for cpu in 0..self.cpus {
            let word = |of| self.page.u64(stage_lease::SIZE + cpu * stage_counts::SIZE + of).load(Relaxed);
            let mut time = [0; MAX_STAGES];
            for (n, ns) in time[..Self::NAMES.len()].iter_mut().enumerate() {
                *ns = word(stage_counts::NS + 8 * n);
            }
            sum.add(&StageCounts {
                batches: word(stage_counts::RUNS),
                packets: word(stage_counts::FRAMES),
                time,
            });
        }
        sum
    }

    /// Whether somebody watches.
    pub(super) fn are_wanted(&self) -> bool {
        monotonic_ns() < self.page.u64(stage_lease::UNTIL).load(Relaxed)
    }

    /// Says which programs members are to have, also members that join. Some have others still.
    pub(super) fn set_timed(&self, timed: bool) {
        self.page.u64(stage_lease::EXCHANGED).store(0, Relaxed);
        self.page.u64(stage_lease::TIMED).store(timed.into(), Release);
    }

    /// Says that all members have them.
    pub(super) fn set_exchanged(&self) {
        self.page.u64(stage_lease::EXCHANGED).store(1, Release);
    }

    /// Whether the process that published these tables looks whether somebody watches.
    pub(super) fn are_served_by(&self, tables: &Tables) -> Result<bool> {
        Ok(self.page.u64(stage_lease::TABLES).load(Relaxed) == number(tables)?)
    }

    /// Says who looks after them: the process that published these tables.
    pub(super) fn set_served_by(&self, tables: &Tables) -> Result<()> {
        self.page.u64(stage_lease::TABLES).store(number(tables)?, Relaxed);
        Ok(())
    }

    /// The map in a router's directory, which a control process made; `None` without one.
    pub(super) fn find(dir: &Path, cpus: usize, on: &str) -> Result<Option<Self>> {
        quiet();
        let at = dir.join(STAGES);
        match MapHandle::from_pinned_path(&at) {
            Ok(map) if map.value_size() as usize == size(cpus) => Self::of(map, cpus, on).map(Some),
            Ok(_) => Ok(None), // of another version
            Err(e) if e.kind() == libbpf_rs::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(refused(on, &format!("opening {}", at.display()), &e)),
        }
    }

    /// The same; makes the map if there is none. For the control process, which is one.
    pub(super) fn find_or_make(dir: &Path, cpus: usize, on: &str) -> Result<Self> {
        if let Some(found) = Self::find(dir, cpus, on)? {
            return Ok(found);
        }
        let at = dir.join(STAGES);
        let _ = fs::remove_file(&at); // of another version
        let made = Self::new(cpus, on)?;
        let io = |e| Error::io(on, format!("pinning {} failed", at.display()), e);
        sys::pin(made.map.as_fd(), &at).map_err(io)?;
        fs::set_permissions(&at, fs::Permissions::from_mode(0o600)).map_err(io)?;
        Ok(made)
    }

    /// Makes the map for so many CPUs.
    pub(super) fn new(cpus: usize, on: &str) -> Result<Self> {
        Self::of(array(STAGES, size(cpus), on)?, cpus, on)
    }

    fn of(map: MapHandle, cpus: usize, on: &str) -> Result<Self> {
        let page = Mapping::new(map.as_fd(), map.value_size() as usize)
            .map_err(|e| Error::io(on, "mapping the counters of stages failed", e))?;
        Ok(Self { map, page, cpus })
    }
}

/// Bytes of the map: the lease, then what each CPU counts.
fn size(cpus: usize) -> usize {
    stage_lease::SIZE + cpus * stage_counts::SIZE
}

/// The kernel's number of a map that these tables have, and no others.
fn number(tables: &Tables) -> Result<u64> {
    let info = tables.get("control").info().map_err(|e| refused("stages", "asking about a map", &e))?;
    Ok(info.info.id.into())
}
