//! The engine: a router with all that keeps its tables right.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use ringway::{Error, ErrorKind, Result};
use ringway_fwd::control::{self, Changes, Check, ControlError, Follower, Health, Resolver, State};

use super::members::{self, Members};
use super::obstacles::{self, Bypass, Seat};
use super::watch::Watch;
use crate::examine::Examiner;
use crate::heart::{Beating, Heart};
use crate::kernel::{Claim, Control, Inherited, Path, Router, Rpf, Spec};

/// From one taking in of changes to the next: they are published together.
const PACE: Duration = Duration::from_millis(5);
/// From one grace period to the next, while there is something to release.
const SETTLE: Duration = Duration::from_millis(250);
/// From one look at the members to the next, and from one try at what did not fit to the next: the first after the kernel told something.
const SOON: Duration = Duration::from_millis(50);
const LOOK: Duration = Duration::from_secs(1);

/// How to make a router, or to go on with one.
#[derive(Debug, Clone)]
pub struct Options {
    /// Interfaces to be members; none: all Ethernet interfaces that are up, forward, and are no ports of others.
    pub nics: Vec<String>,
    /// Reverse path filter of IPv6, for which the kernel has no setting.
    pub rpf6: Rpf,
    /// How to follow.
    pub follow: control::Options,
    /// What may be there though the fast path goes around it.
    pub bypass: Vec<Bypass>,
    /// How interfaces become members; `None`: software interfaces and those without native XDP by traffic control, others by XDP.
    pub path: Option<Path>,
}

impl Default for Options {
    /// All interfaces, no filter of IPv6, nothing to be gone around.
    fn default() -> Self {
        let follow = control::Options::default();
        Self { nics: Vec::new(), rpf6: Rpf::Off, follow, bypass: Vec::new(), path: None }
    }
}

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
/// # #[allow(unreachable_code)]
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
    heart: Heart,
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
}

/// Beats if it is time to.
fn beat(heart: &mut Heart, control: &Control) -> Result<()> {
    heart.beat().map_or(Ok(()), |good| control.heartbeat(good))
}

/// What there is before the loop begins, and what to tell people.
type Started = (Control, Resolver, Members, Vec<String>);

impl Engine {
    /// Makes a router: reads the kernel's tables, fills those of the router, then attaches its program to the interfaces. Returns warnings, too:
    /// interfaces that can't be members and were not named.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when the fast path would go around something, or no interface can be a member; else as
    /// [`Router::create`] and [`Router::add_member`]. Nothing is left then.
    pub fn create(name: &str, spec: &Spec, options: &Options) -> Result<(Self, Vec<String>)> {
        let follower = open(name, options, &mut || {})?;
        let nics = named_or_forwarding(&follower, options);
        if nics.is_empty() {
            return Err(Error::new(ErrorKind::NotFound, name, "no interface that is up forwards packets")
                .cure("`sysctl -w net.ipv4.ip_forward=1` (net.ipv6.conf.all.forwarding=1), or name some with --nic"));
        }
        let seats: Vec<_> = nics.iter().map(|nic| seat_to_be(name, nic, options)).collect();
        obstacles::refuse(name, follower.state(), &seats, &options.bypass)?;
        let router = Router::create_for(name, spec, &nics)?;
        let started = router
            .claim()
            .and_then(|claim| fill((&router, claim), follower.state(), options, &[], &mut || {}))
            .and_then(|started| attach(&router, &follower, nics, options, started));
        match started {
            Ok(mut started) => {
                if options.nics.is_empty() {
                    started.3.extend(members::left_out(name, follower.state()));
                }
                Ok(Self::with(router, follower, options, started))
            }
            Err(e) => {
                router.delete()?;
                Err(e)
            }
        }
    }

