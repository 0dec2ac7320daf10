//! The table as the control plane holds it.

use std::marker::PhantomData;
use std::sync::Arc;

use super::cells::Foreign;
use super::epoch::Epochs;
use super::limits::{Limits, Usage};
use super::lookup::Walk;
use super::memory::{Layout, Memory};
use super::notes::Notes;
use super::render::Renderer;
use super::routes::Routes;
use super::store::Store;
use super::{FibError, Isa, NextHop, Prefix, Reader};

/// A routing table and the memory for looking it up: what the control plane holds.
#[derive(Debug)]
pub struct Fib<A> {
    memory: Arc<Memory>,
    epochs: Arc<Epochs>,
    routes: Routes,
    store: Store,
    notes: Notes,
    family: PhantomData<A>,
}

/// A table of IPv4 routes.
pub type Fib4 = Fib<u32>;

/// A table of IPv6 routes.
pub type Fib6 = Fib<u128>;

impl<A: Walk> Fib<A> {
    /// An empty table in memory of this process.
    ///
    /// # Errors
    /// [`FibError::Limits`] when they are above 2^29 - 1 words. [`FibError::Os`] when the system has not so much memory to set
    /// aside. [`FibError::Full`] when there is no room for an empty table.
    pub fn new(limits: Limits) -> Result<Self, FibError> {
        limits.check()?;
        Self::with(Memory::new(Self::layout(limits))?, limits)
    }

