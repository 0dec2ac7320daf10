//! Ports that root gives to others: what their earlier user kept is worth nothing.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use ringway::switch::{PortConf, StormLimits};
use ringway::{ErrorKind, Port};

use crate::client::{NOBODY, owner, passes, shell, switch, words};
use crate::support::eventually;
use crate::support::switch::{Path, Request, Temporary, ask, bpf, files, open_object};

const STALE: u32 = 1;

/// A frame to all from station 9.
fn push(port: &mut Port, mark: u8) {
    assert!(port.tx[0].push(&[&[0xff; 6][..], &[2, 0, 0, 0, 1, 9], &[mark; 48]].concat()));
    port.tx[0].sync().unwrap();
}

fn receive(port: &mut Port) -> Vec<u8> {
    port.rx[0].sync().unwrap();
    let marks = port.rx[0].burst(u32::MAX).map(|f| f.bytes()[12]).collect();
    port.rx[0].sync().unwrap();
    marks
}

/// Bytes of a mapped region.
struct Mapped(*const u8, usize);

impl Mapped {
    fn new(region: &OwnedFd, len: usize) -> Self {
        // SAFETY: a new mapping where the kernel likes, for the life of the process.
        let at = unsafe {
            libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, region.as_raw_fd(), 0)
        };
        assert_ne!(at, libc::MAP_FAILED);
        Self(at.cast(), len)
    }

    fn has(&self, mark: u8) -> bool {
        // SAFETY: the mapping has that length, and nobody changes it while this looks.
        let bytes = unsafe { std::slice::from_raw_parts(self.0, self.1) };
        bytes.windows(40).any(|w| w.iter().all(|b| *b == mark))
    }
}

