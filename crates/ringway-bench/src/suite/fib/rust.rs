//! Tables of Rust crates, and the slow and obvious one.

use std::hint::black_box;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Instant;

use prefix_trie::PrefixMap;
use ringway_fib::text::Update;
use ringway_fib::{NextHop, Prefix, Reference, Walk};
use treebitmap::IpLookupTable;

use super::engine::{Engine, MakeEngine};
use super::family::Family;
use super::stream::Stream;
use crate::suite::Fault;
use crate::suite::bed::receiver;
use crate::suite::duo::alone;

/// Keys for the table that is only there to check the others.
const FEW_KEYS: usize = 1 << 16;

/// A map from prefixes.
trait Map<A>: Default + Send + 'static {
    /// Keys that it can look up in reasonable time.
    const KEYS: usize = usize::MAX;

    fn put(&mut self, prefix: Prefix<A>, next_hop: u16);
    fn take(&mut self, prefix: Prefix<A>);
    fn longest(&self, addr: A) -> u16;
}

/// Any map as an engine.
struct Maps<M>(M);

impl<A: Family, M: Map<A> + Sync> Engine<A> for Maps<M> {
    fn load(&mut self, routes: &[(Prefix<A>, NextHop)]) -> Result<f64, Fault> {
        self.0 = M::default();
        let map = &mut self.0;
        alone(None, receiver(), || {
            let start = Instant::now();
            routes.iter().for_each(|&(prefix, next_hop)| map.put(prefix, next_hop.get()));
            Ok(start.elapsed().as_secs_f64())
        })
    }

    fn lookup(&mut self, stream: &Stream<A>, seconds: f64) -> Result<f64, Fault> {
        let map = &self.0;
        let burst = |keys: &[A], found: &mut [u16]| {
            found.iter_mut().zip(keys).for_each(|(found, &key)| *found = map.longest(key));
        };
        alone(None, receiver(), || match M::KEYS {
            usize::MAX => stream.run(seconds, burst),
            few => stream.head(few).run(seconds, burst),
        })
    }

    fn update(&mut self, changes: &[Update<A>]) -> Result<f64, Fault> {
        let map = &mut self.0;
        alone(None, receiver(), || {
            let start = Instant::now();
            for &(prefix, next_hop) in changes {
                match next_hop {
                    Some(next_hop) => map.put(prefix, next_hop.get()),
                    None => map.take(prefix),
                }
            }
            black_box(&map);
            Ok(start.elapsed().as_secs_f64())
        })
    }
}

macro_rules! maps {
    ($addr:ty, $ip:ty) => {
        impl Map<$addr> for PrefixMap<($addr, u8), u16> {
            fn put(&mut self, prefix: Prefix<$addr>, next_hop: u16) {
                self.insert((prefix.addr(), prefix.len()), next_hop);
            }

            fn take(&mut self, prefix: Prefix<$addr>) {
                self.remove(&(prefix.addr(), prefix.len()));
            }

            fn longest(&self, addr: $addr) -> u16 {
                self.get_lpm(&(addr, <$addr>::BITS as u8)).map_or(0, |(_, next_hop)| *next_hop)
            }
        }

        impl Map<$addr> for Bitmap<$ip> {
            fn put(&mut self, prefix: Prefix<$addr>, next_hop: u16) {
                self.0.insert(prefix.addr().into(), prefix.len().into(), next_hop);
            }

            fn take(&mut self, prefix: Prefix<$addr>) {
                self.0.remove(prefix.addr().into(), prefix.len().into());
            }

            fn longest(&self, addr: $addr) -> u16 {
                self.0.longest_match(addr.into()).map_or(0, |(_, _, next_hop)| *next_hop)
            }
        }
    };
}

maps!(u32, Ipv4Addr);
maps!(u128, Ipv6Addr);

/// The crate's table has no `Default`.
struct Bitmap<I: treebitmap::address::Address>(IpLookupTable<I, u16>);

impl<I: treebitmap::address::Address> Default for Bitmap<I> {
    fn default() -> Self {
        Self(IpLookupTable::new())
    }
}

impl<A: Walk> Map<A> for Reference<A> {
    const KEYS: usize = FEW_KEYS;

    fn put(&mut self, prefix: Prefix<A>, next_hop: u16) {
        self.extend(NextHop::new(next_hop).map(|n| (prefix, n)));
    }

    fn take(&mut self, prefix: Prefix<A>) {
        self.withdraw(prefix);
    }

    fn longest(&self, addr: A) -> u16 {
        self.lookup(addr).map_or(0, NextHop::get)
    }
}

/// The slow and obvious table as an engine.
pub(super) fn reference<A: Family>() -> Result<Box<dyn Engine<A>>, Fault> {
    Ok(Box::new(Maps(Reference::<A>::new())))
}

fn make<A: Family, M: Map<A> + Sync>() -> Result<Box<dyn Engine<A>>, Fault> {
    Ok(Box::new(Maps(M::default())))
}

/// A family of addresses with tables of Rust crates.
pub(super) trait Crates: Family {
    /// The tables, by name.
    fn crates() -> Vec<(&'static str, MakeEngine<Self>)>;
}

impl Crates for u32 {
    fn crates() -> Vec<(&'static str, MakeEngine<Self>)> {
        vec![
            ("prefix-trie", make::<Self, PrefixMap<(Self, u8), u16>>),
            ("treebitmap", make::<Self, Bitmap<Ipv4Addr>>),
        ]
    }
}

impl Crates for u128 {
    fn crates() -> Vec<(&'static str, MakeEngine<Self>)> {
        vec![
            ("prefix-trie", make::<Self, PrefixMap<(Self, u8), u16>>),
            ("treebitmap", make::<Self, Bitmap<Ipv6Addr>>),
        ]
    }
}
