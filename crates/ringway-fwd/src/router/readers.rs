//! The tables as a forwarding thread reads them.

use std::sync::Arc;

use crate::control::{Adjacencies, Groups, Tables};
use ringway_fib::{FibError, Isa, Reader};

/// The tables of a [`Tables`], to look into while they change: one for each thread.
#[derive(Debug)]
pub struct Readers {
    pub(super) v4: Reader<u32>,
    pub(super) v6: Reader<u128>,
    pub(super) adjacencies: Arc<Adjacencies>,
    pub(super) groups: Arc<Groups>,
}

impl Readers {
    /// Registers readers of both families. Numbers of next hops may be used again ([`Resolver::release`](crate::control::Resolver::release))
    /// once [`Fib::readers_left`](ringway_fib::Fib::readers_left) of the IPv4 table says so.
    ///
    /// # Errors
    /// [`FibError::Readers`] when there are as many as there can be.
    pub fn new(tables: &Tables) -> Result<Self, FibError> {
        let (v4, v6) = (tables.fib4.reader()?, tables.fib6.reader()?);
        Ok(Self { v4, v6, adjacencies: tables.adjacencies.clone(), groups: tables.groups.clone() })
    }

    /// Looks up with these instructions, or the best below them that the processor has.
    #[must_use]
    pub fn with_isa(self, isa: Isa) -> Self {
        Self { v4: self.v4.with_isa(isa), v6: self.v6.with_isa(isa), ..self }
    }
}
