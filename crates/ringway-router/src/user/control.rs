//! Follows the kernel's tables beside the thread that forwards.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ringway::{Error, ErrorKind, Result, time::monotonic_ns};
use ringway_engine::Signals;
use ringway_fwd::control::{Changes, ControlError, Counters, Follower, Pulse, Resolver, State, Tables};
use ringway_fwd::router::{Heartbeat, Interface, Interfaces, Rpf};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::examine::Examiner;
use crate::liveness::{Liveness, PlaneWithHeartbeat};

/// Longest wait: heartbeats are due, and to stop is noticed.
const TICK: Duration = Duration::from_millis(250);

/// While readers are to leave, or the kernel's tables are to be read again.
const SOON: Duration = Duration::from_millis(10);

/// How the tables are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The last comparison found the kernel's tables equal to ours, and all of it is in the lookup tables.
    pub in_sync: bool,
    /// Routes in the lookup tables.
    pub routes: usize,
    /// Next hops in use.
    pub next_hops: usize,
    /// Prefixes and next hops that are not what they should be, because something did not fit.
    pub pending: usize,
    /// What went wrong last, with the cure; what was there before is kept.
    pub trouble: Option<String>,
}

/// The control plane of a router.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) follower: Follower,
    pub(super) resolver: Resolver,
    pub(super) tables: Tables,
    pub(super) interfaces: Arc<Interfaces>,
    pub(super) rpf6: Rpf,
    pub(super) heartbeat: Arc<Heartbeat>,
    pub(super) liveness: Liveness,
    pub(super) next_hops: Arc<Counters>,
    pub(super) status: Arc<Mutex<Status>>,
    /// Marks of readers and of the resolver, oldest first: once the readers have left, the resolver may go on.
    pub(super) leaving: VecDeque<(u64, u64)>,
    pub(super) examiner: Examiner,
}

impl Control {
    /// Brings all that the kernel has to the tables; from now on they are to be trusted.
    pub(super) fn begin(&mut self) {
        // The follower's first poll brings all that there is: left for later, all would be brought twice.
        match self.follower.poll(Instant::now(), &mut Pulse::none()) {
            Ok(changes) => self.update(changes),
            Err(e) => self.tell(Some(&e)),
        }
        self.beat();
    }

    /// Follows until `signals` say stop. Then the tables are not to be trusted any more.
    pub(super) fn run(&mut self, signals: &Signals) {
        while !signals.stopped() {
            self.wait();
            let Self { follower, liveness, heartbeat, .. } = self;
            // Reading all takes longer than a liveness may stand still.
            let mut beat = || liveness.beat().into_iter().for_each(|good| say(heartbeat, good));
            match follower.poll(Instant::now(), &mut Pulse::new(&mut beat)) {
                Ok(changes) => self.update(changes),
                // When this lasts, all goes to the host.
                Err(e) => self.tell(Some(&e)),
            }
            self.beat();
            let Self { follower, resolver, next_hops, examiner, .. } = self;
            examiner.step(Instant::now(), follower, resolver, |next_hop| next_hops.get(next_hop).0);
        }
        self.heartbeat.stop();
    }

    fn wait(&self) {
        let longest = if self.leaving.is_empty() { TICK } else { SOON };
        let now = Instant::now();
        let examine = self.examiner.due(now).saturating_duration_since(now);
        let left = self.follower.wait(now).min(examine).clamp(SOON, longest);
        let timeout = Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ };
        // An interrupted or failed wait is a short one.
        let _ = poll(&mut [PollFd::new(&self.follower, PollFlags::IN)], Some(&timeout));
    }

    fn beat(&mut self) {
        self.liveness.beat().into_iter().for_each(|good| say(&self.heartbeat, good));
    }

    fn update(&mut self, changes: Changes) {
        let Self { follower, resolver, tables, liveness, heartbeat, .. } = self;
        liveness.tables_followed(follower.health().sync_time);
        let mut beat = |_: &Tables, unplaced| {
            liveness.beat_amid(unplaced).into_iter().for_each(|good| say(heartbeat, good));
        };
        let mut plane = PlaneWithHeartbeat { plane: tables, beat: &mut beat };
        let done = resolver.update(follower.state(), changes, &mut plane);
        liveness.tables_complete(resolver.unplaced());
        self.refresh();
        self.leaving.push_back((self.tables.fib4.readers_mark(), self.resolver.mark()));
        while let Some(&(readers, numbers)) = self.leaving.front()
            && self.tables.fib4.readers_left(readers)
        {
            self.resolver.release(numbers);
            self.leaving.pop_front();
        }
        self.tell(done.err().as_ref());
    }

    fn refresh(&mut self) {
        for position in 0..self.interfaces.len() {
            let index = self.interfaces.get(position).index;
            self.interfaces.set(position, &Interface::of(self.follower.state(), index, self.rpf6));
        }
    }

    fn tell(&self, trouble: Option<&ControlError>) {
        let pending = self.resolver.pending();
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.in_sync = self.follower.health().in_sync && pending == 0;
        (status.routes, status.next_hops) = (self.resolver.routes(), self.resolver.next_hops());
        status.pending = pending;
        if let Some(e) = trouble {
            status.trouble = Some(e.to_string());
        }
    }
}

/// Whether the tables are good. Packets of a route that is not there would take the way of a shorter one: all go to the host then.
fn say(heartbeat: &Heartbeat, good: bool) {
    if good { heartbeat.beat(monotonic_ns()) } else { heartbeat.stop() }
}

/// The kernel's number of an interface.
pub(super) fn index_of(state: &State, name: &str) -> Result<u32> {
    let found = state.interfaces().find(|link| link.name == name);
    found.map(|link| link.index).ok_or_else(|| {
        Error::new(ErrorKind::NotFound, name, "there is no such interface here")
            .cure("`ip link` shows the interfaces that there are")
    })
}
