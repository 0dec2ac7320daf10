//! From the kernel's tables to the data plane's: prefixes lead to numbers of next hops, numbers to entries and groups.

use std::collections::{BTreeMap, BTreeSet};

use super::ControlError;
use super::event::Family;
use super::numbers::Numbers;
use super::plane::Plane;
use super::pulse::{PIECE, Pulse, pulsing, sorted};
use super::state::{Changes, LOCAL, MAIN, State};
use super::tables::Ip;
use super::target::Content;
use ringway_fib::{Address, FibError, NextHop, Prefix};

/// Next hops brought up to date before a sign of life: each may be a group of 256.
const ENTRIES: usize = 1 << 8;

/// Brings what changed in a [`State`] to the data plane.
///
/// A prefix leads to the number of a next hop; one number for each gateway, interface and MTU, for each set of hops, and for each
/// next-hop object. So a neighbour change writes one entry, and an object's change too, however many routes lead there. Neighbours
/// that are directly connected get a route of their own.
///
/// What the fast path does not do goes to the host, whose kernel knows the way ([`Verdict::Host`](super::Verdict::Host)): routes by type of service or
/// source, encapsulation, interfaces other than Ethernet. Of several tables only `local` and `main` are looked at: see
/// [`State::unsupported`].
///
/// When next hops, groups or routes do not fit, what was there stays: the prefix keeps its next hop, or leads to the host if it
/// had none, and is tried again with each update; the new has to fit beside the old. See [`pending`](Self::pending) and
/// [`unplaced`](Self::unplaced).
///
/// ```
/// use ringway_fwd::control::{Changes, Limits, Resolver, State, Tables};
/// use ringway_fib::{Fib4, Fib6};
/// let mut tables = Tables::new(Fib4::new(Default::default())?, Fib6::new(Default::default())?, Limits::default());
/// let mut resolver = Resolver::new(&mut tables);
/// resolver.update(&State::default(), Changes::default(), &mut tables)?;
/// assert!(tables.find4(0x0a00_0001, 0).is_none());
/// # Ok::<(), ringway_fwd::control::ControlError>(())
/// ```
#[derive(Debug)]
pub struct Resolver {
    pub(super) numbers: Numbers,
    pub(super) v4: FamilyState<u32>,
    pub(super) v6: FamilyState<u128>,
    /// Numbers whose entries could not be brought up to date.
    stale: BTreeSet<u16>,
}

/// One family.
#[derive(Debug)]
pub(super) struct FamilyState<A> {
    /// The number that each prefix leads to.
    pub(super) routes: BTreeMap<Prefix<A>, u16>,
    /// Prefixes that do not lead to where they should.
    pending: BTreeSet<Prefix<A>>,
    /// How many of them the tables had no room for.
    unplaced: usize,
}

impl<A: Address> Default for FamilyState<A> {
    fn default() -> Self {
        Self { routes: BTreeMap::new(), pending: BTreeSet::new(), unplaced: 0 }
    }
}

/// Routes that are refused one after the other before the rest of a batch is put off.
const TRIES: usize = 32;

type Change<A> = (Prefix<A>, Option<NextHop>);

/// What differs between the families.
trait RouteFamily: Ip {
    fn of(resolver: &mut Resolver) -> &mut FamilyState<Self>;
    fn changed(changes: &mut Changes) -> Vec<Prefix<Self>>;
    /// Prefixes that may hide longer ones, or not any more.
    fn hiding(changes: &mut Changes) -> Vec<Prefix<Self>>;
    fn push(plane: &mut dyn Plane, changes: &[Change<Self>]) -> Result<(), FibError>;
}

impl RouteFamily for u32 {
    fn of(resolver: &mut Resolver) -> &mut FamilyState<Self> {
        &mut resolver.v4
    }

    fn changed(changes: &mut Changes) -> Vec<Prefix<Self>> {
        std::mem::take(&mut changes.v4)
    }

    fn hiding(_: &mut Changes) -> Vec<Prefix<Self>> {
        Vec::new()
    }

    fn push(plane: &mut dyn Plane, changes: &[Change<Self>]) -> Result<(), FibError> {
        plane.routes4(changes)
    }
}

