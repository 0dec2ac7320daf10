//! Numbers of next hops: one for each target, with its entry and buckets, given back when no reader can hold it any more.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;

use super::ControlError;
use super::adjacency::{Adjacency, Verdict};
use super::group::{BUCKETS, Buckets, assign};
use super::plane::{Limits, Plane};
use super::state::State;
use super::target::{Content, Target, Way};
use ringway_fib::NextHop;

/// Targets that are always there, numbered from 1.
const FIXED: [Verdict; 5] =
    [Verdict::Local, Verdict::Host, Verdict::Blackhole, Verdict::Unreachable, Verdict::Prohibit];

#[derive(Debug)]
pub(super) struct Numbers {
    limits: Limits,
    /// By number; the first has none.
    slots: Vec<Option<Slot>>,
    numbers: HashMap<Target, u16>,
    /// Next hops through each neighbour.
    through: HashMap<(IpAddr, u32), Vec<u16>>,
    objects: BTreeSet<u16>,
    free: Vec<u16>,
    groups: u32,
    free_groups: Vec<u32>,
    /// Not in use since an epoch, but perhaps still looked at.
    retired: VecDeque<(u64, Retired)>,
    epoch: u64,
}

#[derive(Debug)]
struct Slot {
    target: Target,
    /// Routes and groups that name it.
    uses: u32,
    /// In the queue, since this epoch.
    retired: Option<u64>,
    entry: Adjacency,
    group: Option<Group>,
}

#[derive(Debug)]
struct Group {
    number: u32,
    members: Vec<(u16, u32)>,
    buckets: Box<Buckets>,
}

#[derive(Debug)]
enum Retired {
    Number(u16),
    Group(u32),
}

impl Numbers {
    /// Writes the entries of what is always there.
    pub(super) fn new(plane: &mut dyn Plane) -> Self {
        let mut all = Self {
            limits: plane.limits(),
            slots: vec![None],
            numbers: HashMap::new(),
            through: HashMap::new(),
            objects: BTreeSet::new(),
            free: Vec::new(),
            groups: 0,
            free_groups: Vec::new(),
            retired: VecDeque::new(),
            epoch: 0,
        };
        for verdict in FIXED {
            let (target, entry) = (Target::Fixed(verdict), Adjacency::plain(verdict));
            let number = all.slots.len() as u16;
            all.slots.push(Some(Slot { target: target.clone(), uses: 1, retired: None, entry, group: None }));
            all.numbers.insert(target, number);
            all.write(plane, number);
        }
        all
    }

    /// The number of the host, which has one more use now.
    pub(super) fn host(&mut self) -> u16 {
        let number = self.numbers[&Target::Fixed(Verdict::Host)];
        self.add_use(number);
        number
    }

    /// Whether it is the number of the host.
    pub(super) fn is_host(&self, number: u16) -> bool {
        self.target(number) == Some(&Target::Fixed(Verdict::Host))
    }

    /// One use more; returns whether it is the first.
    fn add_use(&mut self, number: u16) -> bool {
        let Some(slot) = self.slot_mut(number) else { return false };
        slot.uses += 1;
        slot.uses == 1
    }

