//! The loop test: each backend passes frames over a link made for it.

use ringway::OpenOptions;
use ringway::probe::Check;
use ringway_engine::{Trip, trip};
use ringway_lab::{Lab, LabError, is_root};

/// Frames that each backend passes.
const FRAMES: u64 = 10_000;

/// The backends, the ids of their findings and what these are called.
const BACKENDS: [(&str, &str, &str); 3] = [
    ("ebpf", "loop-ebpf", "loop test of ebpf"),
    ("xdp", "loop-xdp", "loop test of xdp"),
    ("packet", "loop-packet", "loop test of packet"),
];

/// Passes frames between the ends of a veth in a private network namespace, by each backend.
pub(super) fn checks() -> Vec<Check> {
    BACKENDS.map(|(kind, id, what)| check(kind, Check::new(id, what))).into()
}

fn check(kind: &str, check: Check) -> Check {
    match pass(kind) {
        Ok(t) if t.intact == FRAMES && t.wrong == 0 => {
            check.ok(format!("{FRAMES} frames arrived unchanged and in order in {:.0} ms", t.ns as f64 / 1e6))
        }
        Ok(t) => check.missing(
            format!("{} of {FRAMES} frames arrived unchanged and in order, {} others", t.intact, t.wrong),
            "that should not be: please report it with the output of `ringway doctor`",
        ),
        Err(Stopped::Port(e)) => check.judge(Err(e)),
        Err(Stopped::Lab(e)) if is_root() => check.missing(e.to_string(), "see the findings above"),
        Err(Stopped::Lab(e)) => check.missing(e.to_string(), "run as root, or see the findings above"),
    }
}

/// Why there was no trip.
enum Stopped {
    Lab(LabError),
    Port(ringway::Error),
}

impl From<LabError> for Stopped {
    fn from(e: LabError) -> Self {
        Self::Lab(e)
    }
}

impl From<ringway::Error> for Stopped {
    fn from(e: ringway::Error) -> Self {
        Self::Port(e)
    }
}

fn pass(kind: &str) -> Result<Trip, Stopped> {
    let lab = Lab::new()?;
    lab.veth("a0", "a1")?;
    lab.run(|| {
        let [mut a, mut b] = OpenOptions::new().open_all([&format!("{kind}:a0"), &format!("{kind}:a1")])?;
        Ok(trip(&mut a, &mut b, FRAMES)?)
    })
}
