//! Which instructions are the fastest here.
//!
//! It is measured: wide loads from many places (gathers) are fast on some processors. On others they are slower than one load
//! after the other.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::generate::{self, Random};
use super::{Fib, FibError, Isa, Limits, Reader, Walk};

/// Addresses that are looked up, in bursts.
const KEYS: usize = 8192;
const BURST: usize = 64;

/// Passes over them with each kind of instructions. The fastest one counts, as other work on the machine only slows one down.
const PASSES: usize = 5;

const SEED: u64 = 4;

impl<A: Walk> Fib<A> {
    /// Registers a reader, to look up while this table changes.
    ///
    /// The first call of a process measures which instructions are the fastest for bursts. It takes some 50 ms, on a made-up table.
    ///
    /// # Errors
    /// [`FibError::Readers`] when there are [`READERS`](super::READERS).
    pub fn reader(&self) -> Result<Reader<A>, FibError> {
        self.reader_by(if A::BITS == 32 { fastest4() } else { fastest6() })
    }
}

/// The fastest instructions for IPv4 bursts: measured once, which takes some 30 ms.
fn fastest4() -> Isa {
    static CHOSEN: OnceLock<Isa> = OnceLock::new();
    fastest::<u32>(&CHOSEN, 120_000)
}

/// The fastest instructions for IPv6 bursts, where only AVX-512 makes a difference.
fn fastest6() -> Isa {
    static CHOSEN: OnceLock<Isa> = OnceLock::new();
    if Isa::best() < Isa::Avx512 { Isa::best() } else { fastest::<u128>(&CHOSEN, 40_000) }
}

/// The instructions that look a made-up table of so many routes up the fastest. The first call measures.
fn fastest<A: Walk>(chosen: &OnceLock<Isa>, routes: usize) -> Isa {
    *chosen.get_or_init(|| match Isa::available()[..] {
        [only] => only,
        _ => measured::<A>(routes).unwrap_or(Isa::Scalar),
    })
}

/// `None` when there is no memory for the table.
fn measured<A: Walk>(routes: usize) -> Option<Isa> {
    let routes = generate::table::<A>(routes, SEED);
    let mut random = Random::new(SEED);
    let mut host = || {
        let prefix = routes[random.below(routes.len())].0;
        A::of_key(prefix.addr().key() | random.next_u128() >> prefix.len().min(127))
    };
    let keys: Vec<A> = (0..KEYS).map(|_| host()).collect();
    let fib = Fib::build(Limits::default(), routes.iter().copied()).ok()?;
    let readers = Isa::available().into_iter().map(|isa| Some((Duration::MAX, fib.reader_by(isa).ok()?)));
    let mut readers: Vec<_> = readers.collect::<Option<_>>()?;
    for _ in 0..PASSES {
        for (best, reader) in &mut readers {
            *best = pass(reader, &keys).min(*best);
        }
    }
    readers.into_iter().min_by_key(|r| r.0).map(|(_, reader)| reader.isa())
}

fn pass<A: Walk>(reader: &mut Reader<A>, keys: &[A]) -> Duration {
    let (start, mut next_hops) = (Instant::now(), [0; BURST]);
    for keys in keys.chunks(BURST) {
        reader.view().lookup_burst(keys, &mut next_hops[..keys.len()]);
        std::hint::black_box(&next_hops);
    }
    start.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_is_there_and_stays() {
        let chosen = OnceLock::new();
        let isa = fastest::<u32>(&chosen, 1000);
        assert!(Isa::available().contains(&isa));
        assert_eq!(fastest::<u32>(&chosen, 1000), isa);
        assert!(measured::<u128>(1000).is_some_and(|isa| Isa::available().contains(&isa)));
    }
}