    /// Goes on with a router whose process is gone: fills new tables and has the members use them. If that process was killed while it made
    /// the router, the interfaces that it was made for become members, or those named in `options`. Returns warnings as [`create`](Self::create).
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] without such a router, [`ErrorKind::Busy`] while a process has it; else as [`create`](Self::create). The
    /// members are then as they were, and one that lacks some still does.
    pub fn take_over(name: &str, options: &Options) -> Result<(Self, Vec<String>)> {
        let router = Router::open(name)?;
        // Interfaces of another namespace have the same numbers and other meanings.
        router.check_netns(name)?;
        let claim = router.claim()?;
        let mut old = router.inherit(&claim)?;
        let mut alive = || old.iter_mut().for_each(Inherited::alive);
        let follower = open(name, options, &mut alive)?;
        let members = router.members();
        let mut held: Vec<_> = members.iter().map(|m| m.name.clone()).collect();
        let (mut missing, mut away) = match (router.is_done(), &options.nics[..]) {
            (true, _) => (Vec::new(), router.wanted()),
            (false, []) => (router.wanted(), Vec::new()),
            (false, named) => (named.to_vec(), Vec::new()),
        };
        missing.retain(|name| !members.iter().any(|m| m.name == *name && !m.gone));
        away.retain(|name| !held.contains(name));
        held.append(&mut away); // they are members again when they can be
        if held.is_empty() && missing.is_empty() {
            held = named_or_forwarding(&follower, options);
        }
        let all = [&held[..], &missing].concat();
        router.wanted().iter().filter(|name| !all.contains(name)).for_each(|name| router.unwant(name));
        let seat = |nic: &String| match members.iter().find(|m| m.name == *nic && !m.gone) {
            Some(m) => router.seat(nic, m.path),
            None => seat_to_be(name, nic, options),
        };
        let seats: Vec<_> = all.iter().map(seat).collect();
        obstacles::refuse(name, follower.state(), &seats, &options.bypass)?;
        let started = fill((&router, claim), follower.state(), options, &held, &mut alive)?;
        let mut started = attach(&router, &follower, missing, options, started)?;
        let strangers = options.nics.iter().filter(|nic| !all.contains(nic));
        started.3.extend(strangers.map(|nic| {
            let add = format!("`ringway router port add {name}:{nic}` adds it");
            format!("{name}: {nic} is not among the members of the router that was taken over; {add}")
        }));
        Ok(Self::with(router, follower, options, started))
    }

    fn with(
        router: Router,
        follower: Follower,
        options: &Options,
        (control, resolver, members, warnings): Started,
    ) -> (Self, Vec<String>) {
        let now = Instant::now();
        let mut heart = Heart::new();
        heart.followed(follower.health().sync_time);
        heart.brought(resolver.unplaced());
        let engine = Self {
            router,
            control,
            follower,
            resolver,
            members,
            watch: Watch::new(&options.bypass, now),
            examiner: Examiner::new(now),
            heart,
            notes: Vec::new(),
            trouble: None,
            dirty: true,
            settled: now,
            looked: now,
            events: 0,
            next: now,
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

    /// Whether the fast path's tables are the kernel's, as far as is known.
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
        let beat = self.heart.due();
        let settle = if self.dirty { self.settled + SETTLE } else { beat };
        let due =
            [follow, settle, self.look_due(), self.examiner.due(now)].into_iter().fold(beat, Instant::min);
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
            self.look(now);
        }
        let control = &self.control;
        self.examiner.step(now, &mut self.follower, &self.resolver, |next_hop| control.counters(next_hop).0);
        if self.dirty && now >= self.settled + SETTLE {
            self.settle();
        }
        self.alive()
    }

    /// Beats if it is time to, amid something else that takes long.
    ///
    /// # Errors
    /// As [`turn`](Self::turn).
    pub(super) fn alive(&mut self) -> Result<()> {
        beat(&mut self.heart, &self.control)
    }

    fn follow(&mut self, now: Instant) {
        let Self { follower, control, heart, .. } = self;
        // what a heartbeat says while tables are read it says again in this turn
        let polled = follower.poll_alive(now, &mut || _ = beat(heart, control));
        self.next = Instant::now() + PACE;
        match polled {
            Ok(changes) => {
                self.heart.followed(self.follower.health().sync_time);
                if !changes.is_empty() {
                    self.bring(changes);
                }
            }
            Err(e) => {
                self.next = Instant::now() + LOOK;
                self.tell_once(e.to_string());
            }
        }
    }

    /// Brings changes to the fast path.
    fn bring(&mut self, changes: Changes) {
        self.dirty = true;
        let Self { follower, resolver, control, heart, .. } = self;
        // what a heartbeat says meanwhile it says again in this turn
        let mut alive = |control: &Control, unplaced| {
            heart.beat_amid(unplaced).into_iter().for_each(|good| _ = control.heartbeat(good));
        };
        let mut plane = Beating { plane: control, alive: &mut alive };
        let done = resolver.update(follower.state(), changes, &mut plane);
        heart.brought(resolver.unplaced());
        match done {
            Ok(()) => self.trouble = None,
            Err(e) => self.tell_once(e.to_string()),
        }
    }

    /// Members are looked at soon after a change, which may be one of theirs.
    fn look_due(&self) -> Instant {
        let told = self.follower.health().events != self.events;
        self.looked + if told { SOON } else { LOOK }
    }

    /// What is in the way, interfaces of members, those that are to be members, and what did not fit.
    fn look(&mut self, now: Instant) {
        (self.looked, self.events) = (now, self.follower.health().events);
        self.watch.look(now, &self.router, self.follower.state(), &mut self.notes);
        self.heart.hindered(self.watch.hindrance().is_some());
        if self.members.refresh(&self.router, self.follower.state(), now, &mut self.notes) {
            self.looked = now.checked_sub(LOOK - SOON).unwrap_or(now); // again soon
        }
        if self.resolver.pending() > 0 {
            self.bring(Changes::default());
        }
    }

    fn settle(&mut self) {
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

    /// Compares the kernel's tables with ours and those of the fast path, and repairs what differs. Tells what the comparison found, and how
    /// many prefixes and next hops of the fast path were not what they should be.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] when the kernel's tables can't be read.
    pub fn sync(&mut self) -> Result<(Check, usize)> {
        let Self { follower, control, heart, .. } = self;
        let found = follower.check_alive(&mut || _ = beat(heart, control));
        let found = found.map_err(|e| failed(self.router.name(), &e))?;
        self.next = Instant::now();
        self.follow(Instant::now());
        self.alive()?;
        let Self { follower, resolver, control, heart, .. } = self;
        let wrong = resolver.audit_alive(follower.state(), &mut || _ = beat(heart, control));
        if wrong > 0 {
            self.bring(Changes::everything());
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
    /// Readable when the kernel told something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.follower.as_fd()
    }
}

impl Router {
    /// A member, as what looks for obstacles knows it.
    pub(super) fn seat(&self, nic: &str, path: Path) -> Seat {
        Seat { name: nic.to_owned(), path, place: self.place(nic) }
    }
}

/// The same of an interface that is none yet.
fn seat_to_be(router: &str, nic: &str, options: &Options) -> Seat {
    let path = options.path.unwrap_or_else(|| members::path_of(nic));
    Seat { name: nic.to_owned(), path, place: Router::place_of(router, nic) }
}

fn named_or_forwarding(follower: &Follower, options: &Options) -> Vec<String> {
    match &options.nics[..] {
        [] => members::forwarding(follower.state()),
        named => named.to_vec(),
    }
}

/// What was read is brought to the fast path as a whole: no changes of it are left.
fn open(name: &str, options: &Options, alive: &mut dyn FnMut()) -> Result<Follower> {
    let mut follower = Follower::open_alive(options.follow, alive).map_err(|e| failed(name, &e))?;
    let read = follower.poll_alive(Instant::now(), alive).map_err(|e| failed(name, &e))?;
    drop(read);
    Ok(follower)
}

fn failed(name: &str, e: &ControlError) -> Error {
    Error::new(ErrorKind::Io, name, e.to_string())
}

/// Fills new tables, and has the members there are use them. `alive` is called meanwhile for those that they use until then.
fn fill(
    (router, claim): (&Router, Claim),
    state: &State,
    options: &Options,
    nics: &[String],
    alive: &mut dyn FnMut(),
) -> Result<Started> {
    let mut control = router.control(claim)?;
    let mut resolver = Resolver::new(&mut control);
    let mut plane = Beating { plane: &mut control, alive: &mut |_, _| alive() };
    let filled = resolver.update(state, Changes::everything(), &mut plane);
    filled.map_err(|e| failed(router.name(), &e))?;
    control.heartbeat(true)?;
    control.publish_alive(alive)?;
    Ok((control, resolver, Members::new(options.rpf6, options.path, nics.to_vec()), Vec::new()))
}

/// Makes interfaces members. Of those that were not named some may be unable to be.
fn attach(
    router: &Router,
    follower: &Follower,
    nics: Vec<String>,
    options: &Options,
    (control, resolver, mut members, mut warnings): Started,
) -> Result<Started> {
    for nic in nics {
        control.heartbeat(resolver.unplaced() == 0)?; // a driver may take a second for each
        match members.join(router, follower.state(), &nic) {
            Ok(_) => {}
            Err(e) if !options.nics.is_empty() => return Err(e),
            Err(e) => {
                router.unwant(&nic);
                warnings.push(e.to_string());
            }
        }
    }
    if let Some(why) = warnings.last()
        && router.members().is_empty()
    {
        let what = format!("no interface can be a member: {why}");
        return Err(Error::new(ErrorKind::Unsupported, router.name(), what));
    }
    router.done();
    Ok((control, resolver, members, warnings))
}
