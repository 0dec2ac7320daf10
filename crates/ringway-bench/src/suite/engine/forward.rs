//! `forward`: frames that come in by a port, meet a thread of a program, and leave again.
//!
//! ```text
//! null:   an endless source                  the program's threads count
//! pipe    a generator at the other end       it counts what comes back
//! switch  a generator at another port        it counts what comes back
//! veth    flood -> a0|a1 -> b0|b1 -> sink    the sink counts
//! ```

use std::process;
use std::sync::{Mutex, PoisonError};

use ringway::{Buf, Port};
use ringway_engine::Engine;
use ringway_lab::LabError;
use ringway_tester::temporary::TemporarySwitch;

use super::reflect::{bare, by_engine, by_rings, engine};
use super::threads::{Worker, during, rate};
use crate::suite::bed::{SENDER, receiver};
use crate::suite::io::{Kind, forward as veths, tx};
use crate::suite::loops;
use crate::suite::{Bed, Case, Fault, Sample, Unit};

/// Frames that are taken of a ring at once, where a case says nothing else.
pub(super) const BURST: u32 = 256;

/// How the variants over ports that cost nothing begin.
pub(super) const NULL: &str = "null:, ";

/// Bursts for which the rate over `null:` is shown.
const BURSTS: [u32; 5] = [1, 4, 16, 64, BURST];

const NOTE: &str = "frames received and sent again with their addresses exchanged. The engine's I/O thread is alone on CPU 1, the program's \
                    threads and the generator share CPU 0; ringway: one thread on CPU 1 has the rings and no engine. burst: frames that are \
                    taken of a ring at once; a burst of the engine has 64 at most";

/// Where frames come from and go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Null,
    Pipe,
    Switch,
    Veth,
}

/// Who sends frames back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Engine { threads: usize, caches: bool },
    Rings,
}

const VARIANTS: [(Place, [(usize, &str); 3]); 4] = [
    (Place::Null, [(1, "null:, 1 thread"), (2, "null:, 2 threads"), (4, "null:, 4 threads")]),
    (Place::Pipe, [(1, "pipe, 1 thread"), (2, "pipe, 2 threads"), (4, "pipe, 4 threads")]),
    (Place::Switch, [(1, "switch, 1 thread"), (2, "switch, 2 threads"), (4, "switch, 4 threads")]),
    (Place::Veth, [(1, "veth, 1 thread"), (2, "veth, 2 threads"), (4, "veth, 4 threads")]),
];

