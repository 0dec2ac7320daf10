//! Keys to look up, and what must be found.

use std::time::Instant;

use ringway_fib::generate::{Random, Zipf};
use ringway_fib::{NextHop, Prefix, Reference};

use super::family::Family;
use crate::suite::Fault;

/// Keys looked up at a time.
pub(super) const BURST: usize = 64;

/// Keys of a stream.
pub(super) const KEYS: usize = 1 << 20;

/// Times that a key comes in a row in a stream of repeats.
const REPEATS: usize = 16;

const SEED: u64 = 2;

/// How keys are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Uniform,
    Covered,
    Sorted,
    Repeat,
    Zipf,
}

impl Kind {
    pub(super) const ALL: [Self; 5] = [Self::Uniform, Self::Covered, Self::Sorted, Self::Repeat, Self::Zipf];
}

/// Keys, and the next hop of each, 0 for none.
#[derive(Debug, Clone)]
pub(super) struct Stream<A> {
    pub(super) keys: Vec<A>,
    pub(super) answers: Vec<u16>,
}

impl<A: Family> Stream<A> {
    pub(super) fn uniform(reference: &Reference<A>) -> Self {
        let mut random = Random::new(SEED);
        Self::of((0..KEYS).map(|_| A::anywhere(random.next_u128())).collect(), reference)
    }

    pub(super) fn covered(routes: &[(Prefix<A>, NextHop)], reference: &Reference<A>) -> Self {
        let mut random = Random::new(SEED);
        let key = |random: &mut Random| {
            let prefix = routes[random.below(routes.len())].0;
            let hosts = u128::MAX.checked_shr(prefix.len().into()).unwrap_or(0);
            A::of_key(prefix.addr().key() | random.next_u128() & hosts)
        };
        Self::of((0..KEYS).map(|_| key(&mut random)).collect(), reference)
    }

    /// The same keys in another order, some of them more often than others.
    pub(super) fn rearranged(&self, kind: Kind) -> Self {
        let mut random = Random::new(SEED);
        let mut order: Vec<usize> = (0..self.keys.len()).collect();
        match kind {
            Kind::Sorted => order.sort_by_key(|&k| self.keys[k]),
            Kind::Repeat => order.iter_mut().enumerate().for_each(|(at, k)| *k = at / REPEATS),
            Kind::Zipf => {
                let zipf = Zipf::new(order.len());
                order.iter_mut().for_each(|k| *k = zipf.draw(&mut random));
            }
            Kind::Uniform | Kind::Covered => {}
        }
        let keys = order.iter().map(|&k| self.keys[k]).collect();
        Self { keys, answers: order.iter().map(|&k| self.answers[k]).collect() }
    }

    /// The same keys after the routes changed.
    pub(super) fn after(&self, reference: &Reference<A>) -> Self {
        Self::of(self.keys.clone(), reference)
    }

    fn of(keys: Vec<A>, reference: &Reference<A>) -> Self {
        let answers = keys.iter().map(|&k| reference.lookup(k).map_or(0, NextHop::get)).collect();
        Self { keys, answers }
    }

    /// Looks up all keys burst by burst, checks each answer, and repeats that without checks for so many seconds; returns millions of
    /// lookups per second in the fastest pass.
    pub(super) fn run(&self, seconds: f64, mut burst: impl FnMut(&[A], &mut [u16])) -> Result<f64, Fault> {
        let mut found = vec![0; self.keys.len()];
        for (keys, found) in self.keys.chunks(BURST).zip(found.chunks_mut(BURST)) {
            burst(keys, found);
        }
        self.check(&found)?;
        let mut next_hops = [0; BURST];
        let (begin, mut best) = (Instant::now(), f64::MAX);
        while best == f64::MAX || begin.elapsed().as_secs_f64() < seconds {
            let start = Instant::now();
            for keys in self.keys.chunks(BURST) {
                burst(keys, &mut next_hops[..keys.len()]);
                std::hint::black_box(&next_hops);
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        Ok(self.rate(best))
    }

    /// Millions of keys per second, of one pass.
    pub(super) fn rate(&self, seconds: f64) -> f64 {
        self.keys.len() as f64 / seconds / 1e6
    }

    /// The first keys, for systems that are slow.
    pub(super) fn head(&self, keys: usize) -> Self {
        let keys = keys.min(self.keys.len());
        Self { keys: self.keys[..keys].to_vec(), answers: self.answers[..keys].to_vec() }
    }

    /// Compares all answers.
    pub(super) fn check(&self, found: &[u16]) -> Result<(), Fault> {
        let wrong = self.answers.iter().zip(found).filter(|(a, b)| a != b).count();
        if wrong == 0 && found.len() == self.keys.len() {
            return Ok(());
        }
        let first = self.answers.iter().zip(found).position(|(a, b)| a != b).unwrap_or(0);
        let (key, answer) = (self.keys[first].text(), self.answers[first]);
        let got = found.get(first).copied().unwrap_or_default();
        Err(Fault::Failed(format!(
            "{wrong} of {} answers are wrong: {key} leads to {answer}, not {got}",
            found.len()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_fib::generate;

    #[test]
    fn streams_are_what_they_say() {
        let routes = generate::table::<u32>(1000, 1);
        let mut reference = Reference::new();
        reference.extend(routes.iter().copied());
        let covered = Stream::covered(&routes, &reference);
        assert!(covered.answers.iter().all(|&a| a != 0));
        assert!(covered.rearranged(Kind::Sorted).keys.is_sorted());
        let repeat = covered.rearranged(Kind::Repeat);
        assert!(repeat.keys.chunks(REPEATS).all(|c| c.iter().all(|k| *k == c[0])));
        assert_ne!(repeat.keys[0], repeat.keys[REPEATS]);
        let look = |keys: &[u32], found: &mut [u16]| {
            found.iter_mut().zip(keys).for_each(|(f, &k)| *f = reference.lookup(k).map_or(0, NextHop::get));
        };
        assert!(covered.head(1000).run(0.0, look).unwrap() > 0.0);
        let e = covered.head(1000).run(0.0, |_, found| found.fill(0)).unwrap_err().to_string();
        assert!(e.starts_with("1000 of 1000 answers are wrong"), "{e}");
    }
}
