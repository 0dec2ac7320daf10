//! What can go wrong with an `ebpf:` port. Needs root; says so and passes without.
//!
//! Objective: each failure is one line that names the port and the cure, of the right kind; the port works again when
//! the cause is gone; nothing stays attached.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use ringway::{DropReason, Error, ErrorKind, Port};
use ringway_bench::lab::Lab;
use ringway_bench::lab::raw::RawReceiver;
use ringway_bench::peers::{Peer, PeerKind};

use support::{Flow, Running, assert_balanced, assert_connected, assert_detached, child_command, enter};
use support::{eventually, frame, identify, new_lab, new_pair, open, open_all, role, try_open};

/// One line, `port: what went wrong; cure`.
#[track_caller]
fn assert_clear(e: &Error, kind: ErrorKind, port: &str, cure: &str) {
    let text = e.to_string();
    eprintln!("{text}");
    assert_eq!(e.kind(), kind, "{text}");
    assert_line(&text, port, cure);
}

#[track_caller]
fn assert_line(text: &str, port: &str, cure: &str) {
    assert!(!text.contains('\n'), "{text}");
    assert!(text.starts_with(&format!("{port}: ")), "{text}");
    let (_, advice) = text.split_once("; ").unwrap_or_else(|| panic!("no cure: {text}"));
    assert!(advice.contains(cure), "{text}");
}

/// Ten bursts of each kind of path go through.
fn assert_works(lab: &Lab, names: [&str; 2]) {
    let [mut a, mut b] = open_all(lab, names);
    pass(&mut a, &mut b, 7);
}

fn pass(a: &mut Port, b: &mut Port, stream: u16) {
    let mut flow = Flow::new(stream);
    let dropped = a.counters().tx.dropped();
    for _ in 0..10 {
        flow.send(&mut a.tx[0], 60, 3);
        flow.send(&mut a.tx[0], 1514, 20);
        let goal = flow.next;
        eventually("frames arrive", || {
            flow.take(&mut b.rx[0]);
            if flow.received == goal { Ok(()) } else { Err(format!("{} of {goal}", flow.received)) }
        });
    }
    assert_eq!(a.counters().tx.dropped(), dropped);
}

#[test]
fn an_unknown_interface() {
    let Some(lab) = new_lab() else { return };
    for (name, full) in
        [("ebpf:absent", "ebpf:absent"), ("absent^", "ebpf:absent^"), ("absent-3", "ebpf:absent-3")]
    {
        let e = try_open(&lab, name).unwrap_err();
        assert_clear(&e, ErrorKind::NotFound, full, "`ip link`");
    }
}

#[test]
fn a_queue_out_of_range() {
    let Some(lab) = new_pair() else { return };
    let e = try_open(&lab, "ebpf:a0-1").unwrap_err();
    assert_clear(&e, ErrorKind::NotFound, "ebpf:a0-1", "ethtool -L");
    assert!(e.to_string().contains("0 to 0"), "{e}");
    assert_detached(&lab);
    assert_works(&lab, ["ebpf:a0-0", "ebpf:a1-0"]);
    assert_detached(&lab);
}

#[test]
fn an_interface_that_is_busy() {
    let Some(lab) = new_pair() else { return };
    let peer = match Peer::spawn(PeerKind::Xdp, ["sink", "a0"], Some(lab.name()), None) {
        Err(e) if e.is_unavailable() => {
            eprintln!("SKIP: {e}");
            return;
        }
        r => r.unwrap(),
    };
    // Ports of the same name elsewhere, and host rings, are not to blame.
    let Some(other) = new_pair() else { return };
    let innocent = [open(&other, "ebpf:a0"), open(&lab, "ebpf:a0^")];
    let e = try_open(&lab, "ebpf:a0").unwrap_err();
    assert_clear(&e, ErrorKind::Busy, "ebpf:a0", "xdp off");
    assert!(!e.to_string().contains("pid"), "{e}");
    drop((peer, innocent));
    assert_detached(&lab);
    let first = open(&lab, "ebpf:a0");
    for name in ["ebpf:a0", "ebpf:a0-0"] {
        let e = try_open(&lab, name).unwrap_err();
        assert_clear(&e, ErrorKind::Busy, name, "end its owner");
        assert!(e.to_string().contains(&format!("pid {}", std::process::id())), "{e}");
    }
    drop(first);
    assert_detached(&lab);
    assert_works(&lab, ["ebpf:a0", "ebpf:a1"]);
    assert_detached(&lab);
}

