//! Counters of a switch. Its programs keep them, also when no process of Ringway lives.
//!
//! The counts of a port stay when the port goes away. [`Switch::retire_counts`] adds them up in entry 0 of the table of ports,
//! which is no port, all at once or not at all. So the sums over all ports there ever were close.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

use super::port::SwitchPort;
use super::switch::Switch;
use crate::layout::{ctl, retired, state};
use crate::shape::Shape;
use ringway_count::{Counters, DropReason, PortCounters, RingStats};
use ringway_sys::mmap::Mmap;

/// What a port sent into its switch and received from it.
///
/// All count from when the port was made. `counters.tx` is what the port's user sent: out are frames that at least one port
/// received. `counters.rx` is what other ports sent to it: in are copies offered, out are copies put into its rings. Over a
/// switch at rest the sum of all [`copies`](Self::copies) and [`mirrored`](Self::mirrored) is the sum of all
/// `counters.rx.frames_in`.
///
/// For a NIC `counters.tx` is what it received from the wire, and `counters.rx` what was to leave by it. Out are frames that its
/// driver took, and the bytes are of all frames that the driver was given. `in = out + drops + waiting` at rest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SwitchPortStats {
    /// The port.
    pub port: SwitchPort,
    /// Its frames.
    pub counters: PortCounters,
    /// Copies of its frames that were offered to other ports: one for each receiver.
    pub copies: u64,
    /// Copies of what it sent and received that were offered to its mirror.
    pub mirrored: u64,
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

    /// Sums over the ports there are, whose counters `ports` has, and the ports that went away.
    #[must_use]
    pub fn totals(&self, ports: &[SwitchPortStats]) -> SwitchTotals {
        let mut all = self.retired_totals();
        for p in ports {
            all.add(&p.counters, p.copies + p.mirrored);
        }
        all
    }

    /// What ports that went away had counted.
    fn retired_totals(&self) -> SwitchTotals {
        let mut all = SwitchTotals::default();
        loop {
            let kept = self.retired_word().load(Acquire);
            for (i, sum) in all.words().into_iter().enumerate() {
                *sum = self.retired_sum(kept, i).load(Relaxed);
            }
            // The place read is written again only after the other one became valid.
            fence(Acquire);
            if self.retired_word().load(Relaxed) == kept {
                return all;
            }
        }
    }

    fn retired_word(&self) -> &AtomicU64 {
        self.ports.u64(retired::VALID)
    }

    /// A word of the sums that are valid with this word.
    fn retired_sum(&self, kept: u64, word: usize) -> &AtomicU64 {
        self.ports.u64(retired::SUMS[kept as usize & 1] + 8 * word)
    }

    /// Makes `place` the valid sums, `port` being the last one in them.
    fn commit_retired_totals(&self, place: u64, port: u32) {
        let next = (self.retired_word().load(Relaxed) >> 32).wrapping_add(1) << 32;
        self.retired_word().store(next | u64::from(port) << 8 | place & 1, Release);
    }

    /// Notes that the counts of no port that is going are in the sums.
    pub(super) fn clear_last_retired(&self) {
        self.commit_retired_totals(self.retired_word().load(Relaxed), 0);
    }

    /// Whether the counts of a port that is going are in the sums.
    pub(super) fn is_last_retired(&self, port: u32) -> bool {
        self.retired_word().load(Relaxed) >> 8 & 0xff == u64::from(port)
    }

    /// Keeps the counts of a port that goes away. Its maps must be out of reach of programs, and the switch locked. Frames that
    /// wait for a NIC are lost with it. The sums change with one word: a process that is killed here has added all or nothing.
    pub(super) fn retire_counts(&self, port: &SwitchPortStats) {
        let (mut all, mut counters) = (self.retired_totals(), port.counters);
        if port.port.nic.is_some() {
            counters.rx.add_drops(DropReason::DeviceRefused, port.waiting);
        }
        all.add(&counters, port.copies + port.mirrored);
        let place = self.retired_word().load(Relaxed) ^ 1;
        for (i, sum) in all.words().into_iter().enumerate() {
            self.retired_sum(place, i).store(*sum, Relaxed);
        }
        self.commit_retired_totals(place, port.port.number);
    }

    pub(super) fn stats_of(&self, port: SwitchPort) -> Option<SwitchPortStats> {
        let mem = self.state_of(port.number)?;
        let shape = self.shape;
        let sum = |at: usize| (0..shape.rings).map(|r| mem.u64(Shape::tx_state(r) + at).load(Relaxed)).sum();
        let mut stats = SwitchPortStats {
            counters: counters(&mem, shape),
            copies: copies(&mem, shape),
            mirrored: mem.u64(state::MIRRORED).load(Relaxed),
            unlearned: sum(state::TX_UNLEARNED),
            addresses: self.learned(port.number),
            waiting: self.waiting(port.number, &mem),
            port,
        };
        if stats.port.nic.is_some() {
            self.add_nic_counts(&mut stats);
        }
        Some(stats)
    }

    /// Slots of the rx rings that wait to be received.
    fn waiting(&self, port: u32, mem: &Mmap) -> u64 {
        let (shape, ctl_len) = (self.shape, self.shape.region().ctl(2 * self.shape.rings));
        let ring = self.region_of(port, ctl_len);
        let one = |r: u32| {
            let word = |ofs: usize| mem.u64(shape.rx_state(r) + ofs).load(Relaxed);
            let published = word(state::RX_PUB);
            // Programs ask the receiver how far it came when they need room; its answer counts as far as it can be true.
            let most = published.saturating_sub(word(state::RX_HEAD)).min(shape.slots.into());
            let at = shape.region().ctl(shape.rings + r) + ctl::HEAD;
            let head = ring.as_ref().map(|m| m.u32(at).load(Relaxed)).filter(|&head| head < shape.slots);
            let left = head.map(|head| u64::from((published as u32).wrapping_sub(head) & (shape.slots - 1)));
            left.filter(|&n| n <= most).unwrap_or(most)
        };
        (0..shape.rings).map(one).sum()
    }
}

