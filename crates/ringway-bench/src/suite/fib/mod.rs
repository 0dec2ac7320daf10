//! The suite `fib`: route lookup beside DPDK's and that of Rust crates.
//!
//! | case | what |
//! | --- | --- |
//! | `ipv4-uniform` | addresses from the whole space (IPv6: of 2000::/3) |
//! | `ipv4-covered` | a random host of a random prefix |
//! | `ipv4-sorted` | the same, in order |
//! | `ipv4-repeat` | each address 16 times in a row |
//! | `ipv4-zipf` | by Zipf's law from 1,048,576 covered destinations |
//! | `ipv4-latency` | lookups one by one, each waiting for the one before; ns |
//! | `ipv4-build` | a table of all routes at once; routes per second |
//! | `ipv4-update-trace` | a trace of BGP updates on the full table |
//! | `ipv4-update-random` | withdraw and announce again, one random route after the other |
//! | `ipv4-meanwhile` | lookups while another core does that, in hundredths of the lookups without |
//!
//! and the same for `ipv6-`. Streams have 1,048,576 keys, looked up in bursts of 64 on CPU 1. A run is the
//! fastest pass in its time, since other work on the machine only ever slows one down. Every answer of every
//! run is compared with a hash table for each prefix length ([`Reference`](ringway_fib::Reference)), also
//! after updates. During updates (`meanwhile`) it must be the answer before or after the change. All systems
//! ask for large pages. `linear-reference` is that hash table itself.
//!
//! Tables: the file that `--table` names, or `fib/*.xz` in `$RINGWAY_DATA` or `./data`; else they are
//! [made](ringway_fib::generate). DPDK's `rte_fib` is left out of IPv4 tables with next hops above 32,767, where its entries of 2
//! bytes end.

mod data;
mod dpdk;
mod engine;
mod family;
mod lookups;
mod python;
mod rust;
mod stream;
mod updates;

use std::sync::Arc;

pub use data::Source;

use super::python::Shared;
use super::{Bed, Case};
use data::World;
use rust::Crates;

/// All cases of the suite, in the order in which they are run.
pub fn cases<'a>(bed: Bed<'a>, source: &Source) -> Vec<Case<'a>> {
    let mut cases = of_family::<u32>(bed, source);
    cases.extend(of_family::<u128>(bed, source));
    cases
}

fn of_family<'a, A: Crates>(bed: Bed<'a>, source: &Source) -> Vec<Case<'a>> {
    let world = Arc::new(World::<A>::new(source.clone()));
    let mut cases = lookups::cases(bed, &world);
    cases.extend(updates::cases(bed, &world));
    cases
}

/// Look-ups by scripts of Python: cases of suite `python`.
pub(in crate::suite) fn from_python<'a>(bed: Bed<'a>, source: &Source, scripts: &Shared) -> [Case<'a>; 2] {
    [
        python::case(bed, Arc::new(World::<u32>::new(source.clone())), scripts),
        python::case(bed, Arc::new(World::<u128>::new(source.clone())), scripts),
    ]
}
