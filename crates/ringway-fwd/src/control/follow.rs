//! Follows the kernel: reads its tables, takes changes in, and reads all again after an inconsistency.

use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use super::ControlError;
use super::backlog::{Backlog, Loss, Touched};
use super::changes::Changes;
use super::event::Event;
use super::health::Health;
use super::pulse::Pulse;
use super::reading::{Reading, TableReader};
use super::socket::{ChangeSocket, QuerySocket, SocketState};
use super::state::State;

/// Datagrams read by one call of [`Follower::poll`].
const BURST: u32 = 4096;

/// How to follow.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Bytes for messages that wait to be read. More needs privilege than `net.core.rmem_max`.
    pub buffer: usize,
    /// How often the kernel's tables and their copy are compared.
    pub check_every: Duration,
    /// Least time from one reading of all tables to the next.
    pub pause: Duration,
}

impl Default for Options {
    /// 8 MiB, every 60 s, 100 ms.
    fn default() -> Self {
        Self { buffer: 8 << 20, check_every: Duration::from_secs(60), pause: Duration::from_millis(100) }
    }
}

/// What a comparison found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// The tables are equal, as far as they did not change meanwhile.
    Equal,
    /// They are not.
    Differs,
    /// Too much changed meanwhile to tell.
    Busy,
}

/// The kernel's tables, kept up to date, of the network namespace of the thread that opened it.
///
/// Call [`poll`](Self::poll) when the descriptor is readable, and when [`wait`](Self::wait) is over. What it returns goes to
/// [`Resolver::update`](super::Resolver::update). Needs no privilege but for a large buffer.
///
/// ```no_run
/// use std::time::Instant;
/// use ringway_fwd::control::{Follower, Options, Pulse};
/// let mut follower = Follower::open(Options::default(), &mut Pulse::none())?;
/// let changes = follower.poll(Instant::now(), &mut Pulse::none())?;
/// println!("{} routes, {}", follower.state().routes(), changes.is_empty());
/// # Ok::<(), ringway_fwd::control::ControlError>(())
/// ```
#[derive(Debug)]
pub struct Follower {
    pub(super) changes_socket: ChangeSocket,
    pub(super) queries: QuerySocket,
    options: Options,
    pub(super) state: State,
    changes: Changes,
    pub(super) health: Health,
    /// All is to be read again, once the pause is over.
    pub(super) must_resync: bool,
    synced: Instant,
    /// When the tables are to be compared.
    due: Instant,
}

impl Follower {
    /// Opens sockets and reads all tables.
    ///
    /// # Errors
    /// [`ControlError::Os`] when the system refuses a socket or a table, [`ControlError::Restless`] when tables do not hold still.
    pub fn open(options: Options, pulse: &mut Pulse<'_>) -> Result<Self, ControlError> {
        let now = Instant::now();
        let mut follower = Self {
            changes_socket: ChangeSocket::open(options.buffer)?,
            queries: QuerySocket::open()?,
            options,
            state: State::default(),
            changes: Changes::default(),
            health: Health::default(),
            must_resync: false,
            synced: now,
            due: now,
        };
        follower.sync(pulse)?;
        Ok(follower)
    }

    /// The tables.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// How following goes.
    pub fn health(&self) -> Health {
        self.health
    }

    /// How long to wait for the descriptor before [`poll`](Self::poll) is due all the same.
    pub fn wait(&self, now: Instant) -> Duration {
        let due = if self.must_resync { self.synced + self.pause() } else { self.due };
        due.saturating_duration_since(now)
    }

    /// Takes in the kernel's changes since, up to 4,096 messages. Reads all tables again when messages were lost or do not fit. Compares the
    /// tables when it is time to. `pulse` beats meanwhile: to read tables, or to look at all routes, may take seconds.
    ///
    /// Returns what may have changed for the data plane since the last call. A comparison or a reading that is due ends before that.
    ///
    /// # Errors
    /// As [`open`](Self::open). The tables then stay as they were, and the next call tries again.
    pub fn poll(&mut self, now: Instant, pulse: &mut Pulse<'_>) -> Result<Changes, ControlError> {
        self.read_socket(pulse)?;
        if self.must_resync && now >= self.synced + self.pause() {
            self.sync(pulse)?;
        }
        if now >= self.due && !self.must_resync {
            self.check(pulse)?;
        }
        Ok(std::mem::take(&mut self.changes))
    }

    /// Reads all tables into a new state, then exchanges it for the old one; the next [`poll`](Self::poll) returns the differences.
    ///
    /// # Errors
    /// As [`open`](Self::open); then the old state stays.
    pub fn sync(&mut self, pulse: &mut Pulse<'_>) -> Result<(), ControlError> {
        let started = Instant::now();
        // Reading drops the changes that came before: until it is done the old state lacks them.
        (self.health.in_sync, self.must_resync) = (false, true);
        let Self { changes_socket, queries, health, .. } = self;
        let read = TableReader { changes_socket, queries, health }.read_patiently(pulse);
        self.health.sync_time = started.elapsed();
        self.synced = Instant::now();
        let Reading { state, sure } = read?;
        self.merge(state, pulse);
        self.health.syncs += 1;
        (self.health.in_sync, self.must_resync) = (sure, false);
        self.due = self.synced + if sure { self.options.check_every } else { self.soon() };
        Ok(())
    }

    /// Has the kernel examine a neighbour, as if the host sent to it. The kernel does not see what the fast path sends: of a neighbour in use
    /// it would never notice that it is gone. Needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// [`ControlError::Os`] without that right, or when the kernel does not know the neighbour.
    pub fn examine(&mut self, dev: u32, addr: IpAddr) -> Result<(), ControlError> {
        self.queries.examine(dev, addr)
    }

