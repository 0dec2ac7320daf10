//! kill -9 of a port's owner at any moment. Needs root for ports of interfaces; says so and passes without.
//!
//! Objective: whatever the owner was doing, the next one opens the port at once and traffic goes
//! on. No frame is corrupt, no buffer is in two places, and nothing stays attached or listed.
//! `RINGWAY_KILLS=500` kills more owners of interfaces than the usual 60 of each kind.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::HashSet;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ringway::{Port, open_ports};
use ringway_lab::{AnyError, Lab};

use support::flood::Flood;
use support::{LIMIT, Random, assert_balanced, assert_detached, child, enter, frame, identify};
use support::{each_kind, eventually, new_pair, role, when_free, whole};

/// The child of the first test: receives, and sends what it pleases, until it is killed.
#[test]
fn owns_an_interface() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    let mut port = when_free(|| Port::open(&words[1]));
    let mut n = 0u64;
    loop {
        port.rx[0].sync().unwrap();
        n += port.rx[0].burst(u32::MAX).filter(|f| f.len() == 60).count() as u64;
        for len in [60, 1514] {
            (0..=n % 40).for_each(|k| _ = port.tx[0].push(&frame(1, k, len)));
            port.tx[0].sync().unwrap();
        }
    }
}

/// Kills of the owner of a port of each kind.
fn kills() -> u64 {
    std::env::var("RINGWAY_KILLS").map_or(60, |n| n.parse().unwrap())
}

/// Opens the port again and receives; how long opening took.
fn reopen(lab: &Lab, name: &str) -> Duration {
    let start = Instant::now();
    let mut port = lab.run(|| Ok::<_, AnyError>(when_free(|| Port::open(name)))).unwrap();
    let took = start.elapsed();
    eventually("traffic reaches the new owner", || {
        port.rx[0].sync().unwrap();
        match port.rx[0].burst(u32::MAX).count() {
            0 => Err(port.counters().rx.to_string()),
            _ => Ok(()),
        }
    });
    took
}

#[test]
fn owners_of_an_interface_are_killed_under_traffic() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        lab.run_napi("a0").unwrap(); // takes what the children send
        lab.run_napi("a1").unwrap(); // takes the flood when there is no child
        let flood = Flood::start(&lab, "a0", vec![0xff; 60]);
        let name = format!("{kind}:a1");
        let (mut random, kills) = (Random(1), kills());
        let (mut seen, mut took, mut killed) = (0, Vec::new(), Vec::new());
        for k in 0..kills {
            let mut owner = child("owns_an_interface", &format!("{} {name}", lab.name()));
            if k % 20 == 0 {
                // This one reaches its loop for sure.
                eventually("the child opens the port", || match listed(owner.0.id()) {
                    true => Ok(()),
                    false => Err("it is not listed".into()),
                });
            }
            thread::sleep(Duration::from_millis(5 + random.below(90)));
            seen += u64::from(listed(owner.0.id()));
            let id = owner.0.id();
            assert_eq!(owner.kill(), Some(libc::SIGKILL), "child {k}, pid {id}, failed by itself");
            took.push(reopen(&lab, &name));
            killed.push(id);
        }
        took.sort_unstable();
        let at = |percent: usize| took[(took.len() - 1) * percent / 100];
        eprintln!("{kind}: {seen} of {kills} had the port open when they were killed");
        eprintln!("{kind}: opened again in {:?} (median), {:?} (p99), {:?} at most", at(50), at(99), at(100));
        assert!(seen >= kills / 20);
        let mut last = lab.run(|| Ok::<_, AnyError>(when_free(|| Port::open(&name)))).unwrap();
        assert_none_listed(&killed);
        let mut received = 0;
        eventually("traffic reaches the last owner", || {
            last.rx[0].sync().unwrap();
            received += last.rx[0].burst(u32::MAX).count();
            if received > 1000 { Ok(()) } else { Err(format!("{received} frames")) }
        });
        drop(flood);
        assert_balanced(&last.counters().rx);
        drop(last);
        assert_detached(&lab);
        assert_no_namespace_but(&lab);
    });
}

fn listed(pid: u32) -> bool {
    open_ports().iter().any(|p| p.pid == pid)
}

