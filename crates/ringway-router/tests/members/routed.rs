//! Two networks with a host each, a router by tc between them, and the process that follows the kernel for it.

use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::thread;

use ringway_lab::Lab;
use ringway_router::follow::{Engine, Options};
use ringway_router::kernel::{Outcome, Path, Router, Spec};

use crate::support::members::inside;
use crate::support::switch::unused_name;
use crate::support::{ALL_OPEN, Running, Wait, child_with_all_open, enter, new_lab, readable, role};

/// The address of the second host.
pub(crate) const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

/// Hosts with eth0 at 10.0.1.2 and 10.0.2.2, with the kernel's defaults, joined to n1 and n2 in the middle.
pub(crate) struct Routed {
    pub(crate) hosts: [Lab; 2],
    pub(crate) middle: Lab,
    pub(crate) name: String,
}

impl Routed {
    /// Networks without a router; `None`, with a loud word, when the process is not root.
    pub(crate) fn new() -> Option<Self> {
        let (name, hosts, middle) = (unused_name()?, [new_lab()?, new_lab()?], new_lab()?);
        for (host, i) in hosts.iter().zip(1..) {
            host.plain_veth_to("eth0", &middle, &format!("n{i}")).unwrap();
            host.ip(&format!("addr add 10.0.{i}.2/24 dev eth0")).unwrap();
            host.ip(&format!("route add default via 10.0.{i}.1")).unwrap();
            middle.ip(&format!("addr add 10.0.{i}.1/24 dev n{i}")).unwrap();
        }
        middle.exec("sysctl", &["-qw", "net.ipv4.ip_forward=1"]).unwrap();
        Some(Self { hosts, middle, name })
    }

    /// The process of the router, when it has made it or taken it over. The test program needs a test `follows` that is [`follow`].
    pub(crate) fn process(&self) -> Running {
        child_with_all_open("follows", &format!("{} {}", self.middle.name(), self.name))
    }

    /// Packets that the fast path forwarded.
    pub(crate) fn forwarded(&self) -> u64 {
        let stats = inside(&self.middle, || Router::open(&self.name).unwrap().stats());
        stats.iter().map(|s| s.counts.get(Outcome::Forwarded)).sum()
    }

    /// Whether the fast path forwards something while `flow` makes packets.
    pub(crate) fn forwards(&self, flow: impl FnOnce()) -> bool {
        let before = self.forwarded();
        flow();
        self.forwarded() > before
    }
}

impl Drop for Routed {
    fn drop(&mut self) {
        if let Ok(router) = Router::open(&self.name) {
            let deleted = router.delete();
            assert!(deleted.is_ok() || thread::panicking(), "{deleted:?}");
        }
    }
}

/// In a child of [`Routed::process`]: makes a router or takes it over, and keeps its tables equal to the kernel's. Else does nothing.
pub(crate) fn follow() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    let options =
        Options { nics: vec!["n1".into(), "n2".into()], path: Some(Path::Tc), ..Options::default() };
    let made = match Router::open(&words[1]) {
        Ok(_) => Engine::take_over(&words[1], &options),
        Err(_) => Engine::create(&words[1], &Spec::default(), &options),
    };
    let (mut engine, _) = made.unwrap();
    eprintln!("{ALL_OPEN}");
    loop {
        readable(Wait::Poll, engine.as_fd().as_raw_fd(), engine.wait().as_millis() as i32 + 1);
        engine.turn().unwrap();
    }
}