#[test]
fn who_had_a_port_can_neither_send_nor_receive_there() {
    let Some(switch) = switch() else { return };
    let dir = files(switch.name(), "p1");
    let [region, send, look] = ["region", "send", "look"].map(|f| open_object(&dir.join(f)));
    let request = Request::of(&look);
    assert_eq!(request.run(&send), 0);
    let mut open = switch.open("p1");
    let kept = Mapped::new(&region, open.region().bytes());
    let mut sender = switch.open("p2");
    push(&mut sender, 0xa1);
    assert!(kept.has(0xa1), "its user receives");
    switch.set_access("p1", &owner(1000)).unwrap();
    assert_eq!([request.run(&send), request.run(&send)], [STALE, STALE]);
    let mut answer = [0u64; 70];
    assert_eq!(ask(&look, &mut answer), STALE);
    assert!(answer.iter().all(|w| *w == 0), "{answer:?}");
    push(&mut sender, 0xa2);
    assert!(!kept.has(0xa2), "the earlier user still receives");
    let before = switch.totals(&switch.stats()).tx.frames_in;
    assert!(open.tx[0].push(&[0xff; 60]));
    assert_eq!(open.tx[0].sync().unwrap_err().kind(), ErrorKind::Gone);
    eventually("the earlier user learns it", || match open.rx[0].sync() {
        Err(e) if e.kind() == ErrorKind::Gone => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert_eq!(switch.totals(&switch.stats()).tx.frames_in, before);
    // Nobody has it open, though the earlier user still lives.
    let mut new = switch.open("p1");
    assert_eq!(receive(&mut new), [0xa2], "what came after the change, nothing of before");
    push(&mut sender, 0xa3);
    assert_eq!(receive(&mut new), [0xa3]);
    drop(open);
    push(&mut sender, 0xa4);
    assert_eq!(receive(&mut new), [0xa4]);
}

/// One program serves all ports: who may run it for one of them sends by no other, whatever it asks.
#[test]
fn who_has_a_port_sends_by_no_other() {
    let Some(switch) = switch() else { return };
    let object = |port: &str, file: &str| open_object(&files(switch.name(), port).join(file));
    let (send, look) = (object("p1", "send"), object("p2", "look"));
    let (own, other) = (Request::of(&object("p1", "look")), Request::of(&look));
    let state = || {
        let mut words = [0u64; 70];
        assert_eq!(ask(&look, &mut words), 0);
        words
    };
    let before = state();
    let Request { port, ticket, .. } = other;
    for wrong in [0, own.ticket, ticket ^ 1, ticket ^ 1 << 63, !ticket, ticket.swap_bytes(), u64::MAX] {
        assert_eq!(Request { ticket: wrong, ..other }.run(&send), STALE, "{wrong:x}");
    }
    // What is no port, and entry 0, where the switch keeps sums.
    for port in [0, port + 1, 254, 255, 256, u32::MAX] {
        for ticket in [0, 1, own.ticket, ticket] {
            assert_ne!(Request { ring: 0, port, ticket }.run(&send), 0, "{port}");
        }
    }
    assert_eq!(state(), before, "a run for the other port");
    assert_eq!(own.run(&send), 0);
    assert_eq!(state(), before, "the own port's run");
    assert_eq!(other.run(&send), 0, "the ticket alone decides");
    assert_ne!(state(), before);
}

#[test]
fn number_settings_and_counters_stay() {
    let Some(switch) = switch() else { return };
    let conf = PortConf {
        isolated: true,
        storm: StormLimits { broadcast: Some(5000), ..StormLimits::default() },
        ..PortConf::default()
    };
    let mut ports = ["p1", "p2"].map(|p| switch.open(p));
    let mut paths = [Path::new(1, 2), Path::new(2, 1)];
    let mut random = crate::support::Random(1);
    for _ in 0..20 {
        let [a, b] = &mut ports;
        paths[0].exchange(a, b, &mut random);
        paths[1].exchange(b, a, &mut random);
    }
    switch.set_conf("p1", &conf).unwrap();
    let before = switch.stats();
    switch.set_access("p1", &owner(1000)).unwrap();
    let after = switch.stats();
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((before.counters, before.copies), (after.counters, after.copies), "{}", before.port.name);
        assert_eq!(before.port.number, after.port.number);
    }
    assert_eq!(switch.conf("p1").unwrap(), conf);
    let access = switch.find_port("p1").unwrap().access;
    assert_eq!((access.uid, access.gid, access.mode), (Some(1000), Some(1000), 0o600));
    ports[1].rx[0].sync().unwrap(); // gives back what was read
    drop(ports);
    switch.set_conf("p1", &PortConf::default()).unwrap();
    let [mut a, mut b] = ["p1", "p2"].map(|p| switch.open(p));
    paths[0].exchange(&mut a, &mut b, &mut random);
    paths[1].exchange(&mut b, &mut a, &mut random);
    let all = switch.totals(&switch.stats());
    assert_eq!(all.copies, all.rx.frames_in);
    assert_eq!(all.tx.frames_in, all.tx.frames_out + all.tx.dropped);
}

/// The owner of a file may change its mode; that says nothing of whom root lets in.
#[test]
fn a_mode_that_the_client_set_is_not_kept() {
    let Some(switch) = switch() else { return };
    let opened = shell(&switch, "chmod 666 $P/region $P/send $P/look $P/bell0 && chmod 777 $P/use");
    assert!(opened.status.success(), "{opened:?}");
    let known = switch.find_port("p1").unwrap().access;
    assert_eq!(known.mode, 0o600);
    switch.set_access("p1", &ringway::switch::PortAccess { uid: Some(1000), ..known }).unwrap();
    let dir = files(switch.name(), "p1");
    for (name, wanted) in
        [("region", 0o600), ("send", 0o600), ("look", 0o600), ("bell0", 0o600), ("use", 0o500)]
    {
        let is = std::fs::metadata(dir.join(name)).unwrap();
        assert_eq!((is.uid(), is.permissions().mode() & 0o777), (1000, wanted), "{name}");
    }
}

/// The child of the next test: freezes the maps of its port, which takes no privilege.
#[test]
fn freezes_its_maps() {
    const MAP_FREEZE: i64 = 22;
    let Some(words) = words() else { return };
    for name in ["region", "bell0"] {
        let map = open_object(&files(&words[0], "p1").join(name));
        assert_eq!(bpf(MAP_FREEZE, &mut [map.as_raw_fd() as u64]), 0, "{name}");
    }
}

#[test]
fn a_port_whose_maps_were_frozen_works_again_for_its_next_user() {
    let Some(switch) = switch() else { return };
    passes("access::freezes_its_maps", switch.name());
    let refused = Port::open(&format!("{}:p1", switch.name())).unwrap_err();
    assert!(refused.to_string().contains("port set"), "the cure is missing: {refused}");
    let stats = switch.stats();
    assert_eq!(stats.len(), 2, "root's view is hindered");
    let access = switch.find_port("p1").unwrap().access;
    switch.set_access("p1", &access).unwrap();
    works(&switch);
}

/// Frames pass between both ports.
fn works(switch: &Temporary) {
    let [mut a, mut b] = ["p1", "p2"].map(|p| switch.open(p));
    receive(&mut b); // what an earlier user had not read
    push(&mut a, 0xb1);
    assert_eq!(receive(&mut b), [0xb1]);
    push(&mut b, 0xb2);
    assert_eq!(receive(&mut a), [0xb2]);
}

/// The old user's threads send all the while, so some of his runs are under way when the port changes hands.
#[test]
fn runs_of_the_earlier_user_that_are_under_way_do_no_harm() {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    let Some(switch) = switch() else { return };
    let done = AtomicBool::new(false);
    let mut receiver = switch.open("p2");
    std::thread::scope(|s| {
        s.spawn(|| {
            while !done.load(Relaxed) {
                let Ok(mut port) = Port::open(&format!("{}:p1", switch.name())) else { continue };
                while port.tx[0].push(&[0xff; 60]) && port.tx[0].sync().is_ok() && !done.load(Relaxed) {}
            }
        });
        for round in 0..20 {
            switch.set_access("p1", &owner(if round % 2 == 0 { 1000 } else { NOBODY })).unwrap();
            receive(&mut receiver);
        }
        done.store(true, Relaxed);
    });
    drop(receiver);
    works(&switch);
    let all = switch.totals(&switch.stats());
    assert_eq!(all.copies, all.rx.frames_in, "{all:?}");
    assert_eq!(all.tx.frames_in, all.tx.frames_out + all.tx.dropped, "{all:?}");
}
