//! What the machine costs: an instruction, and all of a flow's.

use ringway_flows::run::report::Report;

use super::memory;
use super::story::{self, Kind};
use crate::suite::{Bed, Case, Fault, Sample, Unit};

/// Turns of the loop that each end of a flow of `busy` goes through: ten instructions each.
const TURNS: u32 = 1000;

/// A question and an answer, and between them a loop that does nothing but compute.
const BUSY: &str = r#"
flow busy(turns) {
  udp q = inside -> outside : 7  timeout 5 s
  q > "a"
  repeat turns as i { check i * 3 < 1000000 }
  q < "b"
}
"#;

const INSTRUCTION: &str = "less is better. Mean over a loop of arithmetic, comparisons and jumps: the time of flows with 1000 turns of it, \
                           less the time of the same with one";

const SHARE: &str = "less is better. Instructions of a flow, at the time of one as above, in the time of a flow over rings in memory. What a \
                     message instruction makes the transport do is not the machine's";

pub(super) fn cases(bed: Bed<'_>, concurrent: u32) -> Vec<Case<'_>> {
    let share = |variant, kind| {
        Case::new("vm", Unit::Percent)
            .variant(variant)
            .frame(0)
            .note(SHARE)
            .system("ringway-memory", move || share(bed, kind, concurrent))
    };
    vec![
        Case::new("vm", Unit::Ns)
            .variant("an instruction")
            .frame(0)
            .note(INSTRUCTION)
            .system("ringway-memory", move || instruction(bed, concurrent).map(Sample::of)),
        share("share of ftp", Kind::Ftp),
        share("share of http-short", Kind::HttpShort),
    ]
}

/// The mean cost of a flow.
#[derive(Debug, Clone, Copy)]
struct Cost {
    ns: f64,
    instructions: f64,
}

impl Cost {
    fn of(report: &Report) -> Result<Self, Fault> {
        let total = &report.total;
        if total.flows_per_second == 0.0 || total.complete != total.started {
            return Err(Fault::Failed(format!(
                "{} of {} flows were complete",
                total.complete, total.started
            )));
        }
        let instructions = report.transport.get("instructions").copied().unwrap_or_default();
        Ok(Self {
            ns: 1e9 / total.flows_per_second,
            instructions: instructions as f64 / total.complete as f64,
        })
    }
}

/// Nanoseconds of an instruction.
fn instruction(bed: Bed<'_>, concurrent: u32) -> Result<f64, Fault> {
    let cost = |turns| {
        let starts = format!("busy(turns = {turns})");
        Cost::of(&memory::run(bed, story::bundle(BUSY, &starts, concurrent, bed.seconds / 2.0)?)?)
    };
    let (one, all) = (cost(1)?, cost(TURNS)?);
    Ok((all.ns - one.ns) / (all.instructions - one.instructions))
}

/// Percent of a flow's time.
fn share(bed: Bed<'_>, kind: Kind, concurrent: u32) -> Result<Sample, Fault> {
    let ns = instruction(bed, concurrent)?;
    let flow = Cost::of(&memory::run(bed, kind.bundle(concurrent, bed.seconds)?)?)?;
    Ok(Sample::of(100.0 * ns * flow.instructions / flow.ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_engine::Signals;
    use ringway_lab::LabError;

    #[test]
    fn a_loop_has_its_instructions() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let bed = Bed::new(&lab, 0.05, &signals);
        // The thread may be kept from running in the measured time.
        let tried = |measure: &dyn Fn() -> Result<Cost, Fault>| (0..20).find_map(|_| measure().ok()).unwrap();
        let cost = |turns| {
            let starts = format!("busy(turns = {turns})");
            tried(&|| Cost::of(&memory::run(bed, story::bundle(BUSY, &starts, 4, 0.05)?)?))
        };
        let (one, all) = (cost(1), cost(TURNS));
        let more = all.instructions - one.instructions;
        // Both ends, ten instructions a turn; a program that used up its budget goes on later.
        assert!((19_000.0..21_000.0).contains(&more), "{one:?} {all:?}");
        assert!((0..20).any(|_| share(bed, Kind::HttpShort, 16).is_ok_and(|share| share.value.is_finite())));
    }
}
