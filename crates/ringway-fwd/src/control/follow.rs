//! Follows the kernel: reads its tables, hears of changes, reads anew when in inconsistency.

use std::collections::HashSet;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use super::ControlError;
use super::backlog::{Backlog, Loss, Touched};
use super::decode::hash;
use super::event::{Event, Family, Net};
use super::health::Health;
use super::pulse::{PIECE, Pulse, pulsing};
use super::socket::{ChangeSocket, Dump, QuerySocket, SocketState};
use super::state::{Changes, State};
use super::tables::item;

/// Readings of the tables before giving up because they change all the time.
const TRIES: u32 = 8;

/// Readings that are begun again when an IPv6 route changed meanwhile.
const PATIENT: u32 = 4;

/// Datagrams read by one call of [`Follower::poll`].
const BURST: u32 = 4096;

/// How to follow.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Bytes for messages that wait to be read. More needs privilege than `net.core.rmem_max`.
    pub buffer: usize,
    /// How often the kernel's tables and ours are compared.
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
/// use ringway_fwd::control::{Follower, Options};
/// let mut follower = Follower::open(Options::default())?;
/// let changes = follower.poll(Instant::now(), &mut Pulse::none())?;
/// println!("{} routes, {}", follower.state().routes(), changes.is_empty());
/// # Ok::<(), ringway_fwd::control::ControlError>(())
/// ```
#[derive(Debug)]
pub struct Follower {
    changes_socket: ChangeSocket,
    queries: QuerySocket,
    options: Options,
    state: State,
    changes: Changes,
    health: Health,
    /// All is to be read again, once the pause is over.
    must_resync: bool,
    synced: Instant,
    /// When the tables are to be compared.
    due: Instant,
}

