//! The families of ports and their rings.
//!
//! Labels: `port`, `pid` and `nr` (which of the ports that the process has opened) name a port, `side` (`rx` or `tx`) a
//! direction of it, `ring` (`rx0`, `tx1`) a ring. Frames have `dir`: `in` entered, `out` left.
//!
//! The sides of a port are not always the sums of its rings: an interface does not tell for which of several tx rings it
//! refuses frames. So `ringway_port_*` is the whole account, and `ringway_ring_*` what is known of each ring.

use std::time::UNIX_EPOCH;

use ringway::{Counters, DropReason, OpenPort};

use super::family::{Family, Unit};

/// What is exported of `ports`.
pub(super) fn families(ports: &[OpenPort]) -> Vec<Family> {
    let mut whole = Account::of("ringway_port_frames", "ringway_port", "ringway_port_drops");
    let mut each = Account::of("ringway_ring_frames", "ringway_ring", "ringway_ring_drops");
    let mut work = Work::new();
    let mut about = About::new();
    for port in ports {
        let (pid, nr) = (port.pid.to_string(), port.number.to_string());
        let names = [("port", port.name.as_str()), ("pid", pid.as_str()), ("nr", nr.as_str())];
        about.add(&names, port);
        let sides = [("rx", &port.counters.rx, &port.rx), ("tx", &port.counters.tx, &port.tx)];
        for (side, counters, rings) in sides {
            whole.add(&names, ("side", side), counters);
            for (n, ring) in rings.iter().enumerate() {
                let name = format!("{side}{n}");
                each.add(&names, ("ring", &name), &ring.counters);
                work.add(&with(&names, &[("ring", &name)]), ring);
            }
        }
    }
    about
        .families()
        .into_iter()
        .chain(whole.families())
        .chain(each.families())
        .chain(work.families())
        .collect()
}

type Label<'a> = (&'static str, &'a str);

fn with<'a>(names: &[Label<'a>], more: &[Label<'a>]) -> Vec<Label<'a>> {
    [names, more].concat()
}

/// What a port is.
struct About {
    info: Family,
    opened: Family,
}

impl About {
    fn new() -> Self {
        let opened = Family::gauge("ringway_port_opened_timestamp", "When the port was opened, since 1970");
        Self {
            info: Family::info(
                "ringway_port",
                "What serves the port, and the interface it is on (empty for others, such as pipes)",
            ),
            opened: opened.unit(Unit::Seconds),
        }
    }

    fn add(&mut self, names: &[Label<'_>], port: &OpenPort) {
        let kind = port.backend.split(':').next().unwrap_or_default();
        let (interface, netns) =
            port.interface().map_or_else(Default::default, |i| (i.name, i.netns.to_string()));
        let facts = [
            ("backend", kind),
            ("description", port.backend.as_str()),
            ("interface", interface.as_str()),
            ("netns", netns.as_str()),
        ];
        self.info.add(&with(names, &facts), 1);
        self.opened.add(names, port.opened.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs());
    }

    fn families(self) -> [Family; 2] {
        [self.info, self.opened]
    }
}

/// Frames, bytes and drops, which close: in = out + drops.
struct Account {
    frames: Family,
    bytes: Family,
    drops: Family,
}

impl Account {
    fn of(frames: &'static str, bytes: &'static str, drops: &'static str) -> Self {
        Self {
            frames: Family::counter(
                frames,
                "Frames: rx in came from outside, out went to the program; tx in came from the program, out left",
            ),
            bytes: Family::counter(bytes, "Bytes of the frames that left, without FCS").unit(Unit::Bytes),
            drops: Family::counter(drops, "Frames that entered and were lost, by reason"),
        }
    }

    fn add(&mut self, names: &[Label<'_>], place: Label<'_>, c: &Counters) {
        self.frames.add(&with(names, &[place, ("dir", "in")]), c.frames_in);
        self.frames.add(&with(names, &[place, ("dir", "out")]), c.frames_out);
        self.bytes.add(&with(names, &[place, ("dir", "out")]), c.bytes_out);
        for why in DropReason::ALL {
            self.drops.add(&with(names, &[place, ("reason", why.name())]), c.drops(why));
        }
    }

    fn families(self) -> [Family; 3] {
        [self.frames, self.bytes, self.drops]
    }
}

/// How a ring is worked.
struct Work {
    syncs: Family,
    busy: Family,
    resets: Family,
    wakeups: Family,
    withheld: Family,
    link_changes: Family,
    slots: Family,
    fill: Family,
}

impl Work {
    fn new() -> Self {
        let (counter, gauge) = (Family::counter, Family::gauge);
        Self {
            syncs: counter("ringway_ring_syncs", "Exchanges with the other side"),
            busy: counter(
                "ringway_ring_busy_syncs",
                "Syncs that brought frames into an rx ring, or freed slots of a tx ring",
            ),
            resets: counter(
                "ringway_ring_resets",
                "Times the ring was set up again because its cursors were wrong",
            ),
            wakeups: counter("ringway_ring_wakeups", "Times the doorbell was rung for a sleeping program"),
            withheld: counter(
                "ringway_ring_wakeups_withheld",
                "Times a switch did not ring the doorbell of a sleeping program, as that held senders up for too long",
            ),
            link_changes: counter(
                "ringway_ring_link_changes",
                "Times the link to the peer of a shared-memory port went up or down",
            ),
            slots: gauge("ringway_ring_slots", "Slots of the ring; one stays unused"),
            fill: gauge("ringway_ring_fill", "Slots in use after the last sync"),
        }
    }

    fn add(&mut self, names: &[Label<'_>], ring: &ringway::OpenRing) {
        let c = &ring.counters;
        for (family, value) in [
            (&mut self.syncs, c.syncs),
            (&mut self.busy, c.busy_syncs),
            (&mut self.resets, c.resets),
            (&mut self.wakeups, c.wakeups),
            (&mut self.withheld, c.wakeups_withheld),
            (&mut self.link_changes, c.link_changes),
            (&mut self.slots, ring.slots.into()),
            (&mut self.fill, ring.fill.into()),
        ] {
            family.add(names, value);
        }
    }

    fn families(self) -> [Family; 8] {
        let Self { syncs, busy, resets, wakeups, withheld, link_changes, slots, fill } = self;
        [syncs, busy, resets, wakeups, withheld, link_changes, slots, fill]
    }
}
