//! The engine: a router with all that keeps its tables right.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use ringway::Result;
use ringway_fwd::control::{Changes, Check, Follower, Health, Pulse, Resolver, State};

use super::fast_path::{FastPath, failed};
use super::members::Members;
use super::options::Options;
use super::watch::Watch;
use crate::examine::Examiner;
use crate::kernel::{Control, Router};
use crate::liveness::{Liveness, PlaneWithHeartbeat};

/// From one taking in of changes to the next: they are published together.
const PACE: Duration = Duration::from_millis(5);
/// From one grace period to the next, while there is something to release.
const SETTLE: Duration = Duration::from_millis(250);
/// From one look at the members to the next, and from one try at what did not fit to the next: the first after a message of the kernel.
const SOON: Duration = Duration::from_millis(50);
const LOOK: Duration = Duration::from_secs(1);
/// From one look whether somebody watches stages to the next.
const WATCHED: Duration = Duration::from_millis(250);

/// A router and its control process' part, for one thread.
///
/// ```no_run
/// use ringway_router::follow::{Engine, Options};
/// use ringway_router::kernel::Spec;
/// let (mut engine, warnings) = Engine::create("vale0", &Spec::default(), &Options::default())?;
/// loop {
///     engine.turn()?;
///     engine.notes().iter().for_each(|note| println!("{note}"));
///     // ... wait until the engine is readable, for `engine.wait()` at most
/// }
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug)]
pub struct Engine {
    pub(super) router: Router,
    pub(super) control: Control,
    pub(super) follower: Follower,
    pub(super) resolver: Resolver,
    pub(super) members: Members,
    pub(super) watch: Watch,
    examiner: Examiner,
    liveness: Liveness,
    notes: Vec<String>,
    /// What went wrong in the last turn, so that it is said once.
    trouble: Option<String>,
    /// Something waits for a grace period.
    dirty: bool,
    settled: Instant,
    looked: Instant,
    /// When members were looked at, how many changes there had been.
    events: u64,
    /// When changes are taken in again.
    next: Instant,
    /// When it is looked whether somebody watches stages.
    stages: Instant,
}

/// Beats if it is time to.
fn beat(liveness: &mut Liveness, control: &Control) -> Result<()> {
    liveness.beat().map_or(Ok(()), |good| control.heartbeat(good))
}

impl Engine {
    pub(super) fn with(
        router: Router,
        follower: Follower,
        options: &Options,
        FastPath { control, resolver, members, warnings }: FastPath,
    ) -> (Self, Vec<String>) {
        let now = Instant::now();
        let mut liveness = Liveness::new();
        liveness.tables_followed(follower.health().sync_time);
        liveness.tables_complete(resolver.unplaced());
        let engine = Self {
            router,
            control,
            follower,
            resolver,
            members,
            watch: Watch::new(&options.bypass, now),
            examiner: Examiner::new(now),
            liveness,
            notes: Vec::new(),
            trouble: None,
            dirty: true,
            settled: now,
            looked: now,
            events: 0,
            next: now,
            stages: now,
        };
        (engine, warnings)
    }

    /// Gives everything back.
    ///
    /// # Errors
    /// As [`Router::delete`].
    pub fn delete(self) -> Result<()> {
        let Self { router, control, .. } = self;
        drop(control);
        router.delete()
    }

    /// The router.
    pub fn router(&self) -> &Router {
        &self.router
    }

    /// The kernel's tables.
    pub fn state(&self) -> &State {
        self.follower.state()
    }

    /// How following goes.
    pub fn health(&self) -> Health {
        self.follower.health()
    }

    /// Whether the fast path's tables are the kernel's, as far as the engine knows.
    pub fn in_sync(&self) -> bool {
        self.follower.health().in_sync && self.resolver.pending() == 0
    }

    /// What happened since the last call, a line each, for a log.
    pub fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Whether the descriptor is worth waiting for now; changes are taken in every 5 ms at most.
    pub fn listens(&self) -> bool {
        Instant::now() >= self.next
    }

    /// How long to wait for the descriptor at most.
    pub fn wait(&self) -> Duration {
        let now = Instant::now();
        let follow = (now + self.follower.wait(now)).max(self.next);
        let beat = self.liveness.due();
        let settle = if self.dirty { self.settled + SETTLE } else { beat };
        let due = [follow, settle, self.look_due(), self.examiner.due(now), self.stages]
            .into_iter()
            .fold(beat, Instant::min);
        let due = due.saturating_duration_since(now);
        if self.listens() { due } else { due.min(self.next.saturating_duration_since(now)) }
    }

