//! Rounds over all places.

use std::time::Duration;

use ringway_engine::Signals;
use ringway_tester::Fault;

use super::points::{Cut, hold};
use super::stages::Rounds;
use crate::rig::{Bed, Count, Length, measure};
use crate::sweep::{Point, Run};

/// Times that a disturbed run is repeated.
const REPEATS: u32 = 3;

/// How long packets may take to pass again, in short runs.
const MENDED: u32 = 50;

/// A short run, to see whether packets pass.
const LOOK: Length = Length { warm_up: Duration::ZERO, counted: Duration::from_millis(40) };

/// Measures each place in rounds, so that the differences within a round are of the same state of the machine. After each place the path is made
/// whole again, and shown to be. `tell` hears of each run. A stop ends it, with the whole rounds until then.
///
/// # Errors
/// When packets can't be made to end at a place, or do not pass again.
pub fn run(
    bed: &mut Bed,
    cuts: &[Cut],
    point: &Point,
    (rounds, length): (u32, Length),
    stop: &Signals,
    mut tell: impl FnMut(&Cut, &Run),
) -> Result<Rounds, Fault> {
    let mut all = Rounds::new(cuts);
    for _ in 0..rounds {
        let mut round = Vec::new();
        for cut in cuts {
            let Some(run) = undisturbed(bed, *cut, point, length, stop)? else { return Ok(all) };
            tell(cut, &run);
            let nothing = || Fault::Failed(format!("no packet came as far as {}", cut.name));
            round.push(run.ns().ok_or_else(nothing)?);
        }
        all.push(round);
    }
    all.partial = false;
    Ok(all)
}

/// A run with packets that end at a place. It is repeated when the machine had other work, and when nothing passed: the kernel may lack
/// room for the pages of bursts for a while. `None` after a stop.
fn undisturbed(
    bed: &mut Bed,
    cut: Cut,
    point: &Point,
    length: Length,
    stop: &Signals,
) -> Result<Option<Run>, Fault> {
    let mut last = None;
    for _ in 0..=REPEATS {
        let held = hold(bed.device(), cut)?;
        bed.set_count(Count::Received);
        let run = measure(bed, point, length, stop);
        bed.set_count(Count::Passed);
        held.mend(bed.device())?;
        let Some(run) = run? else { return Ok(None) };
        passes(bed, cut, point, stop)?;
        let sound = run.disturbed().is_none() && run.ns().is_some();
        last = Some(run);
        if sound {
            break;
        }
    }
    Ok(last)
}

/// Shows that packets pass again.
fn passes(bed: &mut Bed, cut: Cut, point: &Point, stop: &Signals) -> Result<(), Fault> {
    for _ in 0..MENDED {
        match measure(bed, point, LOOK, stop)? {
            Some(run) if run.passed == 0 => {}
            _ => return Ok(()),
        }
    }
    Err(Fault::Failed(format!("packets do not pass again after {}", cut.name)))
}
