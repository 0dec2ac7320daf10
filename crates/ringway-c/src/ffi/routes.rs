//! Route lookup.

use std::ffi::{c_int, c_void};

use super::{check, exclusive, give, or, several, several_mut, shared, status, store};
use crate::table::{Table, TableReader};

#[unsafe(no_mangle)]
extern "C" fn rw_fib_new(family: c_int, routes: usize, fib: *mut *mut Table) -> c_int {
    status(|| {
        check(fib, "the place for the table")?;
        store(fib, give(Table::new(family, routes)?));
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_fib_free(fib: *mut Table) {
    super::free(fib);
}

#[unsafe(no_mangle)]
extern "C" fn rw_fib_insert(
    fib: *mut Table,
    address: *const c_void,
    prefix_len: u32,
    next_hop: u16,
) -> c_int {
    status(|| {
        let table = exclusive(fib, "the table")?;
        let address = several(address.cast(), table.address_len(), "the address")?;
        table.insert(address, prefix_len, next_hop)?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_fib_remove(fib: *mut Table, address: *const c_void, prefix_len: u32) -> c_int {
    status(|| {
        let table = exclusive(fib, "the table")?;
        let address = several(address.cast(), table.address_len(), "the address")?;
        Ok(table.remove(address, prefix_len)?.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_fib_count(fib: *const Table) -> usize {
    or(0, || Ok(shared(fib, "the table")?.count()))
}

#[unsafe(no_mangle)]
extern "C" fn rw_fib_reader_new(fib: *const Table, reader: *mut *mut TableReader) -> c_int {
    status(|| {
        check(reader, "the place for the reader")?;
        store(reader, give(shared(fib, "the table")?.reader()?));
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_fib_reader_free(reader: *mut TableReader) {
    super::free(reader);
}

#[unsafe(no_mangle)]
extern "C" fn rw_fib_lookup(reader: *mut TableReader, address: *const c_void) -> c_int {
    status(|| {
        let reader = exclusive(reader, "the reader")?;
        let address = several(address.cast(), reader.address_len(), "the address")?;
        Ok(reader.lookup(address).into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_fib_lookup_many(
    reader: *mut TableReader,
    addresses: *const c_void,
    next_hops: *mut u16,
    n: usize,
) -> c_int {
    status(|| {
        let reader = exclusive(reader, "the reader")?;
        let bytes = n.saturating_mul(reader.address_len());
        let addresses = several(addresses.cast(), bytes, "the array of addresses")?;
        reader.lookup_many(addresses, several_mut(next_hops, n, "the array for next hops")?);
        Ok(0)
    })
}
