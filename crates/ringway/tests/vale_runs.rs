//! Runs of the switch program: how long they take, and when they end. Needs root; says so and passes without.
#![allow(clippy::unwrap_used, reason = "a test")]

mod switch;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use ringway::switch::{Mirror, PortConf, Switch, SwitchSpec};
use ringway::{DropReason, ErrorKind, Port};
use ringway_bpf::layout::switch::port_conf;

use switch::{Temporary, assert_closed, dir, frame, push_parts, receive, send};

/// For what comes sooner or later.
const PATIENCE: Duration = Duration::from_secs(120);

/// Slots that a full ring holds.
const FULL: usize = 1023;

/// Runs of the port that was made first.
fn runs(switch: &Switch) -> u64 {
    switch.stats()[0].counters.tx.syncs
}

/// Frames that tell their places, to station `to` (0: to all) from station 1.
fn burst(to: u8, count: usize, len: usize) -> Vec<Vec<u8>> {
    let numbered = |n: usize| {
        let mut f = frame(to, 1, len, 7);
        f[20..24].copy_from_slice(&(n as u32).to_ne_bytes());
        f
    };
    (0..count).map(numbered).collect()
}

/// Sends a burst by one sync, which `all` get; returns the runs that it took.
fn runs_for(switch: &Switch, from: &mut Port, all: &mut [Port], frames: &[Vec<u8>]) -> u64 {
    let before = runs(switch);
    send(from, frames);
    for port in all {
        assert!(receive(port) == frames, "all arrive, in order");
    }
    runs(switch) - before
}

#[test]
fn a_long_flood_takes_several_runs() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let [mut a, others @ ..]: [Port; 9] = switch.ports();
    let mut others = Vec::from(others);
    send(&mut others[0], &[frame(0, 2, 60, 0)]);
    receive(&mut a);
    others.iter_mut().for_each(|p| _ = receive(p));
    let flood = runs_for(&switch, &mut a, &mut others, &burst(0, FULL, 2112));
    assert!((3..20).contains(&flood), "{flood} runs");
    let unicast = runs_for(&switch, &mut a, &mut others[..1], &burst(2, FULL, 2112));
    assert_eq!(unicast, 1, "a burst to one port is one run");
    let few = runs_for(&switch, &mut a, &mut others, &burst(0, 64, 60));
    assert_eq!(few, 1, "so is one that takes little time");
    assert_closed(&switch);
}

/// A run ends between frames: one of many slots for which it has no time is left whole to the next one.
#[test]
fn a_long_flood_of_chains_takes_several_runs() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let [mut a, others @ ..]: [Port; 9] = switch.ports();
    let mut others = Vec::from(others);
    let chains = burst(0, 15, 64_000);
    for f in &chains {
        push_parts(&mut a, &[1000; 64], f, 0);
    }
    let before = runs(&switch);
    send(&mut a, &[]);
    assert!((2..15).contains(&(runs(&switch) - before)), "{} runs", runs(&switch) - before);
    for port in &mut others {
        assert!(receive(port) == chains);
    }
    assert_closed(&switch);
}

/// The same for bursts that need more than plain copies; a mirror sees all.
#[test]
fn a_long_flood_with_features_takes_several_runs() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let [mut a, others @ ..]: [Port; 9] = switch.ports();
    let mut others = Vec::from(others);
    let mirror = Mirror { to: "p9".into(), rx: false, tx: true };
    switch.set_conf("p1", &PortConf { mirror: Some(mirror), ..PortConf::default() }).unwrap();
    let mut mirror = others.pop().unwrap();
    let flood = burst(0, 500, 2112);
    let taken = runs_for(&switch, &mut a, &mut others, &flood);
    assert!((2..20).contains(&taken), "{taken} runs");
    assert_eq!(receive(&mut mirror).len(), 2 * flood.len());
}

/// Tells a thread to end, also when the test fails.
struct AtEnd<'a>(&'a AtomicBool);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Where a port's record has its ticket.
const TICKET: std::ops::Range<usize> = port_conf::TICKET..port_conf::TICKET + 8;

/// The record of port `number`, with another ticket.
fn set_ticket(ports: &MapHandle, number: u32, record: &mut [u8], ticket: u64) {
    record[TICKET].copy_from_slice(&ticket.to_ne_bytes());
    ports.update(&number.to_ne_bytes(), record, MapFlags::ANY).unwrap();
}

/// A run that is under way when its port is deleted stops before the next receiver: by then the maps that it finds by its number
/// may be another port's. Here only the ticket changes, and changes back, again and again.
#[test]
fn a_run_ends_with_its_port() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let mut ports @ [_, _, _, _] = switch.ports();
    for (i, p) in ports.iter_mut().enumerate() {
        send(p, &[frame(0, i as u8 + 1, 60, 0)]);
    }
    let [mut a, others @ ..] = ports;
    let mut others = Vec::from(others);
    let records = MapHandle::from_pinned_path(dir(switch.name()).join("ports")).unwrap();
    let mut record = records.lookup(&1u32.to_ne_bytes(), MapFlags::ANY).unwrap().unwrap();
    let ticket = u64::from_ne_bytes(record[TICKET].try_into().unwrap());
    let ended = AtomicBool::new(false);
    let tx = || switch.stats()[0].counters.tx;
    thread::scope(|s| {
        let _end = AtEnd(&ended);
        s.spawn(|| {
            while !ended.load(Relaxed) {
                set_ticket(&records, 1, &mut record, !ticket);
                set_ticket(&records, 1, &mut record, ticket);
                (0..200).for_each(|_| std::hint::spin_loop());
            }
        });
        let begin = Instant::now();
        while tx().drops(DropReason::NoDestination) == 0 && begin.elapsed() < PATIENCE {
            for n in 0..600u16 {
                a.tx[0].push(&frame(2 + (n % 3) as u8, 1, 1500, 0));
            }
            // Runs that begin when it is not the port's do nothing, and the client learns that the port is gone.
            let synced = a.tx[0].sync();
            assert!(synced.is_ok() || synced.is_err_and(|e| e.kind() == ErrorKind::Gone));
            others.iter_mut().for_each(|p| _ = receive(p));
        }
    });
    send(&mut a, &[]);
    let tx = tx();
    assert!(tx.drops(DropReason::NoDestination) > 0, "runs went on: {tx}");
    assert!(tx.frames_out > 0);
    assert_closed(&switch);
}

/// What is found by a receiver's number may be of a port that was deleted, as its own word tells.
#[test]
fn nothing_is_delivered_to_a_port_that_was_deleted() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let [mut a, mut b] = switch.ports();
    send(&mut b, &[frame(0, 2, 60, 0)]);
    receive(&mut a);
    let states = MapHandle::from_pinned_path(dir(switch.name()).join("states")).unwrap();
    let id = states.lookup(&2u32.to_ne_bytes(), MapFlags::ANY).unwrap().unwrap();
    let state = MapHandle::from_map_id(u32::from_ne_bytes(id.try_into().unwrap())).unwrap();
    let mut value = state.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).unwrap().unwrap();
    let mut set_number = |number: u32| {
        value[..4].copy_from_slice(&number.to_ne_bytes());
        state.update(&0u32.to_ne_bytes(), &value, MapFlags::ANY).unwrap();
    };
    set_number(0);
    send(&mut a, &[frame(2, 1, 60, 1)]);
    assert_eq!(a.counters().tx.drops(DropReason::NoDestination), 1);
    set_number(2);
    send(&mut a, &[frame(2, 1, 60, 2)]);
    assert_eq!(receive(&mut b), [frame(2, 1, 60, 2)]);
    assert_closed(&switch);
}