    /// Does what is due: takes in changes, looks after members and neighbours, releases memory, beats.
    ///
    /// # Errors
    /// What the kernel says to a heartbeat: the router can't be kept. What else goes wrong is tried again, and in the notes.
    pub fn turn(&mut self) -> Result<()> {
        let now = Instant::now();
        if now >= self.next {
            self.follow(now);
        }
        if now >= self.look_due() {
            self.check_members(now);
        }
        let control = &self.control;
        self.examiner.step(now, &mut self.follower, &self.resolver, |next_hop| control.counters(next_hop).0);
        if self.dirty && now >= self.settled + SETTLE {
            self.reclaim_retired();
        }
        if now >= self.stages {
            self.follow_stages();
        }
        self.beat_if_due()
    }

    /// Beats if it is time to, amid something else that takes long.
    ///
    /// # Errors
    /// As [`turn`](Self::turn).
    pub(super) fn beat_if_due(&mut self) -> Result<()> {
        beat(&mut self.liveness, &self.control)
    }

    fn follow(&mut self, now: Instant) {
        let Self { follower, control, liveness, .. } = self;
        // what a heartbeat says while tables are read it says again in this turn
        let polled = follower.poll(now, &mut Pulse::new(&mut || _ = beat(liveness, control)));
        self.next = Instant::now() + PACE;
        match polled {
            Ok(changes) => {
                self.liveness.tables_followed(self.follower.health().sync_time);
                if !changes.is_empty() {
                    self.apply_to_fast_path(changes);
                }
            }
            Err(e) => {
                self.next = Instant::now() + LOOK;
                self.tell_once(e.to_string());
            }
        }
    }

    /// Brings changes to the fast path.
    fn apply_to_fast_path(&mut self, changes: Changes) {
        self.dirty = true;
        let Self { follower, resolver, control, liveness, .. } = self;
        // what a heartbeat says meanwhile it says again in this turn
        let mut beat = |control: &Control, unplaced| {
            liveness.beat_amid(unplaced).into_iter().for_each(|good| _ = control.heartbeat(good));
        };
        let mut plane = PlaneWithHeartbeat { plane: control, beat: &mut beat };
        let done = resolver.update(follower.state(), changes, &mut plane);
        liveness.tables_complete(resolver.unplaced());
        match done {
            Ok(()) => self.trouble = None,
            Err(e) => self.tell_once(e.to_string()),
        }
    }

    /// Members are looked at soon after a change, which may concern them.
    fn look_due(&self) -> Instant {
        let told = self.follower.health().events != self.events;
        self.looked + if told { SOON } else { LOOK }
    }

    /// Looks for obstacles, at interfaces of members and of intended ones, and tries again what did not fit.
    fn check_members(&mut self, now: Instant) {
        (self.looked, self.events) = (now, self.follower.health().events);
        self.watch.look_for_obstacles(now, &self.router, self.follower.state(), &mut self.notes);
        self.liveness.set_obstructed(self.watch.obstacle().is_some());
        if self.members.reconcile(&self.router, self.follower.state(), now, &mut self.notes) {
            self.looked = now.checked_sub(LOOK - SOON).unwrap_or(now); // again soon
        }
        if self.resolver.pending() > 0 {
            self.apply_to_fast_path(Changes::default());
        }
    }

    /// Has members time their stages while somebody watches: one member in a turn, since programs take a while to load.
    fn follow_stages(&mut self) {
        let now = Instant::now();
        self.stages = match self.control.follow_stages() {
            Ok(true) => now,
            Ok(false) => now + WATCHED,
            Err(e) => {
                self.tell_once(e.to_string());
                now + LOOK
            }
        };
    }

    fn reclaim_retired(&mut self) {
        self.settled = Instant::now();
        let mark = self.resolver.mark();
        match self.control.settle() {
            Ok(()) => {
                self.resolver.release(mark);
                self.dirty = false;
            }
            Err(e) => self.tell_once(e.to_string()),
        }
    }

    /// Compares the kernel's tables with their copy and with the fast path's, and repairs what differs. Tells what the comparison found, and how
    /// many prefixes and next hops of the fast path were not what they should be.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](ringway::ErrorKind::Io) when the kernel's tables can't be read.
    pub fn sync(&mut self) -> Result<(Check, usize)> {
        let Self { follower, control, liveness, .. } = self;
        let found = follower.check(&mut Pulse::new(&mut || _ = beat(liveness, control)));
        let found = found.map_err(|e| failed(self.router.name(), &e))?;
        self.next = Instant::now();
        self.follow(Instant::now());
        self.beat_if_due()?;
        let Self { follower, resolver, control, liveness, .. } = self;
        let wrong = resolver.audit(follower.state(), &mut Pulse::new(&mut || _ = beat(liveness, control)));
        if wrong > 0 {
            self.apply_to_fast_path(Changes::everything());
        }
        Ok((found, wrong))
    }

    fn tell_once(&mut self, what: String) {
        if self.trouble.as_ref() != Some(&what) {
            self.notes.push(what.clone());
        }
        self.trouble = Some(what);
    }
}

impl AsFd for Engine {
    /// Readable when there are messages of the kernel.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.follower.as_fd()
    }
}