#[test]
fn an_interface_without_native_xdp() {
    let Some(lab) = new_lab() else { return };
    lab.ip("link set lo up").unwrap();
    let e = try_open(&lab, "ebpf:lo").unwrap_err();
    assert_clear(&e, ErrorKind::Unsupported, "ebpf:lo", "native XDP");
    assert_detached(&lab);
}

/// The child of `a_process_without_privilege`: says how opening its port failed.
#[test]
fn opens_without_privilege() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    for name in ["ebpf:a0", "ebpf:a0^"] {
        // SAFETY: no pointers; changes the user of this process, which is a child made for it.
        unsafe { libc::setresuid(65534, 65534, 65534) };
        let e = Port::open(name).unwrap_err();
        eprintln!("RESULT {:?} {e}", e.kind());
    }
}

#[test]
fn a_process_without_privilege() {
    let Some(lab) = new_pair() else { return };
    let mut command = child_command("opens_without_privilege", lab.name());
    let out = command.stderr(Stdio::piped()).output().unwrap();
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let lines: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("RESULT ")).collect();
    assert_eq!(lines.len(), 2, "{text}");
    for (line, port) in lines.iter().zip(["ebpf:a0", "ebpf:a0^"]) {
        let message = line.strip_prefix("Denied ").unwrap_or_else(|| panic!("{line}"));
        assert_line(message, port, "run as root");
    }
    assert_detached(&lab);
}

#[test]
fn a_link_that_is_down() {
    let Some(lab) = new_pair() else { return };
    let [mut a, mut b] = open_all(&lab, ["ebpf:a0", "ebpf:a1"]);
    pass(&mut a, &mut b, 1);
    for down in ["a0", "a1"] {
        lab.ip(&format!("link set {down} down")).unwrap();
        // The far end learns of it from the kernel's link watch, a little later.
        eventually("both links are down", || match !a.link_up().unwrap() && !b.link_up().unwrap() {
            true => Ok(()),
            false => Err("they are not".into()),
        });
        let before = a.counters().tx;
        for burst in [1, 15, 16, 100] {
            (0..burst).for_each(|k| assert!(a.tx[0].push(&frame(2, k, 60))));
            a.tx[0].sync().unwrap();
            assert_eq!(a.tx[0].pending(), 0, "{down} down: frames do not wait for ever");
            b.rx[0].sync().unwrap();
        }
        let c = a.counters().tx;
        assert_balanced(&c);
        assert_eq!(
            (c.frames_in - before.frames_in, c.frames_out),
            (132, before.frames_out),
            "{down} down: {c}"
        );
        let named = c.drops(DropReason::DeviceRefused) + c.drops(DropReason::DeviceFull);
        assert_eq!(named, c.dropped(), "{down} down: {c}");
        lab.ip(&format!("link set {down} up")).unwrap();
        eventually("the link is up", || match a.link_up().unwrap() && b.link_up().unwrap() {
            true => Ok(()),
            false => Err("it is not".into()),
        });
        pass(&mut a, &mut b, 3);
        pass(&mut b, &mut a, 4);
    }
    assert_connected(&a, &b);
    drop((a, b));
    assert_detached(&lab);
}