impl RouteFamily for u128 {
    fn of(resolver: &mut Resolver) -> &mut FamilyState<Self> {
        &mut resolver.v6
    }

    fn changed(changes: &mut Changes) -> Vec<Prefix<Self>> {
        std::mem::take(&mut changes.v6)
    }

    fn hiding(changes: &mut Changes) -> Vec<Prefix<Self>> {
        std::mem::take(&mut changes.local6)
    }

    fn push(plane: &mut dyn Plane, changes: &[Change<Self>]) -> Result<(), FibError> {
        plane.routes6(changes)
    }
}

impl Resolver {
    /// Without routes; writes the entries that are always there.
    pub fn new(plane: &mut dyn Plane) -> Self {
        Self {
            numbers: Numbers::new(plane),
            v4: FamilyState::default(),
            v6: FamilyState::default(),
            stale: BTreeSet::new(),
        }
    }

    /// Brings changes to the data plane: entries before the routes that lead to them. The state is that after the changes.
    ///
    /// Up to [`PIECE`] routes of a family change at once. Of more, those that come or lead elsewhere are before those that go, so that no
    /// packet finds neither, and [`Plane::pulse`] is called between.
    ///
    /// # Errors
    /// The first thing that did not fit; all else has been done.
    pub fn update(
        &mut self,
        state: &State,
        mut changes: Changes,
        plane: &mut dyn Plane,
    ) -> Result<(), ControlError> {
        let mut first = self.update_next_hops(state, &changes, plane);
        first = first.and(self.update_family::<u32>(state, &mut changes, plane));
        first = first.and(self.update_family::<u128>(state, &mut changes, plane));
        first
    }

    /// Routes and next hops that the tables have no room for: packets to them take the way of a shorter prefix, or the old
    /// one. A data plane that can leave packets to the host does well to leave all of them while there are any.
    #[must_use]
    pub fn unplaced(&self) -> usize {
        self.v4.unplaced + self.v6.unplaced + self.stale.len()
    }

    /// How many prefixes and next hops are not what they should be, because something did not fit. `fib_in_sync` is false then.
    pub fn pending(&self) -> usize {
        self.v4.pending.len() + self.v6.pending.len() + self.stale.len()
    }

    /// How many next hops are in use, or wait for [`release`](Self::release).
    pub fn next_hops(&self) -> usize {
        self.numbers.len()
    }

    /// How many routes the data plane has, those of neighbours included.
    pub fn routes(&self) -> usize {
        self.v4.routes.len() + self.v6.routes.len()
    }

    /// A mark: all numbers that updates so far have put out of use. Once every burst that began before has ended, hand it to
    /// [`release`](Self::release).
    #[must_use]
    pub fn mark(&mut self) -> u64 {
        self.numbers.mark()
    }

    /// Readers have left what was out of use at the mark: its numbers may be given to others.
    pub fn release(&mut self, mark: u64) {
        self.numbers.release(mark);
    }

    /// How many prefixes and entries are not what a look at the whole state says they should be. Anything but
    /// [`pending`](Self::pending) is an error of ours. Takes about as long as the first update.
    pub fn audit(&mut self, state: &State, pulse: &mut Pulse<'_>) -> usize {
        let used = pulsing(self.numbers.used(), ENTRIES, pulse);
        let entries = used.filter(|n| !self.is_current(*n, state)).count();
        entries + self.audit_family::<u32>(state, pulse) + self.audit_family::<u128>(state, pulse)
    }

    fn audit_family<A: RouteFamily>(&mut self, state: &State, pulse: &mut Pulse<'_>) -> usize {
        let prefixes = sorted(every(A::of(self), state), pulse);
        let wrong = |prefix: &Prefix<A>| {
            let held = A::of(self).routes.get(prefix).copied();
            held.and_then(|n| self.numbers.target(n)) != state.target(*prefix).as_ref()
        };
        pulsing(prefixes, PIECE, pulse).filter(wrong).count()
    }

