//! kill -9 of those who use a switch, at any moment. Needs root; says so and passes without.
//!
//! Objective: neighbours lose nothing, and no ring stalls. The next owner of a dead receiver's port
//! goes on where that one was. Nothing is left of ports that were to go with their users.
//! `RINGWAY_KILLS=1000` kills more than the usual 60 of each kind.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use ringway::Port;
use ringway::switch::{Switch, SwitchSpec};
use ringway_wire::MacAddr;

use support::switch::{Neighbours, ObjectKind, Path, Temporary, exists, station};
use support::{LIMIT, Random, Running, child, eventually, role, whole};

fn kills() -> u64 {
    std::env::var("RINGWAY_KILLS").map_or(60, |n| n.parse().unwrap())
}

/// Lets a child live for a random while, short or longer.
fn live(random: &mut Random) {
    let most = [500, 3000, 20_000][random.below(3) as usize];
    thread::sleep(Duration::from_micros(random.below(most)));
}

/// Runs `test` while two neighbours exchange frames, which they must not lose. Ports `s` and `r` are for the test; station 22
/// is on `r`.
fn beside_neighbours(switch: &Temporary, test: impl FnOnce()) {
    let mut neighbours = Neighbours::new(switch);
    switch.add(&["s", "r"]);
    switch.fdb_set(MacAddr(station(22)), 0, Some("r")).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        let exchange = s.spawn(|| {
            while !done.load(Relaxed) {
                neighbours.turn();
                thread::sleep(Duration::from_micros(200));
            }
            neighbours.assert_lossless()
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
        done.store(true, Relaxed);
        let exchanged = exchange.join().unwrap();
        result.unwrap();
        eprintln!("neighbours exchanged {exchanged} frames meanwhile and lost none");
        assert!(exchanged > 100, "{exchanged}");
    });
}

/// A child: sends numbered frames, from 0 on, as fast as it can.
#[test]
fn sends() {
    let Some(words) = role() else { return };
    let mut port = Port::open(&words[0]).unwrap();
    let mut path = Path::new(21, 22);
    loop {
        for k in 0..20 {
            path.push(&mut port, [14, 60, 600, 1500, 5000][k % 5]);
        }
        port.tx[0].sync().unwrap();
    }
}

#[test]
fn senders_are_killed() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    beside_neighbours(&switch, || {
        let mut receiver = switch.open("r");
        let (mut random, mut received) = (Random(1), 0);
        for k in 0..kills() {
            let mut running = child("sends", &format!("{}:s", switch.name()));
            let path = Path::new(21, 22);
            let (mut next, start, mut end) = (0, Instant::now(), None);
            let life = Duration::from_micros(random.below([300, 3000, 20_000][k as usize % 3]));
            // Reads on a little after the end: what was sent before is there.
            loop {
                receiver.rx[0].sync().unwrap();
                let before = received;
                for f in receiver.rx[0].burst(u32::MAX) {
                    let n = path.number(&whole(&f));
                    assert!(n >= next, "frame {n}, {next} was next");
                    next = n + 1;
                    received += 1;
                }
                match end {
                    None if received > 0 && next > 0 => end = Some(Instant::now() + life),
                    None => assert!(start.elapsed() < LIMIT, "sender {k} is not heard"),
                    Some(t) if Instant::now() >= t => {
                        if running.0.try_wait().unwrap().is_none() {
                            assert_eq!(running.kill(), Some(9));
                        } else if before == received {
                            break;
                        }
                    }
                    Some(_) => {}
                }
            }
        }
        let c = receiver.counters().rx;
        assert_eq!((c.frames_out, c.resets), (received, 0), "{c}");
        support::assert_balanced(&c);
        eprintln!("{} senders killed; {received} of their frames received, in order", kills());
    });
}

/// A child: receives, and notes in a file the number of the last frame that it read, and of the last one given back.
#[test]
fn receives() {
    let Some(words) = role() else { return };
    let notes = File::options().write(true).open(&words[1]).unwrap();
    let note = |at, n: u64| assert_eq!(notes.write_at(&n.to_le_bytes(), at).unwrap(), 8);
    let mut port = Port::open(&words[0]).unwrap();
    let path = Path::new(21, 22);
    let mut last = None;
    loop {
        port.rx[0].sync().unwrap();
        // All that was read before this sync is given back by it.
        if let Some(n) = last {
            note(BACK, n + 1);
        }
        for f in port.rx[0].burst(7) {
            let n = path.number(&whole(&f));
            match last {
                None => note(FIRST, n + 1),
                Some(l) => assert_eq!(n, l + 1, "in order, none left out"),
            }
            note(READ, n + 1);
            last = Some(n);
        }
    }
}

