//! The mirror and the data plane beside the kernel's tables, in network namespaces. Needs root.
#![allow(clippy::unwrap_used, reason = "a test")]

mod faults;
mod forward;
mod kinds;
mod lab;

use std::time::{Duration, Instant};

use lab::Lab;
use ringway_fib::{Fib4, Fib6};
use ringway_fwd::control::{Check, Follower, Health, Limits, Options, Pulse, Resolver, Tables};

/// Never compares by itself: what is tested is following.
const ALONE: Options =
    Options { buffer: 64 << 20, check_every: Duration::from_secs(3600), pause: Duration::from_millis(100) };

/// A namespace and what follows it.
struct Bed {
    lab: Lab,
    follower: Follower,
    resolver: Resolver,
    tables: Tables,
}

impl Bed {
    /// `None` without root.
    fn new(options: Options) -> Option<Self> {
        let lab = Lab::enter()?;
        let follower = Follower::open(options, &mut Pulse::none()).unwrap();
        let (fib4, fib6) = (Fib4::new(Default::default()).unwrap(), Fib6::new(Default::default()).unwrap());
        let mut tables = Tables::new(fib4, fib6, Limits::default());
        let resolver = Resolver::new(&mut tables);
        let mut bed = Self { lab, follower, resolver, tables };
        bed.turn();
        Some(bed)
    }

    fn health(&self) -> Health {
        self.follower.health()
    }

    /// One turn of the control plane.
    fn turn(&mut self) {
        let changes = self.follower.poll(Instant::now(), &mut Pulse::none()).unwrap();
        self.resolver.update(self.follower.state(), changes, &mut self.tables).unwrap();
        let mark = self.resolver.mark();
        self.resolver.release(mark);
    }

    /// The mirror is equal to what `ip` shows, now or soon, and the data plane is what it should be.
    fn settle(&mut self) {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            self.turn();
            let (theirs, ours) = (self.lab.routes(), lab::ours(self.follower.state()));
            if theirs == ours && self.follower.wait(Instant::now()) > Duration::from_secs(10) {
                break;
            }
            if Instant::now() > end {
                let only = |a: &[String], b: &[String]| -> Vec<_> {
                    a.iter().filter(|x| !b.contains(x)).cloned().collect()
                };
                panic!("kernel only: {:#?}\nours only: {:#?}", only(&theirs, &ours), only(&ours, &theirs));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(
            (self.resolver.audit(self.follower.state(), &mut Pulse::none()), self.resolver.pending()),
            (0, 0)
        );
    }

    /// The same, and the digests are equal; whatever was lost.
    fn equal(&mut self) {
        self.settle();
        let found =
            (0..100).map(|_| self.follower.check(&mut Pulse::none()).unwrap()).find(|c| *c != Check::Busy);
        assert_eq!(found, Some(Check::Equal));
        assert!(self.health().in_sync);
    }

    /// Runs each line of `ip`, and compares after each. Nothing was read again and nothing was inconsistent. In the end addresses
    /// lead where the kernel leads them.
    fn steps(&mut self, commands: &str) {
        let before = self.health();
        for command in commands.lines().map(str::trim).filter(|line| !line.is_empty()) {
            println!("ip {command}");
            self.lab.ip(command);
            self.settle();
            let now = self.health();
            assert_eq!(
                (now.syncs, now.inconsistencies),
                (before.syncs, before.inconsistencies),
                "after {command}: {:?}",
                now.inconsistency
            );
        }
        self.equal();
        forward::as_the_kernel(self);
    }
}
