//! A program makes the same calls twice: on the kernel's packet sockets over a veth, and with the library before libc, on
//! a port of a switch. What it prints, and what arrives at the far end, must be the same. Needs root.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod child;
mod host;

use child::{TYPE, frame};
use host::Host;

/// The child's side; does nothing in an ordinary run of the tests.
#[test]
fn program() {
    let Ok(words) = std::env::var(host::ROLE) else { return };
    let words: Vec<&str> = words.split(' ').collect();
    match words[0] {
        "send" => child::send(),
        "receive" => child::receive(&words[1..]),
        other => panic!("{other}?"),
    }
}

#[test]
fn what_is_sent_arrives_as_it_would_without() {
    let Some(host) = Host::new() else { return };
    let expected = host.plain("send", &[]);
    for map in [false, true] {
        let got = host.shimmed("send", &[], map, &[]);
        assert_eq!(got.lines, expected.lines, "mapped: {map}");
        assert_eq!(got.frames.len(), expected.frames.len(), "mapped: {map}");
        assert_eq!(got.frames, expected.frames, "mapped: {map}");
        assert!(got.errors.contains("frames sent"), "{}", got.errors);
    }
}

#[test]
fn frames_that_wait_arrive_all_the_same() {
    let Some(host) = Host::new() else { return };
    let expected = host.plain("send", &[]);
    for map in [false, true] {
        let got = host.shimmed("send", &[], map, &[("RINGWAY_BATCH_US", "2000")]);
        assert_eq!(got.lines, expected.lines, "mapped: {map}");
        assert_eq!(got.frames, expected.frames, "mapped: {map}");
    }
}

/// One of each kind that a receiver can tell apart.
fn kinds() -> Vec<Vec<u8>> {
    let mut frames: Vec<_> = (0..10).map(|n| frame(n, 60 + 50 * usize::from(n))).collect();
    frames[1][..6].fill(0xff);
    frames[2][..6].copy_from_slice(&[1, 0, 0x5e, 0, 0, 1]);
    frames[3][..6].copy_from_slice(&host::OWN);
    frames[4][12..18].copy_from_slice(&[0x81, 0, 0x60, 5, 0x88, 0xb5]);
    frames[5][12..14].copy_from_slice(&[0, 200]);
    frames[6][12..14].copy_from_slice(&[0x08, 0x00]);
    frames.push(frame(11, 1514));
    frames
}

fn same(words: &str, frames: &[Vec<u8>]) {
    let Some(host) = Host::new() else { return };
    let expected = host.plain(words, frames);
    let got = host.shimmed(words, frames, true, &[]);
    for (got, expected) in got.lines.iter().zip(&expected.lines) {
        assert_eq!(got, expected, "{words}");
    }
    assert_eq!(got.lines.len(), expected.lines.len(), "{words}");
    assert!(expected.lines.len() > 5 && got.errors.contains("received"), "{words}: {}", got.errors);
}

#[test]
fn each_call_receives_the_same() {
    let all = kinds();
    for how in ["recv", "recvfrom", "recvmsg", "recvmmsg", "poll", "select", "epoll"] {
        same(&format!("receive raw {how} {}", all.len()), &all);
    }
}

#[test]
fn without_link_headers() {
    let all = kinds();
    for how in ["recvfrom", "recvmsg", "ring1", "ring2"] {
        same(&format!("receive dgram {how} {}", all.len()), &all);
    }
}

#[test]
fn mapped_rings() {
    let all = kinds();
    for how in ["ring0", "ring1", "ring2"] {
        same(&format!("receive raw {how} {}", all.len()), &all);
    }
}

#[test]
fn filters_and_types() {
    let all = kinds();
    let passed = all.iter().filter(|f| f[14] >= 3).count();
    same(&format!("receive raw recvmsg {passed} filter"), &all);
    let typed =
        all.iter().filter(|f| f[12..14] == TYPE.to_be_bytes() || f[16..18] == TYPE.to_be_bytes()).count();
    same(&format!("receive raw recvfrom {typed} one-type"), &all);
    same(&format!("receive raw poll {typed} one-type"), &all);
}
