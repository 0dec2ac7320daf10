//! The control process' side: tables of its own, which it fills, publishes and looks after.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use libbpf_rs::Object;
use ringway::pinned::FolderLock;
use ringway::{Error, ErrorKind, Result};
use ringway_fib::{Fib4, Fib6, FibError, NextHop, Prefix4, Prefix6, Usage};
use ringway_fwd::control::{Adjacencies, Adjacency, Buckets, Groups, Limits, Plane};

use super::layout::TALLY;
use super::maps::Tables;
use super::pins::{CLAIM, LINKS, MEMBER};
use super::program::{self, BEAT, Identity};
use super::router::Router;
use super::stages::Stages;
use crate::sys::{self, Mapped, Mapping};

/// Tables of a router in the hands of the one process that may change them.
///
/// They are new and empty, beside the tables of an earlier process, which go on serving until [`publish`](Self::publish). Programs see later
/// changes at once, each packet before or after a change. When this is dropped, or its process dies, members go on
/// forwarding for three seconds and then leave all to the kernel; another process can take over at any time.
///
/// ```no_run
/// use ringway_fwd::control::{Follower, Options, Pulse, Resolver};
/// use ringway_router::kernel::{Interface, Router, Spec};
/// use std::time::Instant;
/// let router = Router::create("vale0", &Spec::default())?;
/// let mut control = router.take_control()?;
/// let mut follower = Follower::open(Options::default(), &mut Pulse::none())?;
/// let mut resolver = Resolver::new(&mut control);
/// let changes = follower.poll(Instant::now(), &mut Pulse::none())?;
/// resolver.update(follower.state(), changes, &mut control)?;
/// control.heartbeat(true)?;
/// control.publish(&mut Pulse::none())?;
/// router.add_member("eth1", &Interface { mac: [2, 0, 0, 0, 0, 1], forwards4: true, ..Default::default() })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Control {
    fib4: Mapped<Fib4>,
    fib6: Mapped<Fib6>,
    adjacencies: Mapped<Adjacencies>,
    groups: Mapped<Groups>,
    pub(super) page: Mapping,
    /// When this waited for programs last, to make room.
    waited: Instant,
    tally: Mapping,
    /// What numbers of next hops had counted when they came into use again.
    before: HashMap<NextHop, (u64, u64)>,
    beat: Object,
    pub(super) tables: Tables,
    pub(super) router: Router,
    pub(super) stages: Stages,
    /// Members whose programs are to be exchanged for others: with stages, or without. `None` before these tables were published.
    pub(super) behind: Option<Vec<String>>,
    /// Held as long as this lives.
    _claim: Claim,
}

