//! What a run found, as a sample.

use ringway_flows::run::report::{EndReport, Report};
use ringway_flows::shard::Failure;

use crate::suite::{Fault, FlowCounts, REASONS, Sample};

/// The rate in the steady state, and what failed in the whole run.
pub(super) fn sample(report: &Report) -> Result<Sample, Fault> {
    counted(report.total.flows_per_second, || {
        let flows = FlowCounts {
            packets: report.rates.packets_in,
            retransmitted: report.transport.get("retransmitted").copied().unwrap_or_default(),
            failed: failed(report),
        };
        Sample { flows: Some(flows), ..Sample::of(report.total.flows_per_second) }
    })
}

/// Fails unless a run was good for anything.
pub(super) fn counted(rate: f64, of: impl FnOnce() -> Sample) -> Result<Sample, Fault> {
    if rate > 0.0 { Ok(of()) } else { Err(Fault::Failed("no flow was complete".into())) }
}

fn failed(report: &Report) -> [u64; REASONS.len()] {
    let mut failed = [0; REASONS.len()];
    let of = |end: &EndReport, why: Failure| end.failed.get(why.name()).copied().unwrap_or_default();
    for flow in &report.flows {
        for why in Failure::ALL {
            failed[why as usize] += of(&flow.client, why) + of(&flow.server, why);
        }
        failed[Failure::ALL.len()] += flow.client.active.max(flow.server.active);
    }
    failed
}