/// Places in the file of notes; each is a number of frames, 0 at first.
const READ: u64 = 0;
const BACK: u64 = 8;
const FIRST: u64 = 16;

#[test]
fn receivers_are_killed() {
    let Some(switch) = Temporary::new(&SwitchSpec { slots: 256, ..SwitchSpec::default() }) else { return };
    let file = std::env::temp_dir().join(format!("{}-notes", switch.name()));
    fs::write(&file, [0; 24]).unwrap();
    let notes = File::options().read(true).write(true).open(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let at = format!("/proc/{}/fd/{}", std::process::id(), std::os::fd::AsRawFd::as_raw_fd(&notes));
    let noted = |at| {
        let mut n = [0; 8];
        notes.read_exact_at(&mut n, at).unwrap();
        u64::from_le_bytes(n)
    };
    beside_neighbours(&switch, || {
        let mut sender = switch.open("s");
        let (mut random, mut path) = (Random(1), Path::new(21, 22));
        // No more on the way than the ring holds, so none may be missing. A frame has two slots at most.
        let mut feed = |random: &mut Random| {
            while path.sent - noted(BACK) < 100 {
                path.push(&mut sender, [60, 3000][random.below(2) as usize]);
            }
            sender.tx[0].sync().unwrap();
        };
        for k in 0..kills() {
            let (read, back) = (noted(READ), noted(BACK));
            notes.write_all_at(&[0; 8], FIRST).unwrap();
            let mut running: Running = child("receives", &format!("{}:r {at}", switch.name()));
            let start = Instant::now();
            while noted(FIRST) == 0 {
                feed(&mut random);
                assert!(
                    start.elapsed() < LIMIT,
                    "receiver {k} gets nothing after {read} read and {back} given back"
                );
            }
            let first = noted(FIRST) - 1;
            assert!(
                (back..=read).contains(&first),
                "receiver {k}: first {first}, {back} given back, {read} read"
            );
            let end =
                Instant::now() + Duration::from_micros(random.below([300, 3000, 20_000][k as usize % 3]));
            while Instant::now() < end {
                feed(&mut random);
            }
            assert_eq!(running.kill(), Some(9), "the receiver found something wrong");
        }
        let c = sender.counters().tx;
        assert_eq!((c.dropped(), c.frames_out), (0, path.sent), "{c}");
        eprintln!("{} receivers killed; {} frames sent to them, none dropped", kills(), path.sent);
    });
}

/// Numbers of the maps and programs that a process has open.
fn objects(pid: u32) -> Vec<(ObjectKind, u32)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap().flatten() {
        let Ok(text) = fs::read_to_string(entry.path()) else { continue };
        for line in text.lines() {
            let id = |name| line.strip_prefix(name).and_then(|id| id.trim().parse().ok());
            all.extend(id("map_id:").map(|id| (ObjectKind::Map, id)));
            all.extend(id("prog_id:").map(|id| (ObjectKind::Program, id)));
        }
    }
    all
}

#[test]
fn ephemeral_ports_of_the_killed_are_removed() {
    let Some(switch) = Temporary::new(&SwitchSpec { slots: 64, ..SwitchSpec::default() }) else { return };
    // The program of the switch, which all ports have, counts as this process's.
    let _send = support::switch::open_object(&support::switch::files(switch.name(), "../send"));
    let mine = objects(std::process::id());
    let (mut random, mut of_ports) = (Random(2), Vec::new());
    for k in 0..kills() / 4 {
        let mut running = child("sends", &format!("{}:e{k}", switch.name()));
        if k % 2 == 0 {
            eventually("the port is there", || match switch.ports().len() {
                0 => Err("none".into()),
                _ => Ok(()),
            });
            live(&mut random);
            of_ports.extend(objects(running.0.id()).into_iter().filter(|o| !mine.contains(o)));
        } else {
            // Often while the port is being made.
            thread::sleep(Duration::from_micros(random.below(400_000)));
        }
        assert_eq!(running.kill(), Some(9));
        let again = Switch::open(switch.name()).unwrap();
        assert_eq!(again.ports(), [], "child {k}");
        let files = support::switch::files(switch.name(), "");
        let left: Vec<_> = fs::read_dir(files).unwrap().flatten().map(|e| e.file_name()).collect();
        assert!(left.is_empty(), "child {k}: {left:?}");
    }
    assert!(
        of_ports.iter().any(|o| o.0 == ObjectKind::Map)
            && of_ports.iter().any(|o| o.0 == ObjectKind::Program)
    );
    eprintln!("{} users of ephemeral ports killed; no port is left", kills() / 4);
    eventually("maps and programs of dead ports are gone", || {
        let left: Vec<_> = of_ports.iter().filter(|o| exists(o.0, o.1)).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
}
