//! `memif:` ports with Debian's testpmd at the far end, in both roles. Needs root for namespaces, and dpdk-testpmd; says so and passes
//! without.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use ringway::{DropReason, Port};
use ringway_lab::TemporaryFolder;

use support::dpdk::Testpmd;
use support::{Flow, assert_balanced, eventually, new_lab, open};

/// A socket without a file, for servers, and its name for DPDK. The namespace has it, in which the port is opened.
fn socket(tag: &str) -> (String, String) {
    let name = format!("ringway-memif-dpdk-{}-{tag}", std::process::id());
    (format!("@{name}"), format!("socket={name},socket-abstract=yes"))
}

/// A socket in a folder, for clients: they connect from the namespace of the thread that syncs.
fn path(folder: &TemporaryFolder, tag: &str) -> (String, String) {
    let path = folder.path().join(tag).display().to_string();
    (path.clone(), format!("socket={path},socket-abstract=no"))
}

fn until_up(port: &mut Port) {
    eventually("the link comes up", || {
        port.rx.iter_mut().for_each(|rx| assert!(rx.sync().is_ok()));
        port.tx.iter_mut().for_each(|tx| assert!(tx.sync().is_ok()));
        if port.link_up().unwrap() { Ok(()) } else { Err(port.status()) }
    });
}

fn until_down(port: &mut Port) {
    eventually("the link goes down", || {
        port.rx.iter_mut().for_each(|rx| assert!(rx.sync().is_ok()));
        port.tx.iter_mut().for_each(|tx| assert!(tx.sync().is_ok()));
        // Each ring counts what it lost when it sees that the link changed.
        let seen = port.counters().tx.link_changes.is_multiple_of(2)
            && port.counters().rx.link_changes.is_multiple_of(2);
        if port.link_up().unwrap() || !seen { Err(port.status()) } else { Ok(()) }
    });
}

/// The far end is turned away for this reason.
fn turned_away(port: &mut Port, why: &str) {
    eventually("the far end is turned away", || {
        port.rx[0].sync().unwrap();
        let status = port.status();
        if !port.link_up().unwrap() && status.contains(why) { Ok(()) } else { Err(status) }
    });
}

/// The far end sends back all that it gets on ring `ring`. testpmd drops what it gets before it has seen its own link: how many frames these
/// were.
fn exchange(port: &mut Port, ring: usize, lens: &[usize]) -> u64 {
    let mut flow = Flow::new(ring as u16 + 1);
    eventually("a frame comes back", || {
        flow.send(&mut port.tx[ring], 60, 1);
        flow.take(&mut port.rx[ring]);
        if flow.received > 0 { Ok(()) } else { Err(port.status()) }
    });
    eventually("the last frame comes back", || {
        flow.take(&mut port.rx[ring]);
        if flow.expect == flow.next { Ok(()) } else { Err(port.status()) }
    });
    let lost = flow.next - flow.received;
    for round in 0..100 {
        flow.send(&mut port.tx[ring], lens[round % lens.len()], 25);
        eventually("all frames come back", || {
            port.tx[ring].sync().unwrap();
            flow.take(&mut port.rx[ring]);
            match flow.received + lost == flow.next {
                true => Ok(()),
                false => Err(format!("{} of {}: {}", flow.received, flow.next, port.status())),
            }
        });
    }
    lost
}

fn assert_closed(port: &Port, lost: u64) {
    let counters = port.counters();
    assert_balanced(&counters.tx);
    assert_balanced(&counters.rx);
    assert_eq!(counters.tx.frames_out, counters.rx.frames_out + lost);
}

const LENS: &[usize] = &[60, 64, 1000, 1514];

/// Chains in both directions: testpmd's buffers have 2048 bytes.
const LONG: &[usize] = &[60, 9000, 2048, 2049, 4100];

#[test]
fn testpmd_is_the_client_and_comes_again() {
    let Some(lab) = new_lab() else { return };
    let (at, device) = socket("client");
    let mut port = open(&lab, &format!("memif:{at},id=4"));
    let mut lost = 0;
    for _ in 0..2 {
        let device = format!("net_memif0,role=client,id=4,{device}");
        let Some(testpmd) = Testpmd::start(&lab, &device) else { return };
        until_up(&mut port);
        lost += exchange(&mut port, 0, LENS);
        testpmd.end();
        until_down(&mut port);
        assert_closed(&port, lost);
    }
    assert_eq!(port.counters().rx.link_changes, 4);
}

