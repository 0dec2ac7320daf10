//! Offered rates as shares of the maximum, which is measured first.

use std::time::Duration;

use ringway_engine::Signals;
use ringway_model::fit::median;
use ringway_model::rig::{Bed, Cpus, Length, measure};
use ringway_model::sweep::{Point, Spec, Swept};
use ringway_tester::Fault;

use crate::errors;
use crate::failure::Failure;

/// Runs for the maximum.
const RUNS: u32 = 5;

const LENGTH: Length = Length { warm_up: Duration::from_millis(100), counted: Duration::from_millis(300) };

/// Makes rates of the shares in a sweep of rates.
pub(super) fn find(spec: &mut Spec, signals: &Signals) -> Result<(), Failure> {
    if spec.swept != Swept::Rate {
        return Ok(());
    }
    let most = maximum(spec, signals)
        .map_err(|e| Failure::Other(errors::testers::DEVICE_FAILED, format!("{}: {e}", spec.device)))?;
    for point in &mut spec.points {
        // In hundreds: the maximum is not known more exactly.
        point.offered = point.offered.map(|share| (share * most / 100.0).round().max(1.0) * 100.0);
    }
    spec.check().map_err(|e| Failure::Usage(errors::command::BAD_VALUE, e))
}

/// Takes the rates of a sweep that was measured with the same shares.
pub(super) fn keep(spec: &mut Spec, old: &Spec) {
    if spec.swept == Swept::Rate && old.swept == Swept::Rate && spec.points.len() == old.points.len() {
        spec.points.iter_mut().zip(&old.points).for_each(|(point, old)| point.offered = old.offered);
    }
}

/// Packets a second of a core that does nothing else, by the exact time of the thread.
fn maximum(spec: &Spec, signals: &Signals) -> Result<f64, Fault> {
    let point = Point { offered: None, ..spec.points.first().copied().unwrap_or_default() };
    let [generator, device] = spec.cpus;
    let mut bed = Bed::new(spec.device, spec.backend, point.routes, Cpus { generator, device })?;
    let mut costs = Vec::new();
    for _ in 0..RUNS {
        let run = measure(&mut bed, &point, LENGTH, signals)?;
        costs.extend(run.and_then(|run| run.ns()));
    }
    median(costs)
        .map(|ns| 1e9 / ns)
        .ok_or_else(|| Fault::Failed("nothing came out, so there is no maximum rate".into()))
}
