//! The families of switches and their ports, open or not.
//!
//! Labels: `switch` and `port` name a port of a switch, `side` is `rx` (what others sent to it) or `tx` (what its user sent).
//! `ringway_switch_frames` and `ringway_switch_drops` are sums over all ports that a switch has and had, so that they never fall
//! while it exists.

use ringway::{Counters, DropReason};

use super::family::{Family, Unit};
use crate::switches::Reading;

/// What is exported of `switches`.
pub(super) fn families(switches: &[Reading]) -> Vec<Family> {
    let (mut whole, mut ports) = (Whole::new(), Ports::new());
    for switch in switches {
        whole.add(switch);
        ports.add(switch);
    }
    whole.families().into_iter().chain(ports.families()).collect()
}

/// A switch.
struct Whole {
    info: Family,
    memory: Family,
    ports: Family,
    frames: Family,
    dropped: Family,
    copies: Family,
}

impl Whole {
    fn new() -> Self {
        let (counter, gauge) = (Family::counter, Family::gauge);
        Self {
            info: Family::info("ringway_switch", "How the switch was made; ageing in seconds, 0 for never"),
            memory: gauge("ringway_switch_memory", "Kernel memory of the switch and its ports")
                .unit(Unit::Bytes),
            ports: gauge("ringway_switch_ports", "Ports that the switch has"),
            frames: counter(
                "ringway_switch_frames",
                "Frames of all ports there are and were: tx in came from their users, rx in were offered to them",
            ),
            dropped: counter("ringway_switch_drops", "Frames of all ports there are and were that were lost"),
            copies: counter(
                "ringway_switch_copies",
                "Copies offered to ports, as their senders counted them",
            ),
        }
    }

    fn add(&mut self, s: &Reading) {
        let name = ("switch", s.name.as_str());
        let [slots, rings, quota] = [s.spec.slots, s.spec.rings, s.spec.quota].map(|n| n.to_string());
        let ageing = s.spec.ageing.as_secs_f64().to_string();
        let module = s.spec.module.to_string();
        let made =
            [("slots", slots), ("rings", rings), ("quota", quota), ("ageing", ageing), ("module", module)];
        let made: Vec<_> = made.iter().map(|(label, value)| (*label, value.as_str())).collect();
        self.info.add(&[&[name], &made[..]].concat(), 1);
        self.memory.add(&[name], s.memory as u64);
        self.ports.add(&[name], s.ports.len() as u64);
        for (side, sum) in [("rx", &s.totals.rx), ("tx", &s.totals.tx)] {
            self.frames.add(&[name, ("side", side), ("dir", "in")], sum.frames_in);
            self.frames.add(&[name, ("side", side), ("dir", "out")], sum.frames_out);
            self.dropped.add(&[name, ("side", side)], sum.dropped);
        }
        self.copies.add(&[name], s.totals.copies);
    }

    fn families(self) -> [Family; 6] {
        [self.info, self.memory, self.ports, self.frames, self.dropped, self.copies]
    }
}

/// The ports of switches.
struct Ports {
    frames: Family,
    bytes: Family,
    drops: Family,
    copies: Family,
    unlearned: Family,
    addresses: Family,
    waiting: Family,
    open: Family,
}

impl Ports {
    fn new() -> Self {
        let (counter, gauge) = (Family::counter, Family::gauge);
        let bytes = counter("ringway_switch_port", "Bytes of the frames that left, without FCS");
        Self {
            frames: counter(
                "ringway_switch_port_frames",
                "Frames: tx in came from the user of the port, out reached a port; rx in were offered, out went into its rings",
            ),
            bytes: bytes.unit(Unit::Bytes),
            drops: counter("ringway_switch_port_drops", "Frames that entered and were lost, by reason"),
            copies: counter(
                "ringway_switch_port_copies",
                "Copies of its frames that were offered to other ports",
            ),
            unlearned: counter(
                "ringway_switch_port_unlearned",
                "Its frames whose source address found no place in the table",
            ),
            addresses: gauge("ringway_switch_port_addresses", "Addresses that are learned of it now"),
            waiting: gauge("ringway_switch_port_waiting", "Slots that wait to be received"),
            open: gauge("ringway_switch_port_open", "Whether a process has it open"),
        }
    }

    fn add(&mut self, s: &Reading) {
        for p in &s.ports {
            let names = [("switch", s.name.as_str()), ("port", p.port.name.as_str())];
            self.count(names, "rx", &p.counters.rx);
            self.count(names, "tx", &p.counters.tx);
            for (family, value) in [
                (&mut self.copies, p.copies),
                (&mut self.unlearned, p.unlearned),
                (&mut self.addresses, p.addresses.into()),
                (&mut self.waiting, p.waiting),
                (&mut self.open, p.port.open.into()),
            ] {
                family.add(&names, value);
            }
        }
    }

    fn count(&mut self, names: [(&'static str, &str); 2], side: &str, c: &Counters) {
        let with = |label, value| [names[0], names[1], ("side", side), (label, value)];
        self.frames.add(&with("dir", "in"), c.frames_in);
        self.frames.add(&with("dir", "out"), c.frames_out);
        self.bytes.add(&with("dir", "out"), c.bytes_out);
        for why in DropReason::ALL {
            self.drops.add(&with("reason", why.name()), c.drops(why));
        }
    }

    fn families(self) -> [Family; 8] {
        [
            self.frames,
            self.bytes,
            self.drops,
            self.copies,
            self.unlearned,
            self.addresses,
            self.waiting,
            self.open,
        ]
    }
}
