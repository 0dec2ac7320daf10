//! `stages`, `stages-clock`: what the stages of our router in the kernel cost, in two ways that know nothing of each other.

use std::rc::Rc;

use ringway_router::kernel::StopAfter;

use super::plan::{BURST, EGRESS, INGRESS};
use super::run::{flood, spawn};
use super::world::{Place, World};
use super::xdp;
use crate::peers::{Peer, PeerKind, Traffic};
use crate::suite::bed::receiver;
use crate::suite::report::{Report, Row};
use crate::suite::{Bed, Case, Fault, Sample, Unit};

/// A stage and where it begins and ends.
type Stage = (&'static str, StopAfter, StopAfter);

/// Those inside the program, and all of them together.
const INSIDE: [Stage; 4] = [
    ("ringway-check", StopAfter::Received, StopAfter::Checked),
    ("ringway-lookup", StopAfter::Checked, StopAfter::Found),
    ("ringway-rewrite", StopAfter::Found, StopAfter::Written),
    ("ringway-program", StopAfter::Received, StopAfter::Written),
];

/// The last one: instead of being dropped, frames are redirected, and dropped by the sink.
const SEND: Stage = ("ringway-send", StopAfter::Written, StopAfter::Whole);

/// Floods until one is undisturbed.
const TRIES: u32 = 5;

/// How far apart both ways may be, in hundredths.
const APART: f64 = 15.0;

const RATES: &str = "differences of the time for a packet with the router cut off at two points: frames are dropped there. receive: generator, veth and drop, \
                     without router; send: redirect, the next link and the sink there. The noise of both rates is in each. A processor goes on while a lookup waits for memory, \
                     so the wait shows where the answer is needed: in rewrite";

const CLOCK: &str = "differences of the time that the kernel sees the same programs run, which ends before frames are dropped or sent";

/// Both cases for the flows of an index in [`FLOWS`](super::world::FLOWS).
pub(super) fn cases<'a>(
    bed: Bed<'a>,
    world: &Rc<World>,
    flows: usize,
    variant: &'static str,
) -> [Case<'a>; 2] {
    let new = |name, note| Case::new(name, Unit::Ns).variant(variant).burst(BURST).note(note);
    let stage = |case: Case<'a>, (name, from, to): Stage, by: By| {
        let world = Rc::clone(world);
        case.system(name, move || {
            let before = time(bed, &world, flows, from, by)?;
            Ok(Sample::of(time(bed, &world, flows, to, by)? - before))
        })
    };
    let first = Rc::clone(world);
    let rates = new("stages", RATES).system("ringway-receive", move || {
        time(bed, &first, flows, StopAfter::Received, By::Rate).map(Sample::of)
    });
    let rates = INSIDE.into_iter().chain([SEND]).fold(rates, |case, of| stage(case, of, By::Rate));
    let clock = INSIDE.into_iter().fold(new("stages-clock", CLOCK), |case, of| stage(case, of, By::Clock));
    [rates, clock]
}

/// How a packet is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// By the rate of the generator, which waits for each.
    Rate,
    /// By the kernel's clock around the program.
    Clock,
}

/// Nanoseconds for a packet that ends at `stop`.
fn time(bed: Bed<'_>, world: &World, flows: usize, stop: StopAfter, by: By) -> Result<f64, Fault> {
    bed.lab()?; // root and tools
    let (place, flows) = (world.place()?, world.flows(flows)?);
    let _router = xdp::attach(place.ours()?, place, stop)?;
    let _sink = spawn(place, &["sink", EGRESS[0].outside, EGRESS[1].outside], receiver())?;
    let clock = (by == By::Clock).then(|| {
        let args = ["clock", INGRESS.router];
        Peer::spawn(PeerKind::L3, args, Some(place.router.name()), Some(receiver()))
    });
    let clock = clock.transpose()?;
    let sent = undisturbed(bed, place, &flows.file.to_string_lossy())?;
    let timed = match clock {
        Some(clock) => *clock.stop()?.traffic().unwrap_or(&Traffic::default()),
        None => sent,
    };
    match timed.pps() {
        pps if pps > 0.0 => Ok(1e9 / pps),
        _ => Err(Fault::Failed("nothing was timed".into())),
    }
}

/// A flood of which no link dropped a frame. Else the generator did not wait for each: it was taken off its core just then.
fn undisturbed(bed: Bed<'_>, place: &Place, file: &str) -> Result<Traffic, Fault> {
    for _ in 0..TRIES {
        let before = place.dropped()?;
        let sent = flood(bed, place, file)?;
        if place.dropped()? == before {
            return Ok(sent);
        }
    }
    Err(Fault::Failed("links drop frames: the machine is too busy to time packets".into()))
}

/// Whether both ways tell the same of each stage: one line for each that both have measured.
///
/// Stages of a few nanoseconds are no longer than the scatter of rates. So a stage may differ more than it
/// should, but no more than the runs of each do among themselves: the text says so.
pub fn agreement(report: &Report) -> Vec<String> {
    let clock = |row: &Row| {
        let same = |r: &&Row| r.case == "stages-clock" && r.variant == row.variant && r.system == row.system;
        report.rows.iter().find(same).cloned()
    };
    let of_rates = report.rows.iter().filter(|r| r.case == "stages");
    of_rates.filter_map(|row| Some(compared(row, &clock(row)?))).collect()
}

fn compared(rate: &Row, clock: &Row) -> String {
    let apart = 100.0 * (rate.median - clock.median).abs() / clock.median.abs().max(f64::MIN_POSITIVE);
    let scatter = rate.min <= clock.max && clock.min <= rate.max;
    let verdict = match apart <= APART {
        true => format!("within {APART:.0} %"),
        false if scatter => format!("more than {APART:.0} %, but within what runs scatter by"),
        false => format!("more than {APART:.0} %"),
    };
    let Row { variant, system, median, .. } = rate;
    let clock = clock.median;
    format!(
        "{variant}: {system} {median:.1} ns by rates, {clock:.1} ns by the clock: {apart:.0} % apart, {verdict}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Options, run};
    use ringway_lab::Conditions;

    #[test]
    fn stages_are_compared() {
        let case = |name, values: [[f64; 3]; 3]| {
            let systems = ["ringway-check", "ringway-lookup", "ringway-rewrite"];
            systems.into_iter().zip(values).fold(
                Case::new(name, Unit::Ns).variant("v"),
                |case, (system, values)| {
                    let mut values = values.into_iter();
                    case.system(system, move || Ok(Sample::of(values.next().unwrap())))
                },
            )
        };
        let cases = vec![
            case("stages", [[11.0; 3], [3.0, 4.0, 5.0], [20.0; 3]]),
            case("stages-clock", [[10.0; 3], [1.0, 2.0, 3.0], [10.0; 3]]),
        ];
        let options = Options { runs: 3, ..Options::default() };
        let report = run("l3", cases, &options, Conditions::default(), |_| ());
        assert_eq!(
            agreement(&report),
            [
                "v: ringway-check 11.0 ns by rates, 10.0 ns by the clock: 10 % apart, within 15 %",
                "v: ringway-lookup 4.0 ns by rates, 2.0 ns by the clock: 100 % apart, more than 15 %, but within what runs scatter by",
                "v: ringway-rewrite 20.0 ns by rates, 10.0 ns by the clock: 100 % apart, more than 15 %",
            ]
        );
    }
}
