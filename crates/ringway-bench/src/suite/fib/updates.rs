//! Cases of updates: how many there can be, and what they do to lookups.

use std::hint::black_box;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ringway_fib::generate::Random;
use ringway_fib::text::Update;
use ringway_fib::{Fib, NextHop, Reader, Reference};

use super::data::{World, broken};
use super::dpdk::Dpdk;
use super::engine::{Engine, MakeEngine, Ours};
use super::rust::Crates;
use super::stream::BURST;
use super::stream::{Kind, Stream};
use crate::suite::bed::{SENDER, receiver};
use crate::suite::{Bed, Case, Fault, Sample, Unit};
use ringway_engine::{Signals, crew};

/// Routes that are withdrawn and announced again.
const RANDOM: usize = 200_000;

const SEED: u64 = 3;

const NOTE: &str = "on a full table made for each run; covered keys were looked up and compared after it";
const MEANWHILE: &str = "covered keys on CPU 1 while CPU 0 withdraws and announces random routes, against none; each answer was that of \
                         before or after the change";

pub(super) fn cases<'a, A: Crates>(bed: Bed<'a>, world: &Arc<World<A>>) -> Vec<Case<'a>> {
    vec![
        updates(world, A::CASES[7], after_trace),
        updates(world, A::CASES[8], after_random),
        meanwhile(bed, world),
    ]
}

/// The changes of a case, and the stream to look up after them.
type Changes<A> = fn(&World<A>) -> Prepared<A>;

type Prepared<A> = Result<(Vec<Update<A>>, Stream<A>), Fault>;

fn after_trace<A: Crates>(world: &World<A>) -> Prepared<A> {
    let updates = world.updates()?.to_vec();
    let mut reference = world.reference()?.clone();
    for &(prefix, next_hop) in &updates {
        match next_hop {
            Some(next_hop) => reference.insert(prefix, next_hop),
            None => reference.withdraw(prefix),
        };
    }
    Ok((updates, world.stream(Kind::Covered)?.after(&reference)))
}

fn after_random<A: Crates>(world: &World<A>) -> Prepared<A> {
    Ok((random(world)?, world.stream(Kind::Covered)?.clone()))
}

fn random<A: Crates>(world: &World<A>) -> Result<Vec<Update<A>>, Fault> {
    let (routes, mut random) = (world.routes()?, Random::new(SEED));
    let pick = |_| {
        let (prefix, next_hop) = routes[random.below(routes.len())];
        [(prefix, None), (prefix, Some(next_hop))]
    };
    Ok((0..RANDOM).flat_map(pick).collect())
}

fn updates<'a, A: Crates>(world: &Arc<World<A>>, name: &'static str, changes: Changes<A>) -> Case<'a> {
    let dpdk = if A::BITS == 32 { "dpdk-rte_fib" } else { "dpdk-rte_fib6" };
    let ours: MakeEngine<A> = || Ok(Box::new(Ours::new(None)));
    let peer: MakeEngine<A> = || Ok(Box::new(Dpdk::start::<A>(true)?));
    let mut systems = vec![("ringway", ours), (dpdk, peer)];
    systems.extend(A::crates());
    let prepared: Arc<OnceLock<Prepared<A>>> = Arc::default();
    let case = Case::new(name, Unit::Mupdates).frame(0).note(NOTE);
    systems.into_iter().fold(case, |case, (name, make)| {
        let (world, prepared) = (world.clone(), prepared.clone());
        let mut engine: Option<Box<dyn Engine<A>>> = None;
        case.system(name, move || {
            let prepared = prepared.get_or_init(|| changes(&world));
            let (changes, stream) = prepared.as_ref().map_err(Clone::clone)?;
            let engine = match &mut engine {
                Some(engine) => engine,
                empty => empty.insert(make()?),
            };
            engine.load(world.routes()?)?;
            let seconds = engine.update(changes)?;
            engine.lookup(stream, 0.0)?;
            Ok(Sample::of(changes.len() as f64 / seconds / 1e6))
        })
    })
}

fn meanwhile<'a, A: Crates>(bed: Bed<'a>, world: &Arc<World<A>>) -> Case<'a> {
    let world = world.clone();
    let case = Case::new(A::CASES[9], Unit::Percent).frame(0).burst(BURST as u32).cores(2).note(MEANWHILE);
    case.system("ringway", move || {
        if receiver() == SENDER {
            return Err(Fault::Unavailable("it needs two CPUs".into()));
        }
        let stream = world.stream(Kind::Covered)?;
        let second = second_best(stream, world.reference()?);
        let mut ours = Ours::new(None);
        ours.load(world.routes()?)?;
        let (fib, reader) = ours.parts()?;
        let period = Duration::from_secs_f64(bed.seconds);
        let changes = random(&world)?;
        let idle = beside(fib, reader, &[], stream, &second, period)?;
        let busy = beside(fib, reader, &changes, stream, &second, period)?;
        Ok(Sample::of(100.0 * busy / idle))
    })
}

/// What each key leads to without the route that it leads to.
fn second_best<A: Crates>(stream: &Stream<A>, reference: &Reference<A>) -> Vec<u16> {
    stream.keys.iter().map(|&key| reference.second(key).map_or(0, NextHop::get)).collect()
}

/// Looks up on one CPU while another one makes the changes, again and again; returns the lookups per second.
fn beside<A: Crates>(
    fib: &mut Fib<A>,
    reader: &mut Reader<A>,
    changes: &[Update<A>],
    stream: &Stream<A>,
    second: &[u16],
    period: Duration,
) -> Result<f64, Fault> {
    let signals = Signals::new();
    crew(&signals, |crew| {
        let writer = crew.start("writer", Some(SENDER), || -> Result<(), Fault> {
            for &(prefix, next_hop) in changes.iter().cycle() {
                match next_hop {
                    Some(next_hop) => fib.insert(prefix, next_hop),
                    None => fib.withdraw(prefix),
                }
                .map_err(broken)?;
                if next_hop.is_some() && signals.stopped() {
                    break;
                }
            }
            Ok(())
        });
        let looker = crew.start("looker", Some(receiver()), || {
            let _over = signals.guard();
            look(reader, stream, second, period)
        });
        let rate = looker.join();
        writer.join().map_err(|e| e.error)?;
        rate.map_err(|e| e.error)
    })
}

fn look<A: Crates>(
    reader: &mut Reader<A>,
    stream: &Stream<A>,
    second: &[u16],
    period: Duration,
) -> Result<f64, Fault> {
    let (start, mut lookups, mut wrong) = (Instant::now(), 0, 0);
    let mut found = [0; BURST];
    while start.elapsed() < period {
        let bursts = stream.keys.chunks(BURST).zip(stream.answers.chunks(BURST).zip(second.chunks(BURST)));
        for (keys, (first, second)) in bursts {
            let found = &mut found[..keys.len()];
            reader.view().lookup_burst(keys, found);
            let right = |((f, a), b): ((&u16, &u16), &u16)| f == a || f == b;
            wrong += found.iter().zip(first).zip(second).filter(|x| !right(*x)).count();
        }
        lookups += stream.keys.len();
    }
    black_box(&found);
    match wrong {
        0 => Ok(lookups as f64 / start.elapsed().as_secs_f64()),
        n => Err(Fault::Failed(format!("{n} answers were right neither before nor after a change"))),
    }
}
