//! Counters of a switch, kept by its programs: there also when no process of Ringway lives.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::layout::{Shape, state};
use super::{Switch, SwitchPort};
use crate::error::{Error, Result};
use crate::port::PortCounters;
use crate::stats::{Counters, RingStats};
use crate::sys::bpf;
use crate::sys::mmap::Mmap;

/// What a port sent into its switch and received from it.
///
/// `counters.tx` is what the port's user sent: out are frames that at least one port received. `counters.rx` is what other ports
/// sent to it: in are copies offered, out those that were put into its rings. Over a switch at rest the sum of all
/// [`copies`](Self::copies) is the sum of all `counters.rx.frames_in`.
///
/// For a NIC `counters.tx` is what it received from the wire, and `counters.rx` what was to leave by it: out are frames that its
/// driver took; bytes are those of all frames that the driver was given. `in = out + drops + waiting` at rest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SwitchPortStats {
    /// The port.
    pub port: SwitchPort,
    /// Its frames.
    pub counters: PortCounters,
    /// Copies of its frames that were offered to other ports: one for each receiver.
    pub copies: u64,
    /// Its frames whose source address found no place in the table.
    pub unlearned: u64,
    /// Addresses that are learned of it now.
    pub addresses: u32,
    /// Slots that wait to be received.
    pub waiting: u64,
}

impl Switch {
    /// Counters of all ports, by number.
    #[must_use]
    pub fn stats(&self) -> Vec<SwitchPortStats> {
        self.ports().into_iter().filter_map(|p| self.stats_of(p)).collect()
    }

    fn stats_of(&self, port: SwitchPort) -> Option<SwitchPortStats> {
        let mem = self.state_of(port.number)?;
        let shape = self.shape;
        let sum = |at: usize| (0..shape.rings).map(|r| mem.u64(Shape::tx_state(r) + at).load(Relaxed)).sum();
        let waiting = |r: u32| {
            let at = shape.rx_state(r);
            let word = |ofs: usize| mem.u64(at + ofs).load(Relaxed);
            word(state::RX_PUB).saturating_sub(word(state::RX_HEAD)).min(shape.slots.into())
        };
        let mut stats = SwitchPortStats {
            counters: counters(&mem, shape),
            copies: sum(state::TX_COPIES),
            unlearned: sum(state::TX_UNLEARNED),
            addresses: self.learned(port.number),
            waiting: (0..shape.rings).map(waiting).sum(),
            port,
        };
        if stats.port.nic.is_some() {
            self.add_nic_counts(&mut stats);
        }
        Some(stats)
    }
}

/// A copy of a port's state, for those who may only read it: such maps can't be mapped.
pub(crate) fn snapshot(state: BorrowedFd<'_>, shape: Shape, on: &str) -> Result<Arc<Mmap>> {
    let mut bytes = vec![0u8; shape.state()];
    let io = |e| Error::io(on, "reading the port's state failed", e);
    bpf::lookup(state, 0, &mut bytes).map_err(io)?;
    let copy = Mmap::anonymous(bytes.len()).map_err(io)?;
    copy.write(0, &bytes);
    Ok(Arc::new(copy))
}

/// The counters in a port's state.
pub(crate) fn counters(mem: &Arc<Mmap>, shape: Shape) -> PortCounters {
    let mut sum = PortCounters::default();
    for r in 0..shape.rings {
        sum.tx.add(&tx_ring(mem, r));
        sum.rx.add(&rx_ring(mem, shape, r));
    }
    sum
}

pub(crate) fn tx_ring(mem: &Arc<Mmap>, ring: u32) -> Counters {
    RingStats::new(mem.clone(), Shape::tx_state(ring) + state::TX_COUNTERS).read()
}

pub(crate) fn rx_ring(mem: &Arc<Mmap>, shape: Shape, ring: u32) -> Counters {
    RingStats::new(mem.clone(), shape.rx_state(ring) + state::RX_COUNTERS).read()
}
