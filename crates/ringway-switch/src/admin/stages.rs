//! What the stages of a switch's bursts cost, counted while somebody watches (bpf/switch/stages.h). Interfaces count single frames
//! (bpf/nic/stages.h).

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::switch::Switch;
use crate::layout::port as at;
use ringway_bpf::layout::nic;
use ringway_bpf::layout::switch::{numbers, stage, stages};
use ringway_count::{MAX_STAGES, StageCounts, TIMED_ONE_IN};
use ringway_sys::time::monotonic_ns;

const _: () = assert!(stage::STAGES as usize <= MAX_STAGES);
const _: () = assert!(numbers::STAGES_EVERY == TIMED_ONE_IN);

impl Switch {
    /// The stages of a burst: to check its frames, learn and look up; then to reserve, copy, publish and wake.
    pub const STAGES: [&str; stage::STAGES as usize] = ["decide", "deliver"];

    /// Of the frames that come in by an interface on one CPU, one in so many is timed.
    pub const INTERFACES_TIME_ONE_IN: u32 = nic::numbers::WIRE_STAGES_EVERY;

    /// Has the ports of programs count what their bursts cost, for so long from now on, or longer when another watcher asked for
    /// that. A port that is made later, or changed, counts from the next call on.
    pub fn watch_stages(&self, time: Duration) {
        let until = end_of(time);
        for base in self.bases_of_programs() {
            self.ports.u64(base + at::STAGES + stages::UNTIL).fetch_max(until, Relaxed);
            self.ports.u32(base + at::FEATURES).fetch_or(at::WATCHED, Relaxed);
        }
    }

    /// Has interfaces count what frames cost that come in by them, in the same way. They begin with the kernel's next tick.
    pub fn watch_interface_stages(&self, time: Duration) {
        let until = end_of(time);
        for base in self.bases_of_interfaces() {
            self.ports.u64(base + at::STAGES + stages::UNTIL).fetch_max(until, Relaxed);
        }
    }

    /// Whether the switch has interfaces.
    #[must_use]
    pub fn has_interfaces(&self) -> bool {
        self.bases_of_interfaces().next().is_some()
    }

    /// Ports that count, or will find out with one of their next bursts that nobody watches any more.
    #[must_use]
    pub fn watched_ports(&self) -> usize {
        let features = |base| self.ports.u32(base + at::FEATURES).load(Relaxed);
        self.bases_of_programs().filter(|base| features(*base) & at::WATCHED != 0).count()
    }

    /// What the stages cost so far, in nanoseconds, summed over the ports of programs there are.
    #[must_use]
    pub fn stages(&self) -> StageCounts {
        self.sum(self.bases_of_programs())
    }

    /// The same over the interfaces there are. Each frame is a batch, and so is each super-frame of several.
    #[must_use]
    pub fn interface_stages(&self) -> StageCounts {
        self.sum(self.bases_of_interfaces())
    }

    fn sum(&self, bases: impl Iterator<Item = usize>) -> StageCounts {
        let mut sum = StageCounts::default();
        for base in bases {
            let word = |of| self.ports.u64(base + at::STAGES + of).load(Relaxed);
            let mut time = [0; MAX_STAGES];
            for (n, ns) in time[..Self::STAGES.len()].iter_mut().enumerate() {
                *ns = word(stages::NS + 8 * n);
            }
            sum.add(&StageCounts { batches: word(stages::BURSTS), packets: word(stages::FRAMES), time });
        }
        sum
    }

    /// Where the entries of ports lie that programs send by.
    fn bases_of_programs(&self) -> impl Iterator<Item = usize> {
        let ports = self.ports().into_iter().filter(|port| port.nic.is_none() && !port.host);
        ports.map(|port| port.number as usize * at::SIZE)
    }

    /// The same of interfaces.
    fn bases_of_interfaces(&self) -> impl Iterator<Item = usize> {
        let ports = self.ports().into_iter().filter(|port| port.nic.is_some() && !port.host);
        ports.map(|port| port.number as usize * at::SIZE)
    }
}

