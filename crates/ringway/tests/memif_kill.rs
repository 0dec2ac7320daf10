//! kill -9 of either end of a memif connection at any moment. The other end goes on: it counts what was lost, delivers what had come
//! whole, and serves the next peer.
//!
//! `RINGWAY_KILLS=200` kills so many peers of each kind instead of 30.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::thread;
use std::time::Duration;

use ringway::{OpenOptions, Port};
use ringway_lab::TemporaryFolder;

use support::{Random, assert_balanced, child, eventually, frame, identify, role, when_free, whole};

/// The child: sends and receives until it is killed.
#[test]
fn owns_an_end() {
    let Some(words) = role() else { return };
    let mut port = when_free(|| OpenOptions::new().slots(256).open(&words[0]));
    let mut n = 0u64;
    loop {
        for len in [60, 1514, 5000] {
            (0..=n % 60).for_each(|k| _ = port.tx[0].push(&frame(1, n + k, len)));
            port.tx[0].sync().unwrap();
        }
        port.rx[0].sync().unwrap();
        n += 1 + port.rx[0].burst(u32::MAX).count() as u64;
    }
}

/// Sends and receives for a while; returns the frames received, each of which is whole.
fn work(port: &mut Port, rounds: u64) -> u64 {
    let mut got = 0;
    for n in 0..rounds {
        for len in [60, 1514, 5000] {
            (0..=n % 40).for_each(|k| _ = port.tx[0].push(&frame(2, n + k, len)));
            port.tx[0].sync().unwrap();
        }
        port.rx[0].sync().unwrap();
        for f in port.rx[0].burst(u32::MAX) {
            assert_eq!(identify(&whole(&f)).unwrap().0, 1, "a frame of the peer");
            got += 1;
        }
    }
    got
}

fn peers_are_killed(own: &str, peer: &str) {
    let kills: u64 = std::env::var("RINGWAY_KILLS").map_or(30, |n| n.parse().unwrap());
    let mut port = OpenOptions::new().slots(256).open(own).unwrap();
    let (mut random, mut received) = (Random(5), 0);
    for _ in 0..kills {
        let owner = child("owns_an_end", peer);
        eventually("the peer sends", || match work(&mut port, 8) {
            0 => Err(port.status()),
            n => {
                received += n;
                Ok(())
            }
        });
        thread::sleep(Duration::from_micros(random.below(3000)));
        received += work(&mut port, random.below(60));
        drop(owner); // kill -9
        eventually("the link goes down", || {
            received += work(&mut port, 8);
            if port.link_up().unwrap() { Err(port.status()) } else { Ok(()) }
        });
    }
    // What the last peer had published, and what it had not read.
    received += work(&mut port, 8);
    let counters = port.counters();
    assert_eq!((counters.rx.link_changes, counters.tx.link_changes), (2 * kills, 2 * kills));
    assert_eq!(counters.rx.frames_out, received);
    assert_balanced(&counters.rx);
    // Frames that wait for the next peer are not counted yet.
    assert_eq!(counters.tx.frames_in, counters.tx.frames_out + counters.tx.dropped());
    drop(port);
}

#[test]
fn clients_are_killed() {
    let at = format!("@ringway-memif-kill-{}", std::process::id());
    peers_are_killed(&format!("memif:{at}"), &format!("memif:{at},role=client"));
}

#[test]
fn clients_without_copies_are_killed() {
    let at = format!("@ringway-memif-kill-zero-{}", std::process::id());
    peers_are_killed(&format!("memif:{at}"), &format!("memif:{at},role=client,zero-copy=yes"));
}

/// A killed server leaves its socket behind; the next one replaces it.
#[test]
fn servers_are_killed() {
    let folder = TemporaryFolder::create(&std::env::temp_dir()).unwrap();
    for options in ["", ",zero-copy=yes"] {
        let at = folder.path().join("memif.sock");
        let own = format!("memif:{},role=client{options}", at.display());
        peers_are_killed(&own, &format!("memif:{}", at.display()));
    }
}
