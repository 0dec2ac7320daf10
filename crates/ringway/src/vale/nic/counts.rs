//! What the programs of NICs counted.

use std::sync::atomic::Ordering::Relaxed;

use super::edge;
use super::shared::Shared;
use crate::stats::{DropReason, RingStats};
use crate::vale::layout::{PORTS, nic as at, state};
use crate::vale::stats::SwitchPortStats;
use crate::vale::{Switch, pins};

impl Switch {
    /// Bytes of the maps that NICs share: counters for each CPU, and tables of interfaces.
    pub(in crate::vale) fn nic_bytes(&self) -> usize {
        let cpus = libbpf_rs::num_possible_cpus().unwrap_or(1);
        let made = pins::outs(&self.dir).is_dir();
        let all = at::MAX as usize * (72 + 8 * edge::ENTRIES as usize);
        usize::from(made) * (PORTS as usize * (cpus * at::SIZE + 16) + all)
    }

    /// Puts what the programs of a NIC counted in: what came from the wire, what went to it.
    pub(in crate::vale) fn add_nic_counts(&self, stats: &mut SwitchPortStats) {
        let sum = Shared::open(&self.dir, &self.name).and_then(|s| s.sum(stats.port.number, &self.name));
        let Ok(sum) = sum else { return };
        let word = |at: usize| sum.u64(at).load(Relaxed);
        let tx = &mut stats.counters.tx;
        tx.add(&RingStats::new(sum.clone(), 0).read());
        // What took the crossing and did not come to its end was cut off by a queue.
        let lost = word(at::CROSSED).saturating_sub(tx.frames_in - word(at::DIRECT).min(tx.frames_in));
        tx.frames_in += lost;
        tx.add_drops(DropReason::DeviceFull, lost);
        stats.copies += word(at::COPIES);
        stats.unlearned += word(at::UNLEARNED);
        let rx = &mut stats.counters.rx;
        rx.frames_in += word(at::OFFERED);
        let before =
            self.state_of(stats.port.number).map_or(0, |s| s.u64(state::DROPPED_BEFORE).load(Relaxed));
        let dropped = self.dropped_by(&stats.port).saturating_sub(before);
        let sent = word(at::SENT).min(word(at::HANDED));
        rx.frames_out = sent.saturating_sub(dropped + word(at::LOST));
        rx.bytes_out = word(at::BYTES);
        for why in DropReason::ALL {
            rx.add_drops(why, word(at::EDGE + 8 * why as usize));
        }
        let lost = word(at::HANDED) - rx.frames_out;
        // The kernel calls refused also what a clone's NIC was not to get.
        let full = (word(at::FULL).saturating_sub(word(at::WITHHELD)) + dropped).min(lost);
        rx.add_drops(DropReason::DeviceFull, full);
        rx.add_drops(DropReason::DeviceRefused, lost - full);
    }
}
