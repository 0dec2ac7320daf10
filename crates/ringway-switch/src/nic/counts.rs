//! What the programs of NICs counted.

use std::sync::atomic::Ordering::Relaxed;

use super::edge;
use super::shared::Shared;
use crate::admin::port::SwitchPort;
use crate::admin::stats::SwitchPortStats;
use crate::admin::switch::Switch;
use crate::layout::{PORTS, nic as at, port, state};
use crate::nic::NicPath;
use crate::pins;
use ringway_count::{DropReason, RingStats};
use ringway_sys::{net, veth};

impl Switch {
    /// Bytes of the maps that NICs share: counters for each CPU, and tables of interfaces.
    pub(crate) fn nic_bytes(&self) -> usize {
        let cpus = libbpf_rs::num_possible_cpus().unwrap_or(1);
        let made = pins::outs(&self.dir).is_dir();
        let all = at::MAX as usize * (72 + 8 * edge::ENTRIES as usize);
        usize::from(made) * (PORTS as usize * (cpus * at::SIZE + 16) + all)
    }

    /// Puts what the programs of a NIC counted in: what came from the wire, what went to it.
    pub(crate) fn add_nic_counts(&self, stats: &mut SwitchPortStats) {
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
        let dropped = self.dropped_by(&stats.port);
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

    /// Frames that the interface of a member by tc was to send and dropped since it is one. An interface that is gone can't be asked: then
    /// it is what it said last, and what it dropped after that counts as sent.
    fn dropped_by(&self, p: &SwitchPort) -> u64 {
        let Some(index) = p.nic.filter(|_| p.path == Some(NicPath::Tc)) else { return 0 };
        let Some(state) = self.state_of(p.number) else { return 0 };
        let netns = net::find_netns(self.nic_word(p.number, port::NETNS));
        let now = netns.and_then(|netns| net::in_netns(&netns, || veth::tx_dropped(index)).ok());
        let seen = state.u64(state::DROPPED_SEEN);
        let before = seen.fetch_max(now.unwrap_or(0), Relaxed);
        before.max(now.unwrap_or(0)).saturating_sub(state.u64(state::DROPPED_BEFORE).load(Relaxed))
    }
}