    fn is_current(&self, number: u16, state: &State) -> bool {
        let Some(target) = self.numbers.target(number) else { return true };
        match state.content(target) {
            Content::Plain(entry) => self.numbers.entry(number) == Some(&entry),
            Content::Group(ways) => {
                let mut sums = BTreeMap::new();
                for (way, weight) in ways {
                    *sums.entry(Some(way)).or_insert(0) += weight;
                }
                let members = self.numbers.members(number).unwrap_or_default().iter();
                members.map(|(n, weight)| (self.numbers.way(*n), *weight)).collect::<BTreeMap<_, _>>() == sums
            }
        }
    }

    /// Entries of next hops that may have changed.
    fn update_next_hops(
        &mut self,
        state: &State,
        changes: &Changes,
        plane: &mut dyn Plane,
    ) -> Result<(), ControlError> {
        let mut numbers = std::mem::take(&mut self.stale);
        if changes.hops || changes.all {
            numbers.extend(self.numbers.used());
        } else if !changes.neighbours.is_empty() {
            numbers.extend(changes.neighbours.iter().flat_map(|neighbour| self.numbers.through(*neighbour)));
            numbers.extend(self.numbers.objects()); // they may lead anywhere
        }
        let mut first = Ok(());
        for (i, number) in numbers.into_iter().enumerate() {
            if i > 0 && i.is_multiple_of(ENTRIES) {
                plane.pulse(self.unplaced());
            }
            if let Err(e) = self.numbers.refresh(number, state, plane) {
                self.stale.insert(number);
                first = first.and(Err(e));
            }
        }
        first
    }

    /// Routes of a family that may have changed.
    fn update_family<A: RouteFamily>(
        &mut self,
        state: &State,
        changes: &mut Changes,
        plane: &mut dyn Plane,
    ) -> Result<(), ControlError> {
        let unplaced = self.unplaced();
        let prefixes =
            sorted(self.affected::<A>(state, changes), &mut Pulse::new(&mut || plane.pulse(unplaced)));
        let half = A::of(self);
        (half.pending, half.unplaced) = (BTreeSet::new(), 0); // all pending ones are tried again
        let mut first = Ok(());
        let mut batch = Vec::new();
        for piece in prefixes.chunks(PIECE) {
            for prefix in piece {
                match self.change(*prefix, state, plane) {
                    Ok(change) => batch.extend(change),
                    Err(e) => {
                        batch.extend(self.defer(*prefix));
                        first = first.and(Err(e));
                    }
                }
            }
            plane.pulse(self.unplaced());
        }
        first.and(self.publish(batch, plane))
    }

    /// There is no number for what a prefix should lead to: it waits.
    fn defer<A: RouteFamily>(&mut self, prefix: Prefix<A>) -> Option<Change<A>> {
        A::of(self).pending.insert(prefix);
        let host = self.placeholder(prefix);
        let held = A::of(self).routes.get(&prefix).copied();
        let wrong = held.is_some_and(|number| !self.numbers.is_host(number));
        A::of(self).unplaced += usize::from(wrong);
        host
    }

    /// A prefix that had no next hop leads to the host while there is no number for its own.
    fn placeholder<A: RouteFamily>(&mut self, prefix: Prefix<A>) -> Option<Change<A>> {
        if A::of(self).routes.contains_key(&prefix) {
            return None;
        }
        Some((prefix, NextHop::new(self.numbers.host())))
    }