/// When a lease of so long ends that begins now.
fn end_of(lease: Duration) -> u64 {
    monotonic_ns().saturating_add(u64::try_from(lease.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_client::Client;
    use crate::{Module, PortAccess, PortConf, StormLimits, SwitchSpec};

    const LONG: Duration = Duration::from_secs(600);

    /// A switch with the ports a and b, which is deleted also when the test fails.
    struct Bed(Option<Switch>);

    impl Bed {
        fn new(letter: char, module: Module) -> Option<Self> {
            if !ringway_sys::is_root() {
                eprintln!("SKIP: switches need root (eBPF); run these tests with sudo");
                return None;
            }
            let name = format!("vale-{letter}{}", std::process::id() % 1_000_000);
            let switch = Switch::create(&name, &SwitchSpec { module, ..Default::default() }).unwrap();
            for port in ["a", "b"] {
                switch.add_port(port, &PortAccess::default()).unwrap();
            }
            Some(Self(Some(switch)))
        }

        fn switch(&self) -> &Switch {
            self.0.as_ref().unwrap()
        }
    }

    impl Drop for Bed {
        fn drop(&mut self) {
            let deleted = self.0.take().unwrap().delete();
            assert!(std::thread::panicking() || deleted.is_ok(), "{deleted:?}");
        }
    }

    fn frame(n: u8) -> [u8; 60] {
        let mut frame = [n; 60];
        frame[..6].fill(0xff);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, n]);
        frame
    }

    /// Sends so many times 17 frames from a to b, one by one. They arrive whether they are timed or not.
    fn exchange((a, b): &mut (Client, Client), times: u32) {
        for _ in 0..times * TIMED_ONE_IN {
            a.send(&frame(1));
            assert_eq!(b.receive(), [frame(1).to_vec()]);
        }
    }

    #[test]
    fn stages_count_while_somebody_watches() {
        for (letter, module) in [('s', Module::Bridge), ('t', Module::Hub)] {
            let Some(bed) = Bed::new(letter, module) else { return };
            let switch = bed.switch();
            let mut ports = (Client::open(switch, "a"), Client::open(switch, "b"));
            exchange(&mut ports, 1);
            assert_eq!((switch.stages(), switch.watched_ports()), (StageCounts::default(), 0));
            switch.watch_stages(LONG);
            exchange(&mut ports, 2);
            let counts = switch.stages();
            assert_eq!((counts.batches, counts.packets, switch.watched_ports()), (2, 2, 2));
            assert!(counts.time[0] > 0 && counts.time[1] > 0 && counts.time[2..] == [0; MAX_STAGES - 2]);
        }
    }

    #[test]
    fn ports_with_rules_count_by_their_way() {
        let Some(bed) = Bed::new('u', Module::Bridge) else { return };
        let switch = bed.switch();
        let storm = StormLimits { broadcast: Some(1_000_000), ..Default::default() };
        let conf = PortConf { storm, ..Default::default() };
        switch.set_conf("a", &conf).unwrap();
        let mut ports = (Client::open(switch, "a"), Client::open(switch, "b"));
        switch.watch_stages(LONG);
        assert_eq!(switch.conf("a").unwrap(), conf, "who watches changes no rule");
        exchange(&mut ports, 1);
        let counts = switch.stages();
        assert!(counts.packets == 1 && counts.time[0] > 0 && counts.time[1] > 0, "{counts:?}");
    }

    #[test]
    fn a_watcher_that_was_killed_leaves_nothing_switched_on() {
        let Some(bed) = Bed::new('v', Module::Bridge) else { return };
        let switch = bed.switch();
        let mut ports = (Client::open(switch, "a"), Client::open(switch, "b"));
        switch.watch_stages(Duration::ZERO);
        assert_eq!(switch.watched_ports(), 2);
        exchange(&mut ports, 1);
        assert_eq!(switch.watched_ports(), 1, "the port that sent is not watched any more");
        assert_eq!(switch.stages(), StageCounts::default());
    }

    /// Who may write: the counters lie with what root says of the ports, which no client can open.
    #[test]
    fn counters_lie_where_no_client_can_write() {
        use std::os::unix::fs::MetadataExt;
        let Some(bed) = Bed::new('w', Module::Bridge) else { return };
        let meta = std::fs::metadata(bed.switch().dir.join("ports")).unwrap();
        assert_eq!((meta.uid(), meta.mode() & 0o777), (0, 0o600));
    }
}