/// The part of the one process that writes a router's tables, before it has made any. It falls with the process.
#[derive(Debug)]
pub struct Claim(#[expect(dead_code, reason = "held for its lock")] FolderLock);

/// From one wait for programs to the next where something does not fit.
const GRACE_PAUSE: Duration = Duration::from_millis(250);

impl Router {
    /// Becomes the process that writes the router's tables: makes new ones, of the router's [`Spec`](super::Spec).
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when another process has that part, or this one; [`ErrorKind::Io`] when there is no memory for the
    /// tables, or the kernel can't wait for running programs.
    pub fn take_control(&self) -> Result<Control> {
        self.control(self.claim()?)
    }

    /// The first half of [`take_control`](Self::take_control): nobody else can have that part from now on. No tables are made.
    ///
    /// # Errors
    /// As [`take_control`](Self::take_control).
    pub fn claim(&self) -> Result<Claim> {
        let on = self.name();
        wait_for_programs(on)?; // where that can't be done, nothing is begun
        // An earlier version, or one that ran under another umask, made directories that other users could
        // enter.
        [MEMBER, LINKS]
            .iter()
            .try_for_each(|dir| ringway::dirs::make_closed_dir(self.folder.path().join(dir)))?;
        let Some(claim) = self.folder.claim(CLAIM)? else {
            let who = self
                .folder
                .holder(CLAIM)
                .map_or_else(|| "another process".into(), |pid| format!("process {pid}"));
            return Err(
                Error::new(ErrorKind::Busy, on, format!("{who} controls the router")).cure("end it first")
            );
        };
        Ok(Claim(claim))
    }

    /// The second half: makes the tables.
    ///
    /// # Errors
    /// As [`take_control`](Self::take_control).
    pub fn control(&self, claim: Claim) -> Result<Control> {
        let on = self.name();
        let spec = self.spec();
        let tables = Tables::new(&spec, self.cpus, on)?;
        let made = |e: FibError| Error::new(ErrorKind::Io, on, e.to_string());
        let of = |name| tables.mapping(name, on);
        let mut control = Control {
            fib4: sys::fib4(of("fib4")?, spec.limits4).map_err(made)?,
            fib6: sys::fib6(of("fib6")?, spec.limits6).map_err(made)?,
            adjacencies: sys::adjacencies(of("hops")?).map_err(made)?,
            groups: sys::groups(of("groups")?, spec.groups).map_err(made)?,
            page: of("control")?,
            waited: Instant::now(),
            tally: of("tally")?,
            before: HashMap::new(),
            beat: self.code(Some(&tables)).load(&[BEAT], Identity::default())?,
            tables,
            router: Self::open(on)?,
            stages: Stages::find_or_make(self.folder.path(), self.cpus, on)?,
            behind: None,
            _claim: claim,
        };
        control.fib4.hold();
        control.fib6.hold();
        Ok(control)
    }
}

fn wait_for_programs(on: &str) -> Result<()> {
    sys::wait_for_programs().map_err(|e| {
        Error::io(on, "waiting for running programs (membarrier) failed", e).cure("boot without nohz_full")
    })
}

/// Whether what was to go into a table did.
type Tried<T> = std::result::Result<T, FibError>;

impl Control {
    /// Tells programs that a process looks after the tables, and whether they may be trusted: `false` leaves all packets to the kernel.
    /// To be called once a second or more often; it takes some microseconds.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] when the kernel does not run the program that does it.
    pub fn heartbeat(&self, ready: bool) -> Result<()> {
        program::beat(&self.beat, &self.page, ready, self.router.name())
    }

    /// Waits until no program looks any more at what changes before this call put out of sight; its memory is used again then. It takes
    /// 10 to 30 ms, in which nothing else waits: a few times a second at most, and only when something changed.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] where the kernel has no `membarrier(MEMBARRIER_CMD_GLOBAL)`.
    pub fn settle(&mut self) -> Result<()> {
        let marks = (self.fib4.mark(), self.fib6.mark());
        wait_for_programs(self.router.name())?;
        self.fib4.release(marks.0);
        self.fib6.release(marks.1);
        Ok(())
    }

    /// Packets and bytes, without link headers, that were forwarded to a next hop by these tables since its number came into use.
    #[must_use]
    pub fn counters(&self, next_hop: NextHop) -> (u64, u64) {
        let (packets, bytes) = self.counted(next_hop);
        let before = self.before.get(&next_hop).copied().unwrap_or_default();
        (packets.wrapping_sub(before.0), bytes.wrapping_sub(before.1))
    }

    /// What the programs counted for a number, whatever next hops it was of.
    fn counted(&self, next_hop: NextHop) -> (u64, u64) {
        let of = |cpu: usize| cpu * TALLY + 16 * usize::from(next_hop.get());
        let sum = |at: usize| {
            (0..self.router.cpus)
                .map(|cpu| self.tally.u64(of(cpu) + at).load(Relaxed))
                .fold(0, u64::wrapping_add)
        };
        (sum(0), sum(8))
    }

    /// What is in use of the tables of IPv4 and IPv6.
    #[must_use]
    pub fn usage(&self) -> (Usage, Usage) {
        (self.fib4.usage(), self.fib6.usage())
    }

    /// The router.
    #[must_use]
    pub fn router(&self) -> &Router {
        &self.router
    }

    #[cfg(test)]
    pub(super) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// What is full may only wait for programs. They are waited for now and then, not for each of many routes that do not fit.
    fn retry_after_grace<T>(&mut self, mut change: impl FnMut(&mut Self) -> Tried<T>) -> Tried<T> {
        match change(self) {
            Err(full @ FibError::Full { .. }) if self.waited.elapsed() >= GRACE_PAUSE => {
                let settled = self.settle();
                self.waited = Instant::now();
                if settled.is_err() {
                    return Err(full);
                }
                change(self)
            }
            done => done,
        }
    }
}

impl Plane for Control {
    fn limits(&self) -> Limits {
        Limits { groups: self.router.spec().groups, ..Limits::default() }
    }

    /// Programs that may still count for the one before have left: a number waits for them before it is used again.
    fn reset_counters_for(&mut self, next_hop: NextHop) {
        match self.counted(next_hop) {
            (0, 0) => None,
            counted => self.before.insert(next_hop, counted),
        };
    }

    fn adjacency(&mut self, next_hop: NextHop, entry: &Adjacency) {
        self.adjacencies.store(next_hop, entry);
    }

    fn buckets(&mut self, group: u32, buckets: &Buckets) {
        self.groups.store(group, buckets);
    }

    fn routes4(&mut self, changes: &[(Prefix4, Option<NextHop>)]) -> Tried<()> {
        self.retry_after_grace(|all| all.fib4.apply(changes.iter().copied()))
    }

    fn routes6(&mut self, changes: &[(Prefix6, Option<NextHop>)]) -> Tried<()> {
        self.retry_after_grace(|all| all.fib6.apply(changes.iter().copied()))
    }
}