    /// Prefixes to look at: those told, those that wait, and those within them that depend on them; some more than once.
    fn affected<'a, A: RouteFamily>(
        &'a mut self,
        state: &'a State,
        changes: &'a mut Changes,
    ) -> impl Iterator<Item = Prefix<A>> + 'a {
        let (told, hiding) = (A::changed(changes), A::hiding(changes));
        let half = &*A::of(self);
        let all = changes.all.then(|| every(half, state)).into_iter().flatten();
        let told = told.into_iter().flat_map(|prefix| neighbours_in(state, prefix).chain([prefix]));
        let main = A::tables(&state.routes).get(&MAIN);
        let hidden =
            hiding.into_iter().flat_map(move |prefix| main.into_iter().flat_map(move |t| t.within(prefix)));
        let of = changes.neighbours.iter().filter(|(addr, _)| Family::of(*addr) == A::FAMILY);
        let neighbours = of.filter_map(|(addr, _)| host_prefix::<A>(*addr));
        all.chain(half.pending.iter().copied()).chain(told).chain(hidden).chain(neighbours)
    }

    /// What has to change for a prefix. The new number has a use more then.
    fn change<A: RouteFamily>(
        &mut self,
        prefix: Prefix<A>,
        state: &State,
        plane: &mut dyn Plane,
    ) -> Result<Option<Change<A>>, ControlError> {
        let held = A::of(self).routes.get(&prefix).copied();
        let Some(target) = state.target(prefix) else { return Ok(held.map(|_| (prefix, None))) };
        if held.is_some_and(|n| self.numbers.target(n) == Some(&target)) {
            return Ok(None);
        }
        let number = self.numbers.acquire(&target, held.unwrap_or(0), state, plane)?;
        Ok(Some((prefix, NextHop::new(number))))
    }

    /// Hands changes to the data plane, one by one if together they do not fit.
    fn publish<A: RouteFamily>(
        &mut self,
        mut batch: Vec<Change<A>>,
        plane: &mut dyn Plane,
    ) -> Result<(), ControlError> {
        if batch.len() > PIECE {
            batch.sort_by_key(|(_, next_hop)| next_hop.is_none());
        }
        let mut left = &batch[..];
        while let (piece @ [_, ..], rest) = left.split_at(left.len().min(PIECE)) {
            if A::push(plane, piece).is_err() {
                return self.publish_each(left, plane);
            }
            piece.iter().for_each(|change| self.record(*change));
            plane.pulse(self.unplaced());
            left = rest;
        }
        Ok(())
    }

    fn publish_each<A: RouteFamily>(
        &mut self,
        batch: &[Change<A>],
        plane: &mut dyn Plane,
    ) -> Result<(), ControlError> {
        // Withdrawals make room.
        let (gone, there): (Vec<_>, Vec<_>) = batch.iter().copied().partition(|change| change.1.is_none());
        let (mut first, mut refused) = (Ok(()), 0);
        for change in gone.into_iter().chain(there) {
            plane.pulse(self.unplaced());
            // Each try takes its time, and where many do not fit the next ones won't either.
            let tried = (refused < TRIES).then(|| A::push(plane, &[change]));
            if matches!(tried, Some(Ok(()))) {
                self.record(change);
                continue;
            }
            refused += 1;
            A::of(self).pending.insert(change.0);
            A::of(self).unplaced += 1;
            self.drop_use(change.1);
            if let Some(Err(e)) = tried {
                first = first.and(Err(e.into()));
            }
        }
        first
    }

    fn record<A: RouteFamily>(&mut self, (prefix, next_hop): Change<A>) {
        let routes = &mut A::of(self).routes;
        let old = match next_hop {
            Some(next_hop) => routes.insert(prefix, next_hop.get()),
            None => routes.remove(&prefix),
        };
        self.drop_use(old.and_then(NextHop::new));
    }

    fn drop_use(&mut self, number: Option<NextHop>) {
        number.into_iter().for_each(|number| self.numbers.drop_use(number.get()));
    }
}

/// All prefixes that there are or should be; some more than once.
fn every<'a, A: RouteFamily>(
    half: &'a FamilyState<A>,
    state: &'a State,
) -> impl Iterator<Item = Prefix<A>> + 'a {
    let tables = A::tables(&state.routes);
    let told = [LOCAL, MAIN].iter().filter_map(|n| tables.get(n)).flat_map(|t| t.iter().map(|(p, _)| p));
    let neighbours = state.neighbours.keys().filter_map(|(addr, _)| host_prefix::<A>(*addr));
    told.chain(neighbours).chain(half.routes.keys().copied()).chain(half.pending.iter().copied())
}

/// The prefix of one address.
fn host_prefix<A: Ip>(addr: std::net::IpAddr) -> Option<Prefix<A>> {
    Prefix::new(A::of_ip(addr)?, A::BITS).ok()
}

/// Prefixes of the neighbours whose addresses are within one.
fn neighbours_in<A: Ip>(state: &State, prefix: Prefix<A>) -> impl Iterator<Item = Prefix<A>> {
    let from = (prefix.addr().ip(), 0);
    let within = state.neighbours.range(from..).map_while(move |((addr, _), _)| host_prefix::<A>(*addr));
    within.take_while(move |host| prefix.covers(host.addr()))
}
