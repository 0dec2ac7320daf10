//! Counters of rings that no port of Ringway counts: of pipes, monitors, and rings that gather or stand alone. `ringway stats` lists them
//! with the ports that are open.

use std::sync::Arc;

use ringway_count::{Registration, RingStats};
use ringway_sys::error::Result;

use crate::ledger::{PortKind, PortRecord};
use crate::numbers::flag;
use crate::plan::{Plan, RingPlan, Service};
use crate::region::Region;

/// What a binding counts itself.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// By the numbers of rings.
    rings: Vec<(u32, RingStats)>,
    /// Keeps them listed.
    _registration: Option<Arc<Registration>>,
}

impl Tally {
    /// For the rings of a binding that Ringway's ports don't count.
    ///
    /// # Errors
    /// When there is no memory for the counters.
    pub(crate) fn of(plan: &Plan, region: &Region, binding: u32) -> Result<Self> {
        let counted = |rings: &[RingPlan]| -> Vec<RingPlan> {
            rings.iter().filter(|ring| !matches!(ring.service, Service::Served { .. })).copied().collect()
        };
        let (tx, rx) = (counted(&plan.tx), counted(&plan.rx));
        let Some(first) = tx.first().or(rx.first()) else { return Ok(Self::default()) };
        let ports = region.ledger.binding(binding).facts().ports;
        let port = ports.into_iter().flatten().map(|port| region.ledger.port(port)).next_back();
        let name = port.map_or_else(String::new, |port| name(&port, plan.flags));
        let registration = Registration::new(&name, tx.len() as u32, rx.len() as u32)?;
        registration.describe(first.slots, "netmap: rings of a program written for netmap");
        let tx = (0..).zip(&tx).map(|(k, ring)| (ring.number, registration.tx(k)));
        let rx = (0..).zip(&rx).map(|(k, ring)| (ring.number, registration.rx(k)));
        Ok(Self { rings: tx.chain(rx).collect(), _registration: Some(registration) })
    }

    /// The counters of a ring.
    #[inline]
    pub(crate) fn ring(&self, number: u32) -> Option<&RingStats> {
        self.rings.iter().find(|(n, _)| *n == number).map(|(_, stats)| stats)
    }
}

/// What the rings are listed as: the name that a program opens.
fn name(port: &PortRecord<'_>, flags: u64) -> String {
    let name = port.name();
    let Some(watched) = name.strip_prefix("monitor of ").filter(|_| port.kind() == PortKind::Monitor) else {
        return format!("netmap:{name}");
    };
    let letters = [(flag::ZCOPY_MON, 'z'), (flag::MONITOR_TX, 't'), (flag::MONITOR_RX, 'r')];
    let letters: String = letters.iter().filter(|(flag, _)| flags & flag != 0).map(|(_, c)| c).collect();
    format!("netmap:{watched}/{letters}")
}
