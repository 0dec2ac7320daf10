//! From the kernel's tables to the data plane's: prefixes lead to numbers of next hops, numbers to entries and groups.

use std::collections::{BTreeMap, BTreeSet};

use super::ControlError;
use super::changes::Changes;
use super::family::FamilyState;
use super::numbers::Numbers;
use super::plane::Plane;
use super::pulse::{Pulse, pulsing};
use super::state::State;
use super::target::Content;

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
/// When next hops, groups or routes do not fit, the old entries stay. The prefix keeps its next hop, or leads to the host if it had none,
/// and is tried again with each update. The new has to fit beside the old. See [`pending`](Self::pending) and
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
    /// Up to [`PIECE`](super::PIECE) routes of a family change at once. Of more, routes that come or lead elsewhere are before routes that go, so
    /// that no packet finds neither, and [`Plane::pulse`] is called between.
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

    /// How many routes the data plane has, with the routes of neighbours.
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
    /// [`pending`](Self::pending) is an error of this crate. Takes about as long as the first update.
    pub fn audit(&mut self, state: &State, pulse: &mut Pulse<'_>) -> usize {
        let used = pulsing(self.numbers.used(), ENTRIES, pulse);
        let entries = used.filter(|n| !self.is_current(*n, state)).count();
        entries + self.audit_family::<u32>(state, pulse) + self.audit_family::<u128>(state, pulse)
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
}
