//! Where trials take place, and how they are run there.

use crate::suite::bed::{SENDER, receiver};
use crate::suite::{Bed, Case, Fault, Sample};
use ringway_lab::LabError;
use ringway_tester::bed::{RealTestBed, TestBedSpec};
use ringway_tester::temporary;
use ringway_tester::temporary::TemporarySwitch;
use ringway_tester::trial::bed::TestBed;
use ringway_tester::trial::flow::{FlowOrder, Flows};
use ringway_tester::trial::format::Format;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::pollers::Cpus;
use ringway_tester::trial::rate::{MILLISECOND, Rate};
use ringway_tester::trial::result::TrialResult;
use ringway_tester::trial::spec::{TrialSpec, from_seconds};

/// Size of all frames, FCS included.
const SIZE: u32 = 64;

/// How long a trial waits for stragglers.
const WAIT: u64 = 50 * MILLISECOND;

/// A pair of ports with nothing between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Pipe,
    Vale,
    Ebpf,
    Packet,
}

impl Place {
    /// All of them; veths last.
    pub(super) const ALL: [Self; 4] = [Self::Pipe, Self::Vale, Self::Ebpf, Self::Packet];

    /// Name of the system in reports.
    fn system(self) -> &'static str {
        match self {
            Self::Pipe => "ringway-pipe",
            Self::Vale => "ringway-vale",
            Self::Ebpf => "ringway-ebpf",
            Self::Packet => "ringway-packet",
        }
    }

    /// Opens the ports and hands them to `job`.
    pub(super) fn with<T: Send>(self, bed: Bed<'_>, job: Job<'_, T>) -> Result<T, Fault> {
        let nic = |kind: &str| {
            let links = bed.links(&["a"])?;
            let ports = ["a0", "a1"].map(|interface| format!("{kind}:{interface}"));
            links.lab.run(|| Ok::<_, LabError>(opened(ports, job)))?
        };
        match self {
            Self::Pipe => opened(pipe_ends(), job),
            Self::Vale => {
                let switch = TemporarySwitch::with_ports(2, 0)?;
                opened(["p0", "p1"].map(|port| switch.port_name(port)), job)
            }
            Self::Ebpf => nic("ebpf"),
            Self::Packet => nic("packet"),
        }
    }
}

/// What is done with open ports.
pub(super) type Job<'a, T> = &'a (dyn Fn(&mut RealTestBed) -> Result<T, Fault> + Sync);

/// Adds each place to a case.
pub(super) fn everywhere<'a>(
    case: Case<'a>,
    measure: impl Fn(Place) -> Result<Sample, Fault> + Copy + 'a,
) -> Case<'a> {
    over(&Place::ALL, case, measure)
}

/// Adds these places to a case.
pub(super) fn over<'a>(
    places: &[Place],
    case: Case<'a>,
    measure: impl Fn(Place) -> Result<Sample, Fault> + Copy + 'a,
) -> Case<'a> {
    places.iter().fold(case, |case, &place| case.system(place.system(), move || measure(place)))
}

/// Names of the ends of a new pipe.
pub(super) fn pipe_ends() -> [String; 2] {
    let name = temporary::name("tester");
    ['{', '}'].map(|end| format!("pipe:{name}{end}1"))
}

/// Opens these ports and hands them to `job`.
pub(super) fn opened<T>(ports: [String; 2], job: Job<'_, T>) -> Result<T, Fault> {
    job(&mut RealTestBed::open(&spec(ports))?)
}

/// Frames of one flow from the first port to the second.
pub(super) fn spec(ports: [String; 2]) -> TestBedSpec {
    TestBedSpec {
        ports,
        format: Format::new(Flows::new(1, FlowOrder::Sequential, 1)),
        bidirectional: false,
        slots: None,
        cpus: Cpus(vec![SENDER, receiver()]),
        virtual_time: false,
    }
}

/// A trial at `pps` frames a second.
pub(super) fn at(pps: u64, seconds: f64) -> TrialSpec {
    TrialSpec::at(&Mix::fixed(SIZE), Rate::new(pps, 1), from_seconds(seconds), WAIT)
}

/// The same, of which no frame may be missing.
pub(super) fn exactly(pps: u64, seconds: f64) -> TrialSpec {
    let frames = ((pps as f64 * seconds) as u64).max(2);
    TrialSpec::burst(&Mix::fixed(SIZE), Rate::new(pps, 1), frames, WAIT)
}

/// Runs a trial, good or not.
pub(super) fn trial(bed: Bed<'_>, rig: &mut RealTestBed, order: &TrialSpec) -> Result<TrialResult, Fault> {
    let trial = rig.run(order, &mut |_| !bed.signals.stopped())?;
    match trial.rx {
        0 => Err(Fault::Failed("nothing was received".into())),
        _ => Ok(trial),
    }
}

/// Of a trial of some milliseconds: on a busy machine its threads may not run in that time.
#[cfg(test)]
pub(super) fn tried<T>(measure: impl Fn() -> Result<T, Fault>) -> T {
    (0..50).find_map(|_| measure().ok()).unwrap_or_else(|| panic!("{:?}", measure().err()))
}