    /// An empty table in memory that others may read too.
    ///
    /// Readers that are not registered with [`reader`](Self::reader) need [`hold`](Self::hold).
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`FibError::Memory`] when it is smaller than [`layout`](Self::layout) says, or does not start on
    /// 8 bytes.
    pub fn in_memory(place: Foreign, limits: Limits) -> Result<Self, FibError> {
        limits.check()?;
        Self::with(Memory::foreign(place, Self::layout(limits))?, limits)
    }

    /// Where the arrays of a table of this size start, and how long they are.
    pub fn layout(limits: Limits) -> Layout {
        Layout::new(limits.words as usize)
    }

    /// Makes a table of all routes at once; of two with the same prefix the later one counts.
    ///
    /// # Errors
    /// [`FibError::Full`] when they do not fit.
    pub fn build(
        limits: Limits,
        routes: impl IntoIterator<Item = (Prefix<A>, NextHop)>,
    ) -> Result<Self, FibError> {
        let mut fib = Self::new(limits)?;
        for (prefix, next_hop) in routes {
            fib.routes.set(prefix.addr().key(), prefix.len(), next_hop.get());
        }
        fib.publish()?;
        Ok(fib)
    }

    /// Adds a route, or changes its next hop; returns the next hop before.
    ///
    /// # Errors
    /// [`FibError::Full`]; then nothing has changed.
    pub fn insert(&mut self, prefix: Prefix<A>, next_hop: NextHop) -> Result<Option<NextHop>, FibError> {
        self.change(prefix, next_hop.get())
    }

    /// Removes a route; returns its next hop, `None` if there was no such route.
    ///
    /// # Errors
    /// [`FibError::Full`], since less routes may be more runs; then nothing has changed.
    pub fn withdraw(&mut self, prefix: Prefix<A>) -> Result<Option<NextHop>, FibError> {
        self.change(prefix, 0)
    }

    /// Makes several changes at once, `None` for a withdrawal. A reader sees each address change once, from the state before all
    /// of them to the one after.
    ///
    /// # Errors
    /// [`FibError::Full`]; then nothing has changed.
    pub fn apply(
        &mut self,
        changes: impl IntoIterator<Item = (Prefix<A>, Option<NextHop>)>,
    ) -> Result<(), FibError> {
        let mut undo = Vec::new();
        for (prefix, next_hop) in changes {
            let (key, len) = (prefix.addr().key(), prefix.len());
            undo.push((key, len, self.routes.set(key, len, next_hop.map_or(0, NextHop::get))));
        }
        self.publish().inspect_err(|_| self.revert(undo))
    }

    /// The next hop of a route.
    pub fn get(&self, prefix: Prefix<A>) -> Option<NextHop> {
        NextHop::new(self.routes.get(prefix.addr().key(), prefix.len()))
    }

    /// How many routes there are.
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Whether there is no route.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All routes: those up to /16 by length, then the longer ones by their first 16 bits.
    pub fn routes(&self) -> Vec<(Prefix<A>, NextHop)> {
        let route =
            |(key, len, next_hop)| Some((Prefix::new(A::of_key(key), len).ok()?, NextHop::new(next_hop)?));
        self.routes.all().into_iter().filter_map(route).collect()
    }

    /// The next hop of the longest prefix that covers the address.
    #[inline]
    pub fn lookup(&self, addr: A) -> Option<NextHop> {
        NextHop::new(A::one(&self.memory, addr))
    }

    /// A reader that looks up bursts with these instructions, which the processor has.
    pub(super) fn reader_by(&self, isa: Isa) -> Result<Reader<A>, FibError> {
        Reader::new(self.memory.clone(), self.epochs.clone(), isa)
    }

    /// What is in use.
    pub fn usage(&self) -> Usage {
        self.store.usage()
    }

    /// From now on memory that goes out of sight is not used again before [`release`](Self::release) allows it. This is for readers that are
    /// not registered, such as eBPF programs on the same memory.
    pub fn hold(&mut self) {
        self.store.hold();
    }

    /// A mark: all that changes made so far have put out of sight. Once every program run or burst that began before has ended
    /// (for eBPF programs: after `membarrier(MEMBARRIER_CMD_GLOBAL)`, which waits for the kernel's readers), hand it to
    /// [`release`](Self::release).
    #[must_use]
    pub fn mark(&self) -> u64 {
        self.store.mark()
    }

    /// Readers that are not registered have left what was out of sight at the mark.
    pub fn release(&mut self, mark: u64) {
        self.store.release(mark);
    }

    /// A mark of now: see [`readers_left`](Self::readers_left).
    #[must_use]
    pub fn readers_mark(&mut self) -> u64 {
        self.epochs.advance()
    }

    /// Whether every view that a registered reader began before the mark has ended: nobody goes on with a next hop that was taken out
    /// of the table before.
    ///
    /// ```
    /// let mut fib = ringway_fib::Fib4::new(Default::default())?;
    /// let mut reader = fib.reader()?;
    /// let view = reader.view();
    /// let mark = fib.readers_mark();
    /// assert!(!fib.readers_left(mark));
    /// drop(view);
    /// assert!(fib.readers_left(mark));
    /// # Ok::<(), ringway_fib::FibError>(())
    /// ```
    #[must_use]
    pub fn readers_left(&self, mark: u64) -> bool {
        self.epochs.oldest() > mark
    }

    /// The lookup memory, byte by byte, as laid out by [`layout`](Self::layout): to be copied into another table's place.
    pub fn bytes(&self) -> Vec<u8> {
        self.memory.bytes(self.memory.layout.size)
    }

    fn with(memory: Memory, limits: Limits) -> Result<Self, FibError> {
        let (memory, epochs) = (Arc::new(memory), Arc::new(Epochs::new()));
        let store = Store::new(memory.clone(), epochs.clone(), limits, A::BITS == 32)?;
        Ok(Self {
            memory,
            epochs,
            routes: Routes::new(),
            store,
            notes: Notes::default(),
            family: PhantomData,
        })
    }

    fn change(&mut self, prefix: Prefix<A>, next_hop: u16) -> Result<Option<NextHop>, FibError> {
        let (key, len) = (prefix.addr().key(), prefix.len());
        let before = self.routes.set(key, len, next_hop);
        if before != next_hop {
            self.publish().inspect_err(|_| self.revert([(key, len, before)]))?;
        }
        Ok(NextHop::new(before))
    }

    fn publish(&mut self) -> Result<(), FibError> {
        let Self { routes, store, notes, .. } = self;
        Renderer { routes, store, buckets: A::BITS > 32, notes }.publish()
    }

    /// Sets routes back. Forms stay as they were, and are looked at with the next change.
    fn revert(&mut self, undo: impl IntoIterator<Item = (u128, u8, u16), IntoIter: DoubleEndedIterator>) {
        for (key, len, next_hop) in undo.into_iter().rev() {
            self.routes.set(key, len, next_hop);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Random;
    use crate::simd::portable;

    #[test]
    fn limits_are_what_can_be_named() {
        for words in [1 << 29, u32::MAX] {
            let e = Fib4::new(Limits { words }).unwrap_err().to_string();
            assert_eq!(e, "Limits: at most 536870911 words can be named; ask for less");
            assert!(Fib6::new(Limits { words }).is_err());
        }
        assert!(Fib4::new(Limits { words: 9 }).is_err(), "the node that all /16s share takes 10 words");
        assert_eq!(Fib4::new(Limits { words: 11 }).unwrap().usage().words, 10);
    }

    /// Random prefixes of all lengths, some within each other; each answer by all ways, in bursts with trains.
    fn every_walk_agrees<A: Walk>(portable: fn(&Memory, &[A]) -> Vec<u16>) {
        let mut random = Random::new(7);
        let mut key = || random.next_u128();
        let mut fib = Fib::<A>::new(Limits::default()).unwrap();
        let mut addrs = Vec::new();
        for n in 1..=2000u32 {
            let base = if n % 3 == 0 { addrs[n as usize / 4] } else { key() };
            let len = (key() % (u128::from(A::BITS) + 1)) as u8;
            let prefix = Prefix::new(A::of_key(base), len).unwrap();
            fib.insert(prefix, NextHop::new((n % 700 + 1) as u16).unwrap()).unwrap();
            addrs.push(prefix.addr().key());
        }
        let spread = key();
        let mut all: Vec<A> =
            addrs.iter().flat_map(|&a| [A::of_key(a), A::of_key(a ^ spread >> 9)]).collect();
        all.extend([all[5]; 40]);
        let wanted: Vec<u16> = all.iter().map(|&a| fib.lookup(a).map_or(0, NextHop::get)).collect();
        assert!(wanted.iter().filter(|n| **n != 0).count() > 2000);
        assert_eq!(portable(&fib.memory, &all), wanted);
    }

    #[test]
    fn any_processor_walks_the_same_way() {
        every_walk_agrees::<u32>(portable::walk4);
        every_walk_agrees::<u128>(portable::walk6);
    }
}
