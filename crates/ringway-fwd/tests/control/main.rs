//! The mirror beside the kernel's tables, in network namespaces. Needs root.

mod faults;
mod kinds;
mod lab;

use std::time::{Duration, Instant};

use lab::Lab;
use ringway_fwd::control::{Check, Follower, Options};

/// Never compares by itself: what is tested is following.
const ALONE: Options =
    Options { buffer: 8 << 20, check_every: Duration::from_secs(3600), pause: Duration::from_millis(100) };

/// The mirror is equal to what `ip` shows, now or soon.
fn settle(lab: &Lab, follower: &mut Follower) {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        follower.poll(Instant::now()).unwrap();
        let (theirs, ours) = (lab.routes(), lab::ours(follower.state()));
        if theirs == ours && follower.wait(Instant::now()) > Duration::from_secs(10) {
            return;
        }
        if Instant::now() > end {
            let only = |a: &[String], b: &[String]| a.iter().filter(|x| !b.contains(x)).cloned().collect::<Vec<_>>();
            panic!("kernel only: {:#?}\nours only: {:#?}", only(&theirs, &ours), only(&ours, &theirs));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs each line of `ip`, and compares after each. Nothing was read anew and nothing was in doubt.
fn steps(lab: &Lab, follower: &mut Follower, commands: &str) {
    let before = follower.health();
    for command in commands.lines().map(str::trim).filter(|line| !line.is_empty()) {
        println!("ip {command}");
        lab.ip(command);
        settle(lab, follower);
        let now = follower.health();
        assert_eq!((now.syncs, now.doubts), (before.syncs, before.doubts), "after {command}: {:?}", now.doubt);
    }
    let found = (0..100).map(|_| follower.check().unwrap()).find(|c| *c != Check::Busy);
    assert_eq!(found, Some(Check::Equal), "{commands}");
    assert!(follower.health().in_sync);
}
