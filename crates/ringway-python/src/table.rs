//! What both families of route lookup have alike.

use std::sync::Mutex;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use ringway_fib::{Fib, FibError, Limits, NextHop, Prefix, Reader, Walk};

use crate::addresses::Addresses;
use crate::lock::lock;

/// Addresses that are looked up in one view of the table. They and their answers stay in the first cache.
const BURST: usize = 1024;

/// A table, and readers for the threads that look up in it.
pub(crate) struct Table<A> {
    fib: Mutex<Fib<A>>,
    readers: Mutex<Vec<Reader<A>>>,
}

/// A failure of a table, as Python's error for values.
pub(crate) fn wrong(error: &FibError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A prefix from its text, or from an object of `ipaddress`.
pub(crate) fn prefix<A: Walk>(object: &Bound<'_, PyAny>) -> PyResult<Prefix<A>> {
    object.str()?.to_cow()?.parse().map_err(|e| wrong(&e))
}

/// A next hop from its number.
pub(crate) fn hop(number: u16) -> PyResult<NextHop> {
    NextHop::new(number).ok_or_else(|| PyValueError::new_err("next hops are numbers from 1"))
}

/// An address from its number, its text, or an object of `ipaddress`.
pub(crate) fn address<A: Walk>(object: &Bound<'_, PyAny>) -> PyResult<A> {
    if let Ok(number) = object.extract::<u128>() {
        if A::BITS < 128 && number >> A::BITS != 0 {
            return Err(PyValueError::new_err(format!("{number} is no address of {} bits", A::BITS)));
        }
        // A key has the bits of an address at its upper end.
        return Ok(A::of_key(number << (128 - A::BITS)));
    }
    let text = object.str()?;
    let text = text.to_cow()?;
    A::parse(&text).ok_or_else(|| PyValueError::new_err(format!("{text} is no address of this family")))
}

impl<A: Walk> Table<A> {
    /// A table of these routes, for `capacity` of them at least.
    pub(crate) fn build(
        routes: Vec<(Prefix<A>, NextHop)>,
        capacity: Option<usize>,
    ) -> Result<Self, FibError> {
        let limits = capacity.map_or_else(
            || if routes.is_empty() { Limits::default() } else { Limits::for_routes(routes.len()) },
            |capacity| Limits::for_routes(capacity.max(routes.len())),
        );
        let fib = if routes.is_empty() { Fib::new(limits)? } else { Fib::build(limits, routes)? };
        Ok(Self { fib: Mutex::new(fib), readers: Mutex::new(Vec::new()) })
    }

    /// Works with the table itself.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Fib<A>) -> T) -> T {
        work(&mut lock(&self.fib))
    }

    /// The next hops of many addresses, 0 where there is no route. `hops` has a place for the bytes of each.
    pub(crate) fn lookup(&self, addresses: &Addresses, hops: &mut [[u8; 2]]) -> Result<(), FibError> {
        let free = || lock(&self.readers);
        let idle = free().pop();
        let mut reader = match idle {
            Some(reader) => reader,
            None => self.with(|fib| fib.reader())?,
        };
        let (mut keys, mut found) = (vec![A::of_key(0); BURST], [0; BURST]);
        for (number, hops) in hops.chunks_mut(BURST).enumerate() {
            let (keys, found) = (&mut keys[..hops.len()], &mut found[..hops.len()]);
            addresses.read(number * BURST, keys);
            reader.view().lookup_burst(keys, found);
            hops.iter_mut().zip(found).for_each(|(hop, found)| *hop = found.to_ne_bytes());
        }
        free().push(reader);
        Ok(())
    }
}
