//! What can be measured: a table, by whatever means.

use ringway_fib::text::Update;
use ringway_fib::{Fib, Isa, Limits, NextHop, Prefix, Reader, Walk};

use super::data::broken;
use super::family::Family;
use super::stream::Stream;
use crate::suite::Fault;
use crate::suite::bed::receiver;
use crate::suite::duo::alone;

/// An engine, or why there is none.
pub(super) type Made<A> = Result<Box<dyn Engine<A>>, Fault>;

/// Makes an engine without routes.
pub(super) type MakeEngine<A> = fn() -> Made<A>;

/// A table and how it is used at its best. Lookups and updates are timed on CPU 1.
pub(super) trait Engine<A> {
    /// Makes a new table of all routes; returns the seconds it took.
    fn load(&mut self, routes: &[(Prefix<A>, NextHop)]) -> Result<f64, Fault>;

    /// Checks all answers, then measures: millions of lookups per second.
    fn lookup(&mut self, stream: &Stream<A>, seconds: f64) -> Result<f64, Fault>;

    /// Applies changes one by one; returns the seconds it took.
    fn update(&mut self, changes: &[Update<A>]) -> Result<f64, Fault>;

    /// Bytes that lookups may touch, if that is known.
    fn bytes(&self) -> Option<u64> {
        None
    }
}

/// Ours.
#[derive(Debug)]
pub(super) struct Ours<A: Walk> {
    /// `None` for what the table chooses.
    isa: Option<Isa>,
    table: Option<(Fib<A>, Reader<A>)>,
}

impl<A: Family> Ours<A> {
    pub(super) fn new(isa: Option<Isa>) -> Self {
        Self { isa, table: None }
    }

    fn table(&mut self) -> Result<&mut (Fib<A>, Reader<A>), Fault> {
        self.table.as_mut().ok_or_else(|| Fault::Failed("no routes were loaded".into()))
    }

    /// Checks all answers of single lookups, then measures: nanoseconds for one that waits for the one before.
    pub(super) fn latency(&mut self, stream: &Stream<A>) -> Result<f64, Fault> {
        let (_, reader) = self.table()?;
        alone(None, receiver(), || {
            let view = reader.view();
            let one = |key: A| view.lookup(key).map_or(0, NextHop::get);
            stream.check(&stream.keys.iter().map(|&key| one(key)).collect::<Vec<_>>())?;
            let mut best = f64::MAX;
            for _ in 0..20 {
                let (start, mut next) = (std::time::Instant::now(), 0);
                for pair in stream.keys.windows(2) {
                    next = usize::from(one(pair[next]) & 1); // which key is next depends on the answer
                }
                std::hint::black_box(next);
                best = best.min(start.elapsed().as_secs_f64());
            }
            Ok(best * 1e9 / (stream.keys.len() - 1) as f64)
        })
    }

    /// The table as its owner holds it, and a reader.
    pub(super) fn parts(&mut self) -> Result<(&mut Fib<A>, &mut Reader<A>), Fault> {
        self.table().map(|(fib, reader)| (fib, reader))
    }
}

impl<A: Family> Engine<A> for Ours<A> {
    fn load(&mut self, routes: &[(Prefix<A>, NextHop)]) -> Result<f64, Fault> {
        self.table = None;
        let isa = self.isa;
        let (seconds, table) = alone(None, receiver(), || {
            let start = std::time::Instant::now();
            let fib = Fib::build(Limits::for_routes(routes.len()), routes.iter().copied()).map_err(broken)?;
            let seconds = start.elapsed().as_secs_f64();
            let reader = fib.reader().map_err(broken)?;
            let reader = match isa {
                Some(isa) => reader.with_isa(isa),
                None => reader,
            };
            Ok((seconds, (fib, reader)))
        })?;
        self.table = Some(table);
        Ok(seconds)
    }

    fn lookup(&mut self, stream: &Stream<A>, seconds: f64) -> Result<f64, Fault> {
        let (_, reader) = self.table()?;
        alone(None, receiver(), || stream.run(seconds, |keys, found| reader.view().lookup_burst(keys, found)))
    }

    fn update(&mut self, changes: &[Update<A>]) -> Result<f64, Fault> {
        let (fib, _) = self.table()?;
        alone(None, receiver(), || {
            let start = std::time::Instant::now();
            for &(prefix, next_hop) in changes {
                match next_hop {
                    Some(next_hop) => fib.insert(prefix, next_hop),
                    None => fib.withdraw(prefix),
                }
                .map_err(broken)?;
            }
            Ok(start.elapsed().as_secs_f64())
        })
    }

    fn bytes(&self) -> Option<u64> {
        self.table.as_ref().map(|(fib, _)| fib.usage().spread as u64)
    }
}