    /// How many numbers are in use, or wait for readers.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - 1 - self.free.len()
    }

    pub(super) fn entry(&self, number: u16) -> Option<&Adjacency> {
        Some(&self.slot(number)?.entry)
    }

    pub(super) fn target(&self, number: u16) -> Option<&Target> {
        Some(&self.slot(number)?.target)
    }

    /// Where a number leads that is no group.
    pub(super) fn way(&self, number: u16) -> Option<Way> {
        if let Target::Hop(way) = self.target(number)? { Some(*way) } else { None }
    }

    /// Numbers and weights of a group's members.
    pub(super) fn members(&self, number: u16) -> Option<&[(u16, u32)]> {
        Some(&self.slot(number)?.group.as_ref()?.members)
    }

    /// Buckets of a group.
    pub(super) fn buckets(&self, number: u16) -> Option<&Buckets> {
        Some(&self.slot(number)?.group.as_ref()?.buckets)
    }

    /// The number of a target, which has one more use now. A new group takes after an old one: its flows stay where they are.
    ///
    /// # Errors
    /// No number or group is free; then nothing has changed.
    pub(super) fn acquire(
        &mut self,
        target: &Target,
        like: u16,
        state: &State,
        plane: &mut dyn Plane,
    ) -> Result<u16, ControlError> {
        if let Some(&number) = self.numbers.get(target) {
            if self.add_use(number) {
                self.refresh(number, state, plane).inspect_err(|_| self.drop_use(number))?;
            }
            return Ok(number);
        }
        let number = self.free_number()?;
        if let Some(next_hop) = NextHop::new(number) {
            plane.reset_counters_for(next_hop);
        }
        let (entry, target) = (Adjacency::default(), target.clone());
        match target {
            Target::Hop(Way { gateway: Some(gateway), dev, .. }) => {
                self.through.entry((gateway, dev)).or_default().push(number);
            }
            Target::Object(..) => _ = self.objects.insert(number),
            _ => {}
        }
        self.numbers.insert(target.clone(), number);
        self.slots[usize::from(number)] = Some(Slot { target, uses: 1, retired: None, entry, group: None });
        match self.fill(number, like, state, plane) {
            Ok(()) => Ok(number),
            Err(e) => {
                self.clear(number); // nobody has seen it
                Err(e)
            }
        }
    }

    /// One use less.
    pub(super) fn drop_use(&mut self, number: u16) {
        let epoch = self.epoch;
        let Some(slot) = self.slot_mut(number) else { return };
        slot.uses -= 1;
        if slot.uses == 0 {
            slot.retired = Some(epoch);
            self.retired.push_back((epoch, Retired::Number(number)));
        }
    }

    /// Brings an entry up to date.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    pub(super) fn refresh(
        &mut self,
        number: u16,
        state: &State,
        plane: &mut dyn Plane,
    ) -> Result<(), ControlError> {
        self.fill(number, number, state, plane)
    }

    /// All numbers in use.
    pub(super) fn used(&self) -> Vec<u16> {
        let used = |slot: &Option<Slot>| slot.as_ref().is_some_and(|slot| slot.uses > 0);
        (0u16..=u16::MAX).zip(&self.slots).filter(|(_, slot)| used(slot)).map(|(number, _)| number).collect()
    }

    /// Numbers of next-hop objects.
    pub(super) fn objects(&self) -> &BTreeSet<u16> {
        &self.objects
    }

    /// Numbers of next hops through a neighbour.
    pub(super) fn through(&self, neighbour: (IpAddr, u32)) -> Vec<u16> {
        self.through.get(&neighbour).cloned().unwrap_or_default()
    }

    pub(super) fn mark(&mut self) -> u64 {
        self.epoch += 1;
        self.epoch - 1
    }

    pub(super) fn release(&mut self, mark: u64) {
        while let Some((epoch, _)) = self.retired.front()
            && *epoch <= mark
        {
            let Some((epoch, retired)) = self.retired.pop_front() else { return };
            match retired {
                Retired::Group(group) => self.free_groups.push(group),
                Retired::Number(number) => {
                    let idle = |slot: &Slot| slot.uses == 0 && slot.retired == Some(epoch);
                    if self.slot(number).is_some_and(idle) {
                        self.clear(number);
                    }
                }
            }
        }
    }

    fn slot(&self, number: u16) -> Option<&Slot> {
        self.slots.get(usize::from(number))?.as_ref()
    }

    fn slot_mut(&mut self, number: u16) -> Option<&mut Slot> {
        self.slots.get_mut(usize::from(number))?.as_mut()
    }

    fn free_number(&mut self) -> Result<u16, ControlError> {
        if let Some(number) = self.free.pop() {
            return Ok(number);
        }
        if self.slots.len() > usize::from(self.limits.next_hops) {
            let waiting = self.retired.iter().filter(|(_, r)| matches!(r, Retired::Number(_))).count();
            return Err(ControlError::NextHops { limit: self.limits.next_hops.into(), waiting });
        }
        self.slots.push(None);
        Ok((self.slots.len() - 1) as u16)
    }

    fn free_group(&mut self) -> Result<u32, ControlError> {
        if let Some(group) = self.free_groups.pop() {
            return Ok(group);
        }
        if self.groups == self.limits.groups {
            return Err(ControlError::Groups { limit: self.limits.groups as usize });
        }
        self.groups += 1;
        Ok(self.groups - 1)
    }

    /// Brings entry and buckets up to date. The buckets of a new group are made after the buckets of `like`.
    fn fill(
        &mut self,
        number: u16,
        like: u16,
        state: &State,
        plane: &mut dyn Plane,
    ) -> Result<(), ControlError> {
        let Some(target) = self.target(number).cloned() else { return Ok(()) };
        match state.content(&target) {
            Content::Plain(entry) => {
                self.replace(number, entry, None, plane);
                Ok(())
            }
            Content::Group(ways) if ways.len() > BUCKETS => {
                Err(ControlError::Members { members: ways.len() })
            }
            Content::Group(ways) => {
                let members = self.acquire_members(&ways, state, plane)?;
                let of = |n| self.slot(n).and_then(|slot| slot.group.as_ref());
                let buckets = of(number).or_else(|| of(like)).map_or([0; BUCKETS], |group| *group.buckets);
                let group = match of(number).map(|group| group.number) {
                    Some(group) => group,
                    None => self
                        .free_group()
                        .inspect_err(|_| members.iter().for_each(|(n, _)| self.drop_use(*n)))?,
                };
                let buckets = Box::new(assign(&buckets, &members));
                plane.buckets(group, &buckets);
                self.replace(
                    number,
                    Adjacency::group(group),
                    Some(Group { number: group, members, buckets }),
                    plane,
                );
                Ok(())
            }
        }
    }

    fn acquire_members(
        &mut self,
        ways: &[(Way, u32)],
        state: &State,
        plane: &mut dyn Plane,
    ) -> Result<Vec<(u16, u32)>, ControlError> {
        let mut members: Vec<(u16, u32)> = Vec::with_capacity(ways.len());
        for (way, weight) in ways {
            let number = self.acquire(&Target::Hop(*way), 0, state, plane);
            let number = number.inspect_err(|_| members.iter().for_each(|(n, _)| self.drop_use(*n)))?;
            match members.iter_mut().find(|(n, _)| *n == number) {
                Some((_, sum)) => {
                    *sum += weight;
                    self.drop_use(number);
                }
                None => members.push((number, *weight)),
            }
        }
        Ok(members)
    }

    /// Exchanges what a number stands for.
    fn replace(&mut self, number: u16, entry: Adjacency, group: Option<Group>, plane: &mut dyn Plane) {
        let Some(slot) = self.slot_mut(number) else { return };
        let (was, old) =
            (std::mem::replace(&mut slot.entry, entry), std::mem::replace(&mut slot.group, group));
        let keeps = slot.group.as_ref().map(|group| group.number);
        if was != entry {
            self.write(plane, number);
        }
        if let Some(old) = old {
            old.members.iter().for_each(|(n, _)| self.drop_use(*n));
            if keeps != Some(old.number) {
                self.retired.push_back((self.epoch, Retired::Group(old.number)));
            }
        }
    }

    fn write(&self, plane: &mut dyn Plane, number: u16) {
        if let (Some(number), Some(entry)) = (NextHop::new(number), self.entry(number)) {
            plane.adjacency(number, entry);
        }
    }

    /// Frees a number that no reader can hold.
    fn clear(&mut self, number: u16) {
        let Some(slot) = self.slots[usize::from(number)].take() else { return };
        self.numbers.remove(&slot.target);
        self.objects.remove(&number);
        if let Target::Hop(Way { gateway: Some(gateway), dev, .. }) = slot.target
            && let Some(numbers) = self.through.get_mut(&(gateway, dev))
        {
            numbers.retain(|n| *n != number);
            if numbers.is_empty() {
                self.through.remove(&(gateway, dev));
            }
        }
        if let Some(group) = slot.group {
            group.members.iter().for_each(|(n, _)| self.drop_use(*n));
            self.free_groups.push(group.number);
        }
        self.free.push(number);
    }
}