/// For each family and route, what it is of and its item of the digest.
type Items = [Vec<(u64, u64)>; 2];

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

    /// Takes in what the kernel told since, up to 4,096 messages; reads all tables again when some were lost or in inconsistency; compares
    /// the tables when it is time to.
    ///
    /// Returns what may have changed for the data plane since the last call. A comparison or a reading that is due ends before that.
    ///
    /// # Errors
    /// As [`open`](Self::open). The tables are then those of before, and the next call tries again.
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
        // Reading drops what was told before: until it is done the old state lacks that.
        (self.health.in_sync, self.must_resync) = (false, true);
        let read = self.read_patiently(pulse);
        self.health.sync_time = started.elapsed();
        self.synced = Instant::now();
        let Reading { state, sure } = read?;
        self.merge(state, pulse);
        self.health.syncs += 1;
        (self.health.in_sync, self.must_resync) = (sure, false);
        self.due = self.synced + if sure { self.options.check_every } else { self.soon() };
        Ok(())
    }

    fn read_patiently(&mut self, pulse: &mut Pulse<'_>) -> Result<Reading, ControlError> {
        for attempt in 0..TRIES {
            match self.read(attempt < PATIENT, pulse)? {
                Some(reading) => return Ok(reading),
                None => self.health.restarts += 1,
            }
        }
        Err(ControlError::Restless { tries: TRIES })
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
        // a change that is in the dump, but told after it, looks like a difference the first time
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

    /// After what could not be told.
    fn soon(&self) -> Duration {
        self.pause().min(self.options.check_every)
    }

    /// Not sooner than twice the time that reading took: half of the time at most goes into it.
    fn pause(&self) -> Duration {
        self.options.pause.max(self.health.sync_time * 2)
    }

    fn read_socket(&mut self, pulse: &mut Pulse<'_>) -> Result<(), ControlError> {
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

    /// All tables, and what happened while they were read; `None` if that has to be done again.
    ///
    /// The kernel finds its place again by counting when IPv6 routes change during their dump (`fib6_dump_table` of
    /// net/ipv6/ip6_fib.c), and then may leave out others: such a dump is repeated if we are patient, and is not sure otherwise.
    fn read(&mut self, patient: bool, pulse: &mut Pulse<'_>) -> Result<Option<Reading>, ControlError> {
        let (mut state, mut unused) = (State::default(), Changes::default());
        let mut backlog = Backlog::default();
        while self.changes_socket.read_datagram(drop)? != SocketState::All {
            pulse.beat(); // what is older than what is read now
        }
        for dump in Dump::SMALL.into_iter().chain(Dump::ROUTES) {
            let take = |event| _ = state.apply(event, &mut unused, &mut Pulse::none());
            let whole =
                self.queries.dump(dump, take, || backlog.read_from(&mut self.changes_socket, pulse))?;
            unused = Changes::default();
            if !whole || patient && backlog.v6_routes() {
                return Ok(None);
            }
        }
        backlog.read_from(&mut self.changes_socket, pulse)?;
        if let Some(loss) = backlog.lost {
            loss.count(&mut self.health);
            return Ok(None);
        }
        let sure = !backlog.v6_routes() && !backlog.replaced();
        if patient && !sure {
            return Ok(None);
        }
        self.health.events += backlog.events.len() as u64;
        for event in backlog.events {
            pulse.beat();
            state.apply(event, &mut unused, pulse); // what came before its part of the dump does not fit, and does no harm
        }
        state.ghosts.clear();
        Ok(Some(Reading { state, sure }))
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

    fn compare(&mut self, pulse: &mut Pulse<'_>) -> Result<Check, ControlError> {
        self.read_socket(pulse)?;
        let mut backlog = Backlog::default();
        let asked = self.ask(&mut backlog, pulse);
        let v6_moved = backlog.v6_routes();
        // However the queries ended: these changes are told once.
        let Touched { routes: touched, neighbours, more } = self.apply_backlog(backlog, pulse);
        let Some((probe, theirs)) = asked? else { return Ok(Check::Busy) };
        if self.must_resync || more {
            return Ok(Check::Busy);
        }
        let mut equal = |family| {
            self.route_sum(family, &touched) == kernel_sum(&theirs[family as usize], &touched, pulse)
        };
        Ok(match () {
            () if probe.other_digest_but(&neighbours) != self.state.other_digest_but(&neighbours) => {
                Check::Differs
            }
            () if !equal(Family::V4) => Check::Differs,
            () if equal(Family::V6) => Check::Equal,
            () if v6_moved => Check::Busy, // see `read`
            () => Check::Differs,
        })
    }

    /// The kernel's tables now: all but routes, and of each family's routes what they are of and their items; `None`
    /// where they changed under a dump. What is told meanwhile goes to `backlog`.
    fn ask(
        &mut self,
        backlog: &mut Backlog,
        pulse: &mut Pulse<'_>,
    ) -> Result<Option<(State, Items)>, ControlError> {
        let changes_socket = &mut self.changes_socket;
        let mut meanwhile = |backlog: &mut Backlog| backlog.read_from(changes_socket, pulse);
        let (mut probe, mut unused) = (State::default(), Changes::default());
        for dump in Dump::SMALL {
            let take = |event| _ = probe.apply(event, &mut unused, &mut Pulse::none());
            if !self.queries.dump(dump, take, || meanwhile(backlog))? {
                return Ok(None);
            }
        }
        let mut theirs = Items::default();
        for dump in Dump::ROUTES {
            let take = |event| {
                if let Event::Route(route, _) = event {
                    let path = hash(&route.path);
                    let of = &mut theirs[route.path.family as usize];
                    of.push((hash((route.table, route.net)), item(route.table, route.net, path)));
                }
            };
            if !self.queries.dump(dump, take, || meanwhile(backlog))? {
                return Ok(None);
            }
        }
        meanwhile(backlog)?;
        Ok(Some((probe, theirs)))
    }

    /// Applies what came meanwhile.
    fn apply_backlog(&mut self, backlog: Backlog, pulse: &mut Pulse<'_>) -> Touched {
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

    /// Something was missed: all is to be read anew.
    fn note(&mut self, loss: Loss) {
        loss.count(&mut self.health);
        (self.health.in_sync, self.must_resync) = (false, true);
    }

    /// The digest of our routes of a family, but for those of some prefixes.
    fn route_sum(&self, family: Family, without: &HashSet<(u32, Net)>) -> u64 {
        let routes = &self.state.routes;
        let share = |(table, net): &(u32, Net)| -> u64 {
            let ids = match net {
                Net::V4(prefix) => routes.get(*table, *prefix),
                Net::V6(prefix) => routes.get(*table, *prefix),
            };
            ids.iter().fold(0, |sum: u64, id| sum.wrapping_add(item(*table, *net, routes.paths.hash(*id))))
        };
        let without = without.iter().filter(|(_, net)| net.family() == family);
        without.fold(self.state.route_digest(family), |sum, key| sum.wrapping_sub(share(key)))
    }
}

fn kernel_sum(routes: &[(u64, u64)], without: &HashSet<(u32, Net)>, pulse: &mut Pulse<'_>) -> u64 {
    let without: HashSet<u64> = without.iter().map(hash).collect();
    let counted = pulsing(routes, PIECE, pulse).filter(|(key, _)| !without.contains(key));
    counted.fold(0, |sum: u64, (_, item)| sum.wrapping_add(*item))
}

impl AsFd for Follower {
    /// Readable when the kernel told something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.changes_socket.as_fd()
    }
}

/// All tables as read, and whether nothing can be missing.
struct Reading {
    state: State,
    sure: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::event::{Mode, Path, Route};
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
