//! What the stages of frames cost that come in by an interface.

use std::thread::sleep;
use std::time::{Duration, Instant};

use ringway_count::StageCounts;
use ringway_lab::raw::{RawReceiver, RawSender};
use ringway_lab::{AnyError, Lab};

use super::*;
use crate::{Module, NicPath, PortConf, StormLimits};

const LIMIT: Duration = Duration::from_secs(60);
/// Longer than a tick of the kernel: the programs look for a watcher in each.
const TICKS: Duration = Duration::from_millis(50);

/// A switch with the interfaces `a0` and `b0`, whose other ends are `a1` and `b1`, and the port `p`.
struct Bed {
    switch: Switch,
    client: Client,
    to: RawSender,
    from: RawReceiver,
    sent: u64,
    _lab: Lab,
}

impl Bed {
    fn new(letter: char, module: Module, path: NicPath) -> Option<Self> {
        if !ringway_sys::is_root() {
            eprintln!("SKIPPED: switches need root");
            return None;
        }
        let lab = Lab::new().unwrap();
        let name = format!("vale{letter}{}", std::process::id());
        let switch = Switch::create(&name, &SwitchSpec { module, ..Default::default() }).unwrap();
        for (nic, wire) in [("a0", "a1"), ("b0", "b1")] {
            lab.veth(nic, wire).unwrap();
            lab.run_napi(wire).unwrap();
            let options = NicOptions { path, ..NicOptions::default() };
            lab.run(|| Ok::<_, AnyError>(switch.add_nic_with(nic, &options)?)).unwrap();
        }
        switch.add_port("p", &PortAccess::default()).unwrap();
        let client = Client::open(&switch, "p");
        let (to, from) = (RawSender::open(&lab, "a1").unwrap(), RawReceiver::open(&lab, "b1").unwrap());
        Some(Self { switch, client, to, from, sent: 0, _lab: lab })
    }

    /// Sends frames to all, one by one, which the port and the other interface get.
    fn exchange(&mut self, times: u32) {
        for _ in 0..times {
            let mut frame = [0; 60];
            frame[..6].fill(0xff);
            frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
            frame[20..28].copy_from_slice(&self.sent.to_ne_bytes());
            self.to.send(&frame).unwrap();
            self.sent += 1;
            assert_eq!(self.from.next(LIMIT).unwrap().expect("the frame arrives"), frame);
            let start = Instant::now();
            let got = std::iter::repeat_with(|| self.client.receive()).find(|got| {
                assert!(start.elapsed() < LIMIT, "no frame reaches the port");
                !got.is_empty()
            });
            assert_eq!(got.unwrap(), [frame.to_vec()]);
        }
        let stats = self.switch.stats();
        let a0 = &stats.iter().find(|s| s.port.name == "a0").unwrap().counters.tx;
        assert_eq!((a0.frames_in, a0.frames_out, a0.dropped()), (self.sent, self.sent, 0), "{a0}");
    }

    fn counts(&self) -> StageCounts {
        self.switch.interface_stages()
    }

    /// Counters are switched on and off between frames, and none of these is lost.
    fn check(&mut self) {
        assert!(self.switch.has_interfaces());
        self.exchange(40);
        assert_eq!(self.counts(), StageCounts::default());
        let (lease, start) = (2 * TICKS, Instant::now());
        while self.counts().batches < 3 {
            self.switch.watch_interface_stages(lease);
            self.exchange(10);
            assert!(start.elapsed() < LIMIT, "no frame is timed");
        }
        sleep(lease + TICKS);
        let ended = self.counts();
        self.exchange(40);
        assert_eq!(self.counts(), ended, "nobody watches any more");
        self.switch.watch_interface_stages(LIMIT * 10);
        sleep(TICKS);
        self.exchange(6 * Switch::INTERFACES_TIME_ONE_IN);
        let counts = self.counts().since(&ended);
        let cpus = std::thread::available_parallelism().unwrap().get() as u64;
        // Each CPU has a number of its own that go by.
        assert!((6 - cpus.min(5)..=6 + cpus).contains(&counts.batches), "{counts:?}");
        assert!(counts.packets == counts.batches && counts.time[0] > 0 && counts.time[1] > 0, "{counts:?}");
        assert_eq!(self.switch.stages(), StageCounts::default(), "a sum of its own");
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = Switch::open(self.switch.name()).and_then(Switch::delete);
    }
}

#[test]
fn stages_of_frames_count_while_somebody_watches() {
    for (letter, module) in [('s', Module::Bridge), ('t', Module::Hub)] {
        let Some(mut bed) = Bed::new(letter, module, NicPath::Xdp) else { return };
        bed.check();
    }
}

#[test]
fn frames_by_rules_have_the_same_stages() {
    let Some(mut bed) = Bed::new('u', Module::Bridge, NicPath::Xdp) else { return };
    let storm = StormLimits { broadcast: Some(1_000_000), ..Default::default() };
    bed.switch.set_conf("a0", &PortConf { storm, ..Default::default() }).unwrap();
    bed.check();
}

#[test]
fn members_by_tc_have_the_same_stages() {
    let Some(mut bed) = Bed::new('v', Module::Bridge, NicPath::Tc) else { return };
    bed.check();
}