/// After an open, the directory of open ports has no file of a killed process.
fn assert_none_listed(killed: &[u32]) {
    eventually("files of the killed are gone", || {
        let names = std::fs::read_dir("/run/ringway/ports").unwrap().flatten();
        let dead = |name: &String| {
            let pid: u32 = name.rsplit('.').nth(1).unwrap().parse().unwrap();
            killed.contains(&pid) && !Path::new(&format!("/proc/{pid}")).exists()
        };
        let left: Vec<_> = names.filter_map(|e| e.file_name().into_string().ok()).filter(dead).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
}

/// The private namespaces of the killed are gone: no network namespace of which this process's children are left.
fn assert_no_namespace_but(lab: &Lab) {
    let mine = format!("rwb-{}-", std::process::id());
    let labs: Vec<String> = ringway_lab::labs().into_iter().filter(|n| n.starts_with(&mine)).collect();
    assert!(labs.iter().all(|n| n == lab.name()), "{labs:?}");
}

/// The child of the second test: sends frames of its own stream and checks what it receives, until it is killed.
#[test]
fn owns_an_end() {
    let Some(words) = role() else { return };
    let mut port = Port::open(&words[0]).unwrap();
    let stream = words[1].parse().unwrap();
    let mut next = 0;
    loop {
        exchange(&mut port, stream, &mut next, &mut |_, _| {});
    }
}

/// Sends a few frames and looks at the frames that came.
fn exchange(port: &mut Port, stream: u16, next: &mut u64, see: &mut dyn FnMut(u16, u64)) -> u64 {
    for _ in 0..1 + *next % 50 {
        let len = [14, 60, 300, 1514, 2048, 5000][(*next % 6) as usize];
        if !port.tx[0].push(&frame(stream, *next, len)) {
            break;
        }
        *next += 1;
    }
    port.tx[0].sync().unwrap();
    port.rx[0].sync().unwrap();
    let mut got = 0;
    for f in port.rx[0].burst(64) {
        let (stream, seq) = identify(&whole(&f)).unwrap();
        see(stream, seq);
        got += 1;
    }
    got
}

#[test]
fn owners_of_a_pipes_end_are_killed_under_traffic() {
    const KILLS: u16 = 100;
    if role().is_some() {
        return;
    }
    let id = std::process::id();
    let (name, other) = (format!("pipe:kill-{id}{{"), format!("pipe:kill-{id}}}"));
    let mut port = Port::open(&name).unwrap();
    let (mut next, mut random) = (0, Random(2));
    let mut newest = vec![None; usize::from(KILLS) + 1];
    for k in 1..=KILLS {
        let mut owner = child("owns_an_end", &format!("{other} {k}"));
        // Traffic goes on: frames of this very child arrive.
        let (start, mut of_this) = (Instant::now(), 0);
        let end = Duration::from_millis(1 + random.below(20));
        let mut alive = None;
        while alive.is_none_or(|t: Instant| t.elapsed() < end) {
            assert!(start.elapsed() < LIMIT, "the pipe is stuck after {k} kills");
            exchange(&mut port, 0, &mut next, &mut |stream, seq| {
                let last: &mut Option<u64> = &mut newest[usize::from(stream)];
                assert!(last.is_none_or(|l| seq > l), "frame {seq} of owner {stream} after {last:?}");
                *last = Some(seq);
                of_this += u64::from(stream == k);
            });
            if of_this > 0 {
                alive.get_or_insert_with(Instant::now);
            }
        }
        assert_eq!(owner.kill(), Some(libc::SIGKILL), "child {k} failed by itself");
    }
    // Every buffer is in one place: each slot of all four rings is filled with a frame of its own, then all are read.
    let mut last = Port::open(&other).unwrap();
    let drain = |p: &mut Port| {
        p.rx[0].sync().unwrap();
        p.rx[0].burst(u32::MAX).fold(0, |n, f| {
            identify(&whole(&f)).unwrap();
            n + 1
        })
    };
    eventually("both directions are empty", || {
        for p in [&mut port, &mut last] {
            p.tx[0].sync().unwrap();
        }
        match drain(&mut port)
            + drain(&mut last)
            + port.tx[0].pending() as usize
            + last.tx[0].pending() as usize
        {
            0 => Ok(()),
            n => Err(format!("{n} frames are left")),
        }
    });
    let slots = u64::from(port.tx[0].slots());
    let mut sent = [0u64; 2];
    for _ in 0..2 {
        for (p, (stream, sent)) in [&mut port, &mut last].into_iter().zip((1000..).zip(&mut sent)) {
            while p.tx[0].push(&frame(stream, *sent, 2048)) {
                *sent += 1;
            }
            p.tx[0].sync().unwrap();
        }
    }
    assert_eq!(sent, [2 * (slots - 1); 2], "both rings of a direction are full");
    let mut seen = HashSet::new();
    eventually("all frames are read", || {
        for p in [&mut port, &mut last] {
            p.rx[0].sync().unwrap();
            for f in p.rx[0].burst(u32::MAX) {
                assert!(seen.insert(identify(&whole(&f)).unwrap()), "a frame was read twice");
            }
            p.tx[0].sync().unwrap();
            p.rx[0].sync().unwrap();
        }
        match seen.len() as u64 {
            n if n == sent[0] + sent[1] => Ok(()),
            n => Err(format!("{n} of {}", sent[0] + sent[1])),
        }
    });
    for p in [&port, &last] {
        assert_balanced(&p.counters().rx);
        assert_balanced(&p.counters().tx);
    }
}
