//! Looking up while the table changes.

use std::marker::PhantomData;
use std::sync::Arc;

use super::epoch::Epochs;
use super::lookup::Walk;
use super::memory::Memory;
use super::{FibError, Isa, NextHop};

/// A registered reader of a table: one for each thread.
///
/// It never waits for the writer, nor the writer for it: as long as it looks, memory that it may see is not used again.
#[derive(Debug)]
pub struct Reader<A> {
    memory: Arc<Memory>,
    epochs: Arc<Epochs>,
    seat: usize,
    isa: Isa,
    family: PhantomData<A>,
}

impl<A: Walk> Reader<A> {
    pub(super) fn new(memory: Arc<Memory>, epochs: Arc<Epochs>, isa: Isa) -> Result<Self, FibError> {
        let seat = epochs.register()?;
        Ok(Self { memory, epochs, seat, isa, family: PhantomData })
    }

    /// Looks up bursts with these instructions, or the best below them that the processor has.
    #[must_use]
    pub fn with_isa(mut self, isa: Isa) -> Self {
        self.isa = isa.min(Isa::best());
        self
    }

    /// The instructions that bursts are looked up with.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Starts to look, for one burst of packets say: long views keep memory from being used again.
    #[inline]
    pub fn view(&mut self) -> View<'_, A> {
        self.epochs.enter(self.seat);
        View { reader: self }
    }
}

impl<A> Drop for Reader<A> {
    fn drop(&mut self) {
        self.epochs.unregister(self.seat);
    }
}

/// The table as it is now.
#[derive(Debug)]
pub struct View<'a, A> {
    reader: &'a Reader<A>,
}

impl<A: Walk> View<'_, A> {
    /// The next hop of the longest prefix that covers the address.
    #[inline]
    pub fn lookup(&self, addr: A) -> Option<NextHop> {
        NextHop::new(A::one(&self.reader.memory, addr))
    }

    /// The same for many addresses: the numbers of their next hops, 0 where there is no route.
    ///
    /// # Panics
    /// When the slices differ in length.
    #[inline]
    pub fn lookup_burst(&self, addrs: &[A], next_hops: &mut [u16]) {
        assert_eq!(addrs.len(), next_hops.len(), "a next hop for each address");
        A::burst(&self.reader.memory, self.reader.isa, addrs, next_hops);
    }
}

impl<A> Drop for View<'_, A> {
    #[inline]
    fn drop(&mut self) {
        self.reader.epochs.leave(self.reader.seat);
    }
}
