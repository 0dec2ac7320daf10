//! Pools of pages whose frames a receiver keeps.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ringway_bpf::layout::port::{numbers::POOL_WINDOW_BITS, pools};
use ringway_count::DropReason;
use ringway_lab::raw::RawReceiver;
use ringway_lab::{AnyError, Lab};
use ringway_nic::pools::most_in_window;
use ringway_sys::time::coarse_ns;

use super::super::programs::RELEASED;
use super::*;
use crate::layout::port as conf;

const LIMIT: Duration = Duration::from_secs(60);

/// A switch with the interface `a0`, whose other end is `a1`, and a sender.
struct Bed {
    switch: Switch,
    number: u32,
    out: OwnedFd,
    sender: Client,
}

impl Bed {
    fn new(lab: &Lab) -> Self {
        let name = format!("valep{}", std::process::id());
        let switch = Switch::create(&name, &SwitchSpec::default()).unwrap();
        let number = lab.run(|| Ok::<_, AnyError>(switch.add_nic("a0")?)).unwrap();
        switch.add_port("p", &PortAccess::default()).unwrap();
        let path = pins::nics(&pins::port(&switch.dir, "p")).join(pins::out_name(number, None));
        let out = bpffs::get(&path, true).unwrap();
        let sender = Client::open(&switch, "p");
        Self { switch, number, out, sender }
    }

    fn word(&self, at: usize) -> &std::sync::atomic::AtomicU32 {
        self.switch.ports.u32(conf::STAGES + at)
    }

    /// One frame for the interface, which its sender sends; what the interface got, and what was lost as at a full one.
    fn send(&mut self) -> (u64, u64) {
        let before = self.counts();
        self.sender.send(&[0xff; 60]);
        bpf::run_live(self.out.as_fd(), 64, 1, None).unwrap();
        let after = self.counts();
        (after.0 - before.0, after.1 - before.1)
    }

    fn counts(&self) -> (u64, u64) {
        let rx = self.switch.stats().into_iter().find(|s| s.port.number == self.number).unwrap().counters.rx;
        (rx.frames_out, rx.drops(DropReason::DeviceFull))
    }

    fn until(&mut self, what: &str, met: impl Fn(&mut Self) -> bool) {
        let start = Instant::now();
        while !met(self) {
            assert!(start.elapsed() < LIMIT, "{what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// As if so many pools had been seen waiting now.
    fn pretend(&self, waiting: u32) {
        self.word(pools::WINDOW).store((coarse_ns() >> POOL_WINDOW_BITS) as u32, Relaxed);
        self.word(pools::WAITING).store(waiting, Relaxed);
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = Switch::open(self.switch.name()).and_then(Switch::delete);
    }
}

/// Pools are of all the machine, so other programs may leave some too.
#[test]
fn frames_for_interfaces_are_lost_by_name_while_too_many_pools_wait() {
    if !ringway_sys::is_root() {
        eprintln!("SKIPPED: switches need root");
        return;
    }
    let lab = Lab::new().unwrap();
    lab.veth("a0", "a1").unwrap();
    lab.run_napi("a1").unwrap();
    let mut bed = Bed::new(&lab);
    let keeper = RawReceiver::open(&lab, "a1").unwrap();
    bed.until("no pool is seen waiting", |bed| {
        bed.send();
        bed.word(pools::WAITING).load(Relaxed) > 0
    });
    bed.until("the frame leaves", |bed| {
        bed.pretend(most_in_window());
        bed.send() == (0, 1)
    });
    drop(keeper);
    bed.until("no frame leaves", |bed| bed.send() == (1, 0));
    bed.switch.reload().unwrap();
    assert!(bed.switch.dir.join(RELEASED).exists());
    bed.word(pools::WAITING).store(0, Relaxed);
    let keeper = RawReceiver::open(&lab, "a1").unwrap();
    bed.until("no pool is seen after a reload", |bed| {
        bed.send();
        bed.word(pools::WAITING).load(Relaxed) > 0
    });
    drop(keeper);
    lab.run(|| Ok::<_, AnyError>(bed.switch.del_port("a0", false)?)).unwrap();
    assert!(!bed.switch.dir.join(RELEASED).exists(), "a program is attached for nobody");
}
