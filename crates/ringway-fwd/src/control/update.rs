//! Routes of a family on their way to the data plane.

use std::collections::BTreeSet;

use super::ControlError;
use super::changes::{Changes, LOCAL, MAIN};
use super::event::Family;
use super::family::FamilyState;
use super::plane::Plane;
use super::pulse::{PIECE, Pulse, pulsing, sorted};
use super::resolve::Resolver;
use super::state::State;
use super::tables::Ip;
use ringway_fib::{FibError, NextHop, Prefix};

/// Routes that are refused one after the other before the rest of a batch is put off.
const TRIES: usize = 32;

pub(super) type Change<A> = (Prefix<A>, Option<NextHop>);

/// What differs between the families.
pub(super) trait RouteFamily: Ip {
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
    /// How many prefixes do not lead to where they should.
    pub(super) fn audit_family<A: RouteFamily>(&mut self, state: &State, pulse: &mut Pulse<'_>) -> usize {
        let prefixes = sorted(every(A::of(self), state), pulse);
        let wrong = |prefix: &Prefix<A>| {
            let held = A::of(self).routes.get(prefix).copied();
            held.and_then(|n| self.numbers.target(n)) != state.target(*prefix).as_ref()
        };
        pulsing(prefixes, PIECE, pulse).filter(wrong).count()
    }

    /// Routes of a family that may have changed.
    pub(super) fn update_family<A: RouteFamily>(
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

    /// Prefixes to look at: prefixes that changed or wait, and prefixes within them that depend on them; some more than once.
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
