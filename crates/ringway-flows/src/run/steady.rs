//! The times of a plan that are measured.

use crate::code::{Bundle, Kind, Load, What};

/// Whether a load starts an attack.
pub(super) fn is_attack(bundle: &Bundle, load: &Load) -> bool {
    match load.what {
        What::Flow(flow) => bundle.flows.get(flow as usize).is_some_and(|flow| flow.kind == Kind::Attack),
        What::Mix(_) => false,
    }
}

/// When the last phase of a load ends, in ns of the run.
pub(super) fn end_of(load: &Load) -> u64 {
    load.phases.iter().fold(load.start, |sum, phase| sum.saturating_add(phase.length))
}

/// Each phase of a load with its start and end.
pub(super) fn placed(load: &Load) -> impl Iterator<Item = (u64, u64, &crate::code::Phase)> {
    load.phases.iter().scan(load.start, |at, phase| {
        let start = *at;
        *at = at.saturating_add(phase.length);
        Some((start, *at, phase))
    })
}

/// The times, from start to end in ns, at which a load of stories holds its level and none changes it. In a plan of attacks alone the attacks
/// count.
///
/// ```
/// use ringway_flows::{code::Bundle, run::steady};
///
/// assert!(steady::spans(&Bundle::default()).is_empty());
/// ```
pub fn spans(bundle: &Bundle) -> Vec<(u64, u64)> {
    let loads = || bundle.plan.loads.iter();
    let only_attacks = loads().all(|load| is_attack(bundle, load));
    let counted: Vec<&Load> = loads().filter(|load| only_attacks || !is_attack(bundle, load)).collect();
    let phases = || counted.iter().flat_map(|load| placed(load));
    let mut edges: Vec<u64> = phases().flat_map(|(start, end, _)| [start, end]).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for pair in edges.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let mut here = phases().filter(|(start, end, _)| *start <= from && to <= *end).peekable();
        if here.peek().is_none() || !here.all(|(_, _, phase)| phase.steady) {
            continue;
        }
        match spans.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ => spans.push((from, to)),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{Phase, Spacing, Unit};

    fn load(start: u64, phases: &[(u64, u64, u64)]) -> Load {
        let phase = |&(from, to, length): &(u64, u64, u64)| Phase { from, to, length, steady: from == to };
        let phases = phases.iter().map(phase).collect();
        Load { what: What::Mix(0), unit: Unit::Flows, start, phases, spacing: Spacing::Even }
    }

    fn spans_of(loads: Vec<Load>) -> Vec<(u64, u64)> {
        let mut bundle = Bundle::default();
        bundle.plan.loads = loads;
        spans(&bundle)
    }

    #[test]
    fn ramps_of_any_load_are_left_out() {
        assert_eq!(spans_of(vec![load(5, &[(0, 9, 10), (9, 9, 20), (9, 9, 5)])]), [(15, 40)]);
        let two = vec![load(0, &[(0, 9, 10), (9, 9, 90)]), load(50, &[(0, 5, 10), (5, 5, 20)])];
        assert_eq!(spans_of(two), [(10, 50), (60, 100)]);
        assert_eq!(spans_of(vec![load(0, &[(1, 2, 10)])]), []);
    }
}