#[test]
fn an_interface_deleted_while_open() {
    let Some(lab) = new_pair() else { return };
    let [mut a, mut b] = open_all(&lab, ["ebpf:a0", "ebpf:a1"]);
    pass(&mut a, &mut b, 1);
    lab.ip("link del a0").unwrap();
    let within_a_second = |what: &str, sync: &mut dyn FnMut() -> ringway::Result<u32>| -> Error {
        let start = Instant::now();
        loop {
            match sync() {
                Err(e) => return e,
                // Generous: two seconds on a busy machine, one by design.
                Ok(_) => assert!(start.elapsed() < Duration::from_secs(2), "{what} goes on"),
            }
            thread::sleep(Duration::from_millis(1));
        }
    };
    for (port, name) in [(&mut a, "ebpf:a0"), (&mut b, "ebpf:a1")] {
        let e = within_a_second("rx", &mut || port.rx[0].sync());
        assert_clear(&e, ErrorKind::Gone, name, "open the port again");
        for burst in [1, 30] {
            let e = within_a_second("tx", &mut || {
                (0..burst).for_each(|_| _ = port.tx[0].push(&[0xff; 60]));
                port.tx[0].sync()
            });
            assert_clear(&e, ErrorKind::Gone, name, "open the port again");
        }
        let e = within_a_second("arm", &mut || port.rx[0].arm().map(u32::from));
        assert_clear(&e, ErrorKind::Gone, name, "open the port again");
        assert_eq!(port.link_up().unwrap_err().kind(), ErrorKind::Gone);
        assert_balanced(&port.counters().tx);
        assert_balanced(&port.counters().rx);
    }
    drop((a, b));
    let e = try_open(&lab, "ebpf:a0").unwrap_err();
    assert_clear(&e, ErrorKind::NotFound, "ebpf:a0", "`ip link`");
    lab.veth("a0", "a1").unwrap();
    assert_works(&lab, ["ebpf:a0", "ebpf:a1"]);
    assert_detached(&lab);
}

/// Live frames need NAPI at the other end of a veth; while it does not run, all frames go as socket buffers.
#[test]
fn a_veth_whose_peer_does_not_run_napi() {
    let Some(lab) = new_pair() else { return };
    let mut a = open(&lab, "ebpf:a0");
    let about = &a.info().backend;
    assert!(about.contains("takes no live frames") && about.contains("gro on"), "{about}");
    let mut host = RawReceiver::open(&lab, "a1").unwrap();
    let mut number = 0;
    for napi in [false, true] {
        if napi {
            lab.run_napi("a1").unwrap();
            thread::sleep(Duration::from_millis(150)); // the port asks ten times a second
        }
        for burst in [1, 32, 200] {
            for _ in 0..burst {
                assert!(a.tx[0].push(&frame(1, number, 60)));
                number += 1;
            }
            while a.tx[0].pending() > 0 {
                a.tx[0].sync().unwrap();
            }
        }
    }
    let c = a.counters().tx;
    assert_balanced(&c);
    assert_eq!((c.frames_in, c.frames_out), (466, 466), "{c}");
    let mut seen = Vec::new();
    while let Some(f) = host.next(Duration::from_millis(300)).unwrap() {
        seen.extend(identify(&f).ok().map(|(_, number)| number));
    }
    assert_eq!(seen[..233], (0..233).collect::<Vec<_>>(), "{c}");
    seen.sort_unstable(); // the other end's NAPI has a list for what it passes on in groups
    assert_eq!(seen, (0..466).collect::<Vec<_>>(), "{c}");
    drop(a);
    assert_detached(&lab);
}

/// The child of `a_killed_owner_leaves_nothing`: opens ports and waits to be killed.
#[test]
fn opens_and_waits() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    let ports = ["ebpf:a0", "ebpf:a1^"].map(|n| Port::open(n).unwrap());
    eprintln!("all open");
    let _ = std::io::stdin().read(&mut [0]);
    drop(ports);
}

#[test]
fn a_killed_owner_leaves_nothing() {
    let Some(lab) = new_pair() else { return };
    let mut owner =
        Running(child_command("opens_and_waits", lab.name()).stderr(Stdio::piped()).spawn().unwrap());
    let words = BufReader::new(owner.0.stderr.take().unwrap()).lines();
    assert!(words.map_while(Result::ok).any(|l| l == "all open"), "the child opens its ports");
    assert_eq!(try_open(&lab, "ebpf:a0").unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(owner.kill(), Some(libc::SIGKILL));
    assert_detached(&lab);
    assert_works(&lab, ["ebpf:a0", "ebpf:a1"]);
}
