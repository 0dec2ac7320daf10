//! Cases of lookups, of single ones and of making tables.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use ringway_fib::Isa;

use super::data::World;
use super::dpdk::Dpdk;
use super::engine::{Engine, Made, MakeEngine, Ours};
use super::rust::{Crates, reference};
use super::stream::BURST;
use super::stream::Kind;
use crate::suite::{Bed, Case, Fault, Sample, Unit};

const NOTE: &str = "1,048,576 keys; the fastest pass of each run; every answer was compared";
const REFERENCE_NOTE: &str =
    "1,048,576 keys (linear-reference: 65,536); the fastest pass of each run; every answer was compared";

const BUILD_NOTE: &str =
    "routes of a whole table, made at once; covered keys were looked up and compared after it";

pub(super) fn cases<'a, A: Crates>(bed: Bed<'a>, world: &Arc<World<A>>) -> Vec<Case<'a>> {
    let engines = all::<A>();
    let mut cases: Vec<Case<'a>> = Kind::ALL.map(|kind| of_kind(bed, world, kind, &engines)).into();
    cases.push(latency(world));
    cases.push(build(world, &engines));
    cases
}

/// An engine that is made, and given all routes, when it is used first. It stays for the whole suite.
type Shared<A> = Rc<RefCell<Lazy<A>>>;

pub(super) struct Lazy<A> {
    make: Box<dyn Fn() -> Made<A>>,
    made: Option<Made<A>>,
}

impl<A: Crates> Lazy<A> {
    fn new(make: impl Fn() -> Made<A> + 'static) -> Shared<A> {
        Rc::new(RefCell::new(Self { make: Box::new(make), made: None }))
    }

    /// The engine without routes, or as it was left.
    pub(super) fn bare(&mut self) -> Result<&mut dyn Engine<A>, Fault> {
        let made = self.made.get_or_insert_with(&self.make);
        match made {
            Ok(engine) => Ok(engine.as_mut()),
            Err(fault) => Err(fault.clone()),
        }
    }

    /// The engine with all routes.
    fn full(&mut self, world: &World<A>) -> Result<&mut dyn Engine<A>, Fault> {
        if self.made.is_none() {
            let routes = world.routes()?;
            // One that could not load its routes has the same to say in later cases.
            if let Err(fault) = self.bare()?.load(routes) {
                self.made = Some(Err(fault));
            }
        }
        self.bare()
    }
}

/// All systems, ours first.
fn all<A: Crates>() -> Vec<(&'static str, Shared<A>)> {
    let v4 = A::BITS == 32;
    let dpdk = |avx512| Lazy::new(move || Ok(Box::new(Dpdk::start::<A>(avx512)?) as Box<dyn Engine<A>>));
    let ours = |isa: Option<Isa>| Lazy::new(move || Ok(Box::new(Ours::<A>::new(isa)) as Box<dyn Engine<A>>));
    let mut all = vec![
        ("ringway", ours(None)),
        ("ringway-scalar", ours(Some(Isa::Scalar))),
        (if v4 { "dpdk-rte_fib" } else { "dpdk-rte_fib6" }, dpdk(true)),
        (if v4 { "dpdk-rte_fib-scalar" } else { "dpdk-rte_fib6-scalar" }, dpdk(false)),
    ];
    all.extend(A::crates().into_iter().map(|(name, make): (_, MakeEngine<A>)| (name, Lazy::new(make))));
    all.push(("linear-reference", Lazy::new(reference)));
    all
}

fn of_kind<'a, A: Crates>(
    bed: Bed<'a>,
    world: &Arc<World<A>>,
    kind: Kind,
    engines: &[(&'static str, Shared<A>)],
) -> Case<'a> {
    let case = Case::new(A::CASES[kind as usize], Unit::Mlookups).frame(0).burst(BURST as u32);
    let note = if engines.iter().any(|e| e.0 == "linear-reference") { REFERENCE_NOTE } else { NOTE };
    engines.iter().fold(case.note(note), |case, (name, engine)| {
        let (world, engine) = (world.clone(), engine.clone());
        case.system(name, move || {
            let stream = world.stream(kind)?;
            let mut engine = engine.borrow_mut();
            let engine = engine.full(&world)?;
            let value = engine.lookup(stream, bed.seconds)?;
            Ok(Sample { memory: engine.bytes(), ..Sample::of(value) })
        })
    })
}

fn latency<'a, A: Crates>(world: &Arc<World<A>>) -> Case<'a> {
    let note = "covered keys, one by one: which key is next depends on the answer before; the fastest of 20 passes; every answer was compared";
    let world = world.clone();
    let mut ours: Option<Ours<A>> = None;
    Case::new(A::CASES[5], Unit::Ns).frame(0).note(note).system("ringway", move || {
        if ours.is_none() {
            let mut fresh = Ours::new(None);
            fresh.load(world.routes()?)?;
            ours = Some(fresh);
        }
        let stream = world.stream(Kind::Covered)?;
        ours.as_mut()
            .map_or_else(|| Err(Fault::Failed("no table".into())), |o| o.latency(stream).map(Sample::of))
    })
}

fn build<'a, A: Crates>(world: &Arc<World<A>>, engines: &[(&'static str, Shared<A>)]) -> Case<'a> {
    let case = Case::new(A::CASES[6], Unit::Mupdates).frame(0).note(BUILD_NOTE);
    let measured = engines.iter().filter(|e| !e.0.ends_with("scalar"));
    measured.fold(case, |case, (name, engine)| {
        let (world, engine) = (world.clone(), engine.clone());
        case.system(name, move || {
            let routes = world.routes()?;
            let stream = world.stream(Kind::Covered)?;
            let mut engine = engine.borrow_mut();
            let engine = engine.bare()?;
            let seconds = engine.load(routes)?;
            engine.lookup(stream, 0.0)?;
            Ok(Sample::of(routes.len() as f64 / seconds / 1e6))
        })
    })
}
