//! What programs with stages count: one run in 17, by the stages that a packet came to.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use ringway_count::{StageCounts, TIMED_ONE_IN};
use ringway_fwd::control::Pulse;

use super::rules::{Bed, MAC, to, v4, v6};
use super::super_frames::{gso, tcp4};
use super::trial::Trial;
use super::{Path, both_ways, in_namespace};
use crate::kernel::maps::Tables;
use crate::kernel::program::Identity;
use crate::kernel::{Control, Interface, Outcome, Spec, Stages};

/// A bed, and in it a program that is timed.
struct Timed {
    bed: Bed,
    trial: Trial,
    stages: Stages,
}

impl Timed {
    /// On one CPU: each has counters of its own. `tc`: members by traffic control, which XDP can't send to.
    fn new(path: Path, links: [u32; 3], tc: &[u32]) -> Self {
        let mut one = CpuSet::new();
        one.set(nix::sched::sched_getcpu().unwrap()).unwrap();
        sched_setaffinity(Pid::from_raw(0), &one).unwrap();
        let bed = Bed::new(path, links, &Spec::default());
        let stages = Stages::new(bed.control.router().cpus, "trial").unwrap();
        let of = Identity { index: links[0], ..Identity::default() };
        let xdp: Vec<_> = links[..2].iter().copied().filter(|link| !tc.contains(link)).collect();
        let trial = Trial::timed(&bed.control, path, of, (&xdp, tc), &stages);
        let lan = Interface { mac: MAC, forwards4: true, forwards6: true, ..Interface::default() };
        trial.set(&lan);
        Self { bed, trial, stages }
    }

    /// What so many times 17 such frames were counted as, and what became of them.
    fn run(&mut self, frame: &[u8], times: u32, context: &mut [u8]) -> (StageCounts, Vec<Outcome>) {
        let before = self.stages.counts();
        for _ in 0..times * TIMED_ONE_IN {
            self.bed.control.heartbeat(true).unwrap();
            self.trial.run_with(frame, context);
        }
        (self.stages.counts().since(&before), self.trial.all_counted())
    }

    /// The stages that such frames came to, when each was counted as it became.
    fn reached(&mut self, frame: &[u8], outcome: Outcome) -> usize {
        let (counts, became) = self.run(frame, 2, &mut []);
        assert_eq!((counts.batches, counts.packets), (2, 2), "{outcome:?}");
        assert_eq!(became, vec![outcome; 2 * TIMED_ONE_IN as usize]);
        let reached = counts.time.iter().take_while(|ns| **ns > 0).count();
        assert!(counts.time[reached..].iter().all(|ns| *ns == 0), "{outcome:?}: {counts:?}");
        reached
    }
}

#[test]
fn packets_end_in_the_stage_where_they_left() {
    both_ways(|path, links| {
        let mut timed = Timed::new(path, links, &[]);
        let from6 = |to| v6("2001:db8:1::9", to, |_| ());
        for (frame, outcome, reached) in [
            (to("10.0.0.1"), Outcome::Forwarded, 3),
            (from6("2001:db8::1"), Outcome::Forwarded, 3),
            (to("10.4.0.1"), Outcome::Blackhole, 3),
            (to("10.2.0.1"), Outcome::Local, 3),
            (to("11.0.0.1"), Outcome::Unreachable, 3),
            (from6("2001:db8:1:2:3:4:5:6"), Outcome::Local, 3),
            (to("127.0.0.1"), Outcome::MartianDestination, 1),
            (v4("10.1.0.9", "10.0.0.1", |ip| ip[10] = 1), Outcome::BadChecksum, 1),
            (from6("ff0e::1"), Outcome::Local, 1),
        ] {
            assert_eq!(timed.reached(&frame, outcome), reached, "{outcome:?} by {}", path.name());
        }
        // The program without stages counts none.
        let before = timed.stages.counts();
        for _ in 0..2 * TIMED_ONE_IN {
            timed.bed.trial.run(&to("10.0.0.1"));
        }
        assert_eq!(timed.stages.counts(), before);
    });
}

#[test]
fn a_super_frame_is_as_many_packets_as_it_is_cut_into() {
    in_namespace(|links| {
        let mut timed = Timed::new(Path::Tc, links, &[]);
        let (counts, _) = timed.run(&tcp4(2920, true), 3, &mut gso(2, 1460));
        assert_eq!((counts.batches, counts.packets), (3, 6));
    });
}

/// The program behind the one by XDP counts the packet. The time of both is that packet's.
#[test]
fn packets_that_xdp_leaves_to_traffic_control_count_once() {
    in_namespace(|links| {
        let mut timed = Timed::new(Path::Xdp, links, &links[1..2]);
        let (counts, became) = timed.run(&to("10.0.0.1"), 2, &mut []);
        assert_eq!((counts.batches, counts.packets, became), (0, 0, Vec::new()));
        assert!(counts.time[..3].iter().all(|ns| *ns > 0), "{counts:?}");
    });
}

/// The map stays when another version has the router, which does not look at it.
#[test]
fn stages_belong_to_a_process_that_knows_them() {
    in_namespace(|links| {
        let Bed { control, router, .. } = Bed::new(Path::Xdp, links, &Spec::default());
        let router = router.get();
        let publish = |mut control: Control| {
            control.heartbeat(true).unwrap();
            control.publish(&mut Pulse::none()).unwrap();
            control
        };
        let control = publish(control);
        assert!(router.stages().is_ok());
        let others = Tables::new(&router.spec(), router.cpus, "trial").unwrap();
        control.stages.set_served_by(&others).unwrap();
        let e = router.stages().unwrap_err().to_string();
        assert!(e.contains("is of another version") && e.contains("`kill "), "{e}");
        drop(control);
        let _control = publish(router.take_control().unwrap());
        assert!(router.stages().is_ok());
    });
}