/// Sums over all ports that a switch has and had, for as long as it exists.
///
/// Over a switch at rest `tx` and `rx` close, and `copies` is `rx.frames_in`. Each frame that was offered to a port was put into its
/// rings, or is a named drop of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SwitchTotals {
    /// Frames that ports sent into the switch.
    pub tx: SwitchSum,
    /// Copies that were offered to ports.
    pub rx: SwitchSum,
    /// The same, as their senders counted them.
    pub copies: u64,
}

/// One direction of all ports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SwitchSum {
    /// Frames that entered.
    pub frames_in: u64,
    /// Frames that left.
    pub frames_out: u64,
    /// Frames lost, for any reason.
    pub dropped: u64,
}

impl SwitchTotals {
    fn add(&mut self, c: &PortCounters, copies: u64) {
        for (sum, c) in [(&mut self.tx, &c.tx), (&mut self.rx, &c.rx)] {
            sum.frames_in += c.frames_in;
            sum.frames_out += c.frames_out;
            sum.dropped += c.dropped();
        }
        self.copies += copies;
    }

    fn words(&mut self) -> [&mut u64; retired::WORDS] {
        let (t, r) = (&mut self.tx, &mut self.rx);
        [
            &mut t.frames_in,
            &mut t.frames_out,
            &mut t.dropped,
            &mut r.frames_in,
            &mut r.frames_out,
            &mut r.dropped,
            &mut self.copies,
        ]
    }
}

/// Copies of its frames that a port offered to others.
fn copies(mem: &Arc<Mmap>, shape: Shape) -> u64 {
    (0..shape.rings).map(|r| mem.u64(Shape::tx_state(r) + state::TX_COPIES).load(Relaxed)).sum()
}

/// The counters in a port's state.
fn counters(mem: &Arc<Mmap>, shape: Shape) -> PortCounters {
    let mut sum = PortCounters::default();
    for r in 0..shape.rings {
        sum.tx.add(&tx_ring(mem, r));
        sum.rx.add(&rx_ring(mem, shape, r));
    }
    sum
}

fn tx_ring(mem: &Arc<Mmap>, ring: u32) -> Counters {
    RingStats::new(mem.clone(), Shape::tx_state(ring) + state::TX_COUNTERS).read()
}

fn rx_ring(mem: &Arc<Mmap>, shape: Shape, ring: u32) -> Counters {
    RingStats::new(mem.clone(), shape.rx_state(ring) + state::RX_COUNTERS).read()
}