pub(super) fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    let of_place = |(place, variants): (Place, [(usize, &'static str); 3])| {
        variants.map(|(threads, name)| {
            let bursts =
                if place == Place::Null && threads == 1 { &BURSTS[..] } else { &BURSTS[BURSTS.len() - 1..] };
            bursts.iter().map(move |&burst| case(bed, place, threads, name, burst))
        })
    };
    VARIANTS.into_iter().flat_map(of_place).flatten().collect()
}

fn case<'a>(bed: Bed<'a>, place: Place, threads: usize, name: &'static str, burst: u32) -> Case<'a> {
    let measure = move |by| move || measure(bed, place, by, burst);
    let case = Case::new("forward", Unit::Mpps)
        .variant(name)
        .burst(burst)
        .cores(2)
        .note(NOTE)
        .system("ringway-engine", measure(By::Engine { threads, caches: true }))
        .system("ringway-engine-uncached", measure(By::Engine { threads, caches: false }));
    // Rings belong to one thread.
    if threads == 1 { case.system("ringway", measure(By::Rings)) } else { case }
}

fn measure(bed: Bed<'_>, place: Place, by: By, burst: u32) -> Result<Sample, Fault> {
    match place {
        Place::Null => on(bed, by, "null:60".into(), burst, None),
        Place::Pipe => {
            let [near, far] = ['{', '}'].map(|end| format!("pipe:engine{}{end}1", process::id()));
            on(bed, by, near, burst, Some(Port::open(&far)?))
        }
        Place::Switch => {
            let mut switch = TemporarySwitch::with_ports(2, 1)?;
            let near = switch.port_name("p1");
            let far = switch.ports.pop();
            on(bed, by, near, burst, far)
        }
        Place::Veth => between_veths(bed, by, burst),
    }
}

/// Who sends back, with the ports open.
enum Opened {
    Engine(Engine),
    Rings(Mutex<(Vec<Port>, Option<Buf>)>),
}

impl Opened {
    fn open(by: By, names: &[String], burst: u32) -> Result<Self, Fault> {
        Ok(match by {
            By::Engine { caches, .. } => Self::Engine(engine(names, burst, caches)?),
            By::Rings => Self::Rings(Mutex::new(bare(names)?)),
        })
    }

    fn work(&self, worker: &Worker<'_>, burst: u32) -> Result<(), Fault> {
        match self {
            Self::Engine(engine) => by_engine(worker, engine),
            Self::Rings(rings) => {
                let (ports, spare) = &mut *rings.lock().unwrap_or_else(PoisonError::into_inner);
                by_rings(worker, ports, spare, burst)
            }
        }
    }
}

impl By {
    /// The CPUs of the program's threads.
    fn cpus(self) -> Vec<usize> {
        match self {
            Self::Engine { threads, .. } => vec![SENDER; threads],
            Self::Rings => vec![receiver()],
        }
    }
}

/// The rate at which threads send back what comes in by one port. A generator at its other end counts what comes back;
/// without one the threads count.
fn on(bed: Bed<'_>, by: By, name: String, burst: u32, far: Option<Port>) -> Result<Sample, Fault> {
    let opened = Opened::open(by, &[name], burst)?;
    let mut cpus = by.cpus();
    let threads = cpus.len();
    let Some(far) = far else {
        return rate(bed, &cpus, 0..threads, |worker| opened.work(worker, burst));
    };
    cpus.push(SENDER);
    let far = Mutex::new(far);
    rate(bed, &cpus, threads..threads + 1, |worker| match worker.at == threads {
        true => generate(worker, &mut far.lock().unwrap_or_else(PoisonError::into_inner)),
        false => opened.work(worker, burst),
    })
}

/// Sends without end, and counts what comes back.
fn generate(worker: &Worker<'_>, port: &mut Port) -> Result<(), Fault> {
    let mut sequence = 0;
    worker.repeat(|| {
        loops::fill(&mut port.tx[0], BURST, &mut sequence);
        port.tx[0].sync()?;
        port.rx[0].sync()?;
        Ok(loops::drain(&mut port.rx[0]) as usize)
    })
}

/// The rate at which threads bring a flood from one veth to another, as a sink at the far end sees it.
fn between_veths(bed: Bed<'_>, by: By, burst: u32) -> Result<Sample, Fault> {
    let links = veths::links(bed)?;
    let sink = veths::sink(&links, Kind::Auto.sink(burst))?;
    let names = ["a1", "b0"].map(|interface| Kind::Auto.port(interface));
    // Its threads begin in the namespace of the one that makes them.
    let opened = links.lab.run(|| Ok::<_, LabError>(Opened::open(by, &names, burst)))??;
    during(bed, &by.cpus(), |worker| opened.work(worker, burst), |_| veths::flood(bed))?;
    tx::arrived(sink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::engine::threads::tests::counted;
    use ringway_engine::Signals;

    #[test]
    fn frames_come_back_by_each_way() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let bed = Bed::new(&lab, 0.1, &signals);
        for by in
            [By::Engine { threads: 2, caches: true }, By::Engine { threads: 1, caches: false }, By::Rings]
        {
            for place in [Place::Null, Place::Pipe] {
                assert!(counted(|bed| measure(bed, place, by, BURST)) > 0.0, "{place:?}, {by:?}");
            }
        }
        let gap = measure(bed, Place::Veth, By::Rings, BURST);
        assert!(matches!(gap, Err(Fault::Unavailable(_))), "{gap:?}");
    }

    #[test]
    fn each_case_has_a_variant_of_its_own() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let cases = cases(Bed::new(&lab, 0.1, &signals));
        let mut names: Vec<_> = cases.iter().map(|case| (case.variant, case.burst)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!((cases.len(), names.len()), (16, 16));
    }
}