    /// Compares digests of the kernel's tables and ours, and reads all tables again if they differ.
    ///
    /// What changes while the kernel's tables are read is left out of the comparison.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn check(&mut self, pulse: &mut Pulse<'_>) -> Result<Check, ControlError> {
        self.health.checks += 1;
        // A neighbour that is in the dump, but told after it, looks like a difference the first time.
        let mut found = self.compare(pulse)?;
        if found == Check::Differs {
            found = self.compare(pulse)?;
        }
        self.due = Instant::now() + self.options.check_every;
        match found {
            Check::Equal => self.health.in_sync = !self.must_resync,
            Check::Busy => self.due = Instant::now() + self.soon(),
            Check::Differs => {
                self.health.in_sync = false;
                self.health.repairs += 1;
                self.sync(pulse)?;
            }
        }
        Ok(found)
    }

    /// How soon to compare again when a comparison could not tell.
    fn soon(&self) -> Duration {
        self.pause().min(self.options.check_every)
    }

    /// Not sooner than twice the time that reading took: half of the time at most goes into it.
    fn pause(&self) -> Duration {
        self.options.pause.max(self.health.sync_time * 2)
    }

    pub(super) fn read_socket(&mut self, pulse: &mut Pulse<'_>) -> Result<(), ControlError> {
        for _ in 0..BURST {
            let Self { changes_socket, state, changes, health, .. } = self;
            let mut inconsistency = None;
            let heard = changes_socket.read_datagram(|event| {
                health.events += 1;
                inconsistency = state.apply(event, changes, pulse).or(inconsistency);
            })?;
            pulse.beat();
            inconsistency.into_iter().for_each(|inconsistency| self.note(Loss::Inconsistency(inconsistency)));
            match heard {
                SocketState::More => {}
                SocketState::All => break,
                SocketState::Lost => self.note(Loss::Overrun),
                SocketState::Unread(why) => self.note(Loss::Inconsistency(why)),
            }
        }
        Ok(())
    }

    fn merge(&mut self, state: State, pulse: &mut Pulse<'_>) {
        let new = state.differences(&self.state, pulse);
        self.changes.v4.extend(new.v4);
        self.changes.v6.extend(new.v6);
        self.changes.local6.extend(new.local6);
        self.changes.neighbours.extend(new.neighbours);
        self.changes.hops = true;
        self.changes.all |= new.all;
        self.state = state;
    }

    /// Applies what came meanwhile.
    pub(super) fn apply_backlog(&mut self, backlog: Backlog, pulse: &mut Pulse<'_>) -> Touched {
        let mut touched = Touched { more: backlog.lost.is_some(), ..Touched::default() };
        if let Some(loss) = backlog.lost {
            self.note(loss);
        }
        for event in backlog.events {
            pulse.beat();
            self.health.events += 1;
            match &event {
                Event::Route(route, _) | Event::RouteGone(route) => {
                    touched.routes.insert((route.table, route.net));
                }
                Event::Neighbour(neighbour) => _ = touched.neighbours.insert((neighbour.addr, neighbour.dev)),
                Event::NeighbourGone(dev, addr) => _ = touched.neighbours.insert((*addr, *dev)),
                _ => touched.more = true,
            }
            if let Some(inconsistency) = self.state.apply(event, &mut self.changes, pulse) {
                self.note(Loss::Inconsistency(inconsistency));
            }
        }
        touched
    }

    /// Something was missed: all is to be read again.
    fn note(&mut self, loss: Loss) {
        loss.count(&mut self.health);
        (self.health.in_sync, self.must_resync) = (false, true);
    }
}

impl AsFd for Follower {
    /// Readable when there are messages of the kernel.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.changes_socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::event::{Family, Mode, Net, Path, Route};
    use crate::control::{Kind, Via};

    fn blackhole(family: Family, net: Net, table: u32, metric: u32) -> Route {
        let (kind, via) = (Kind::Blackhole, Via::Hops(vec![]));
        let (protocol, source, from) = (9, None, None);
        let path =
            Path { family, kind, protocol, scope: 0, tos: 0, metric, source, from, mtu: 0, other: 0, via };
        Route { table, net, path, dead: vec![] }
    }

    /// Reading needs no privilege: this looks at the namespace that the test runs in.
    #[test]
    fn a_difference_is_found_and_repaired() {
        let mut follower = Follower::open(Options::default(), &mut Pulse::none()).unwrap();
        let sure = |f: &mut Follower| {
            (0..100).map(|_| f.check(&mut Pulse::none()).unwrap()).find(|c| *c != Check::Busy)
        };
        assert_eq!(sure(&mut follower), Some(Check::Equal));
        for family in [Family::V4, Family::V6] {
            let net = match family {
                Family::V4 => Net::V4("192.0.2.7/32".parse().unwrap()),
                Family::V6 => Net::V6("2001:db8::7/128".parse().unwrap()),
            };
            let ours = blackhole(family, net, 77, 3);
            follower.state.apply(Event::Route(ours, Mode::New), &mut Changes::default(), &mut Pulse::none());
            assert_eq!(sure(&mut follower), Some(Check::Differs));
            assert!(follower.health().in_sync, "repaired");
            assert!(follower.state().all_routes().all(|(table, ..)| table != 77));
            assert_eq!(sure(&mut follower), Some(Check::Equal));
        }
        follower.state.links.clear();
        assert_eq!(sure(&mut follower), Some(Check::Differs));
        assert_eq!(follower.health().repairs, 3);
    }
}