#[test]
fn testpmd_is_the_server_with_and_without_copies() {
    let Some(lab) = new_lab() else { return };
    let folder = TemporaryFolder::create(&std::env::temp_dir()).unwrap();
    for (tag, options) in [("server", ""), ("zero", ",zero-copy=yes")] {
        let (at, device) = path(&folder, tag);
        let mut port = open(&lab, &format!("memif:{at},role=client{options}"));
        let device = format!("net_memif0,role=server,id=0,{device}");
        let Some(testpmd) = Testpmd::start(&lab, &device) else { return };
        until_up(&mut port);
        let lost = exchange(&mut port, 0, LENS) + exchange(&mut port, 0, LONG);
        assert_closed(&port, lost);
        // The server must rest before its client goes: it would use memory that is gone.
        testpmd.end();
        until_down(&mut port);
    }
}

#[test]
fn memory_that_testpmd_could_cut_short_is_refused_unless_wanted() {
    let Some(lab) = new_lab() else { return };
    let (at, device) = socket("unsealed");
    let device = format!("net_memif0,role=client,id=0,{device},zero-copy=yes");
    let dpdk = &["--single-file-segments", "--legacy-mem"];
    let mut port = open(&lab, &format!("memif:{at}"));
    let Some(testpmd) = Testpmd::start_with(&lab, &device, dpdk, &[]) else { return };
    turned_away(&mut port, "is not sealed against shrinking");
    testpmd.end();
    drop(port);

    let mut port = open(&lab, &format!("memif:{at},unsealed=yes"));
    let Some(testpmd) = Testpmd::start_with(&lab, &device, dpdk, &[]) else { return };
    until_up(&mut port);
    let lost = exchange(&mut port, 0, LENS);
    assert_closed(&port, lost);
    testpmd.end();
}

#[test]
fn several_rings_carry_their_own_frames() {
    let Some(lab) = new_lab() else { return };
    let (at, device) = socket("rings");
    let mut port = open(&lab, &format!("memif:{at},rings=2"));
    let device = format!("net_memif0,role=client,id=0,{device},rsize=8");
    let Some(testpmd) = Testpmd::start_with(&lab, &device, &[], &["--rxq=2", "--txq=2"]) else { return };
    until_up(&mut port);
    let lost = exchange(&mut port, 0, LENS) + exchange(&mut port, 1, LONG);
    assert_closed(&port, lost);
    testpmd.end();
}

#[test]
fn a_secret_lets_in_who_knows_it() {
    let Some(lab) = new_lab() else { return };
    let (at, device) = socket("secret");
    let folder = TemporaryFolder::create(&std::env::temp_dir()).unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, "open sesame\n").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut port = open(&lab, &format!("memif:{at},secret={}", file.display()));
    let with = |secret: &str| format!("net_memif0,role=client,id=0,{device},secret={secret}");
    let Some(wrong) = Testpmd::start(&lab, &with("sesame")) else { return };
    turned_away(&mut port, "Incorrect secret");
    wrong.end();
    let Some(right) = Testpmd::start(&lab, &with("open sesame")) else { return };
    until_up(&mut port);
    exchange(&mut port, 0, LENS);
    right.end();
}

#[test]
fn frames_that_testpmd_had_not_read_are_counted() {
    let Some(lab) = new_lab() else { return };
    let folder = TemporaryFolder::create(&std::env::temp_dir()).unwrap();
    let (at, device) = path(&folder, "unread");
    let mut port = open(&lab, &format!("memif:{at},role=client"));
    let device = format!("net_memif0,role=server,id=0,{device}");
    let Some(mut testpmd) = Testpmd::start(&lab, &device) else { return };
    until_up(&mut port);
    exchange(&mut port, 0, LENS);
    testpmd.rest();
    for n in 0..20 {
        assert!(port.tx[0].push(&[n; 60]));
    }
    port.tx[0].sync().unwrap();
    testpmd.end_resting();
    until_down(&mut port);
    let tx = port.counters().tx;
    assert_eq!(tx.drops(DropReason::PeerGone), 20, "{tx:?}");
    assert_balanced(&tx);
}
