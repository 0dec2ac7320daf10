//! Members of both kinds in one router: what XDP leaves to traffic control.

use super::rules::{Bed, MAC, to};
use super::trial::Trial;
use super::{Path, in_namespace};
use crate::kernel::program::Identity;
use crate::kernel::{Interface, Outcome, Spec};

const XDP_PASS: u32 = 2;

#[test]
fn packets_to_members_by_tc_are_left_uncounted_and_unchanged() {
    in_namespace(|links| {
        let bed = Bed::new(Path::Xdp, links, &Spec::default());
        let lan = Interface { mac: MAC, forwards4: true, forwards6: true, ..Interface::default() };
        let of = Identity { index: links[0], ..Identity::default() };
        // the second interface is a member by traffic control
        let mut trial = Trial::of(&bed.control, Path::Xdp, of, (&links[..1], &links[1..2]));
        trial.set(&lan);
        bed.control.heartbeat(true).unwrap();
        let frame = to("10.0.0.1");
        let (verdict, left) = trial.run_only(&frame);
        assert_eq!((verdict, &left[left.len() - frame.len()..]), (XDP_PASS, &frame[..]));
        assert_eq!(left.len() - frame.len(), 8, "a note lies before it");
        assert_eq!(trial.all_counted(), []);
        assert_eq!(trial.run(&to("10.3.0.1")).0, Outcome::KernelRoute, "the kernel's own is counted here");

        // Without the note the program behind it passes on what it gets: that was counted.
        let mut behind =
            Trial::of(&bed.control, Path::Tc, Identity { behind: true, ..of }, (&[], &links[..2]));
        behind.set(&lan);
        bed.control.heartbeat(true).unwrap();
        assert_eq!(behind.run_only(&frame), (u32::MAX, frame.clone()));
        assert_eq!(behind.all_counted(), []);
    });
}
