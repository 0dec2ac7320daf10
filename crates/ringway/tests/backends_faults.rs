//! What can go wrong with a port of each kind. Needs root; says so and passes without.
//!
//! Objective: each failure is one line that names the port and the cure, of the right kind; the port works again when
//! the cause is gone; nothing stays attached.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::process::Stdio;

use ringway::{DropReason, ErrorKind, Port};

use support::foreign::{Foreign, Hook, XDP_PASS};
use support::{
    Flow, KINDS, assert_balanced, assert_clear, assert_connected, assert_detached, assert_gone, assert_line,
};
use support::{
    child_command, child_with_all_open, each_kind, ends, enter, eventually, frame, new_lab, new_pair, open,
    open_ends, role, try_open, wait_with,
};

/// Ten bursts of each kind of path go through.
fn assert_works([mut a, mut b]: [Port; 2]) {
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
    each_kind(|kind| {
        let Some(lab) = new_lab() else { return };
        for name in [format!("{kind}:absent"), format!("{kind}:absent-3")] {
            let e = try_open(&lab, &name).unwrap_err();
            assert_clear(&e, ErrorKind::NotFound, &name, "`ip link`");
        }
    });
}

#[test]
fn a_queue_out_of_range() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        let name = format!("{kind}:a0-1");
        let e = try_open(&lab, &name).unwrap_err();
        assert_clear(&e, ErrorKind::NotFound, &name, "ethtool -L");
        assert!(e.to_string().contains("0 to 0"), "{e}");
        assert_detached(&lab);
        assert_works(ends(kind).map(|name| open(&lab, &format!("{name}-0"))));
        assert_detached(&lab);
    });
}

/// Whether a port of this kind leaves the interface to others.
fn shares(kind: &str) -> bool {
    kind == "packet"
}

#[test]
fn an_interface_whose_xdp_hook_is_taken() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        let theirs = Foreign::attach(&lab, "a0", Hook::Xdp, XDP_PASS);
        // Ports of the same name elsewhere, and host rings, are not to blame.
        let Some(other) = new_pair() else { return };
        let name = &ends(kind)[0];
        let innocent = [open(&other, name), open(&lab, "ebpf:a0^")];
        match try_open(&lab, name) {
            Ok(_) => assert!(shares(kind)),
            Err(e) => {
                assert_clear(&e, ErrorKind::Busy, name, "`bpftool link detach id ");
                assert!(!shares(kind) && !e.to_string().contains("pid"), "{e}");
            }
        }
        drop((theirs, innocent));
        assert_detached(&lab);
        assert_works(open_ends(&lab, kind));
        assert_detached(&lab);
    });
}

/// The error for the second owner of an interface names the first one, for all kinds that can't
/// share.
#[test]
fn two_owners() {
    each_kind(|first| {
        for second in KINDS {
            let Some(lab) = new_pair() else { return };
            let owner = open(&lab, &format!("{first}:a0"));
            for name in [format!("{second}:a0"), format!("{second}:a0-0")] {
                match try_open(&lab, &name) {
                    Ok(_) => assert!(shares(first) || shares(second), "{name} beside {first}:a0"),
                    Err(e) => {
                        assert_clear(
                            &e,
                            ErrorKind::Busy,
                            &name,
                            "this process has it open itself: name another port",
                        );
                        let text = e.to_string();
                        let named = format!("pid {} has {first}:a0 open", std::process::id());
                        assert!(text.contains(&named), "{text}");
                    }
                }
            }
            drop(owner);
            assert_detached(&lab);
            assert_works(open_ends(&lab, second));
            assert_detached(&lab);
        }
    });
}

/// The child of `a_process_without_privilege`: says how opening its port failed.
#[test]
fn opens_without_privilege() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    // SAFETY: no pointers; changes the user of this process, which is a child made for it.
    unsafe { libc::setresuid(65534, 65534, 65534) };
    for name in &words[1..] {
        let e = Port::open(name).unwrap_err();
        eprintln!("RESULT {:?} {e}", e.kind());
    }
}

#[test]
fn a_process_without_privilege() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        let mut ports = vec![format!("{kind}:a0")];
        ports.extend((kind == "ebpf").then(|| "ebpf:a0^".to_owned()));
        let words = format!("{} {}", lab.name(), ports.join(" "));
        let mut command = child_command("opens_without_privilege", &words);
        let out = command.stderr(Stdio::piped()).output().unwrap();
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        let lines: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("RESULT ")).collect();
        assert_eq!(lines.len(), ports.len(), "{text}");
        for (line, port) in lines.iter().zip(&ports) {
            let message = line.strip_prefix("Denied ").unwrap_or_else(|| panic!("{line}"));
            assert_line(message, port, "run as root");
        }
        assert_detached(&lab);
    });
}

#[test]
fn a_link_that_is_down() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        let [mut a, mut b] = open_ends(&lab, kind);
        pass(&mut a, &mut b, 1);
        for down in ["a0", "a1"] {
            lab.ip(&format!("link set {down} down")).unwrap();
            // The far end learns of it from the kernel's link watch, a little later.
            eventually("both links are down", || match !a.link_up().unwrap() && !b.link_up().unwrap() {
                true => Ok(()),
                false => Err("they are not".into()),
            });
            let before = a.counters().tx;
            // More in all than any ring of the kernel holds.
            let bursts = [1, 15, 16, 100].into_iter().chain(std::iter::repeat_n(50, 100));
            for burst in bursts {
                (0..burst).for_each(|k| assert!(a.tx[0].push(&frame(2, k, 60))));
                a.tx[0].sync().unwrap();
                assert_eq!(a.tx[0].pending(), 0, "{down} down: frames do not wait for ever");
                b.rx[0].sync().unwrap();
            }
            let c = a.counters().tx;
            assert_balanced(&c);
            assert_eq!(
                (c.frames_in - before.frames_in, c.frames_out),
                (5132, before.frames_out),
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
    });
}

#[test]
fn an_interface_deleted_while_open() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        let [mut a, mut b] = open_ends(&lab, kind);
        pass(&mut a, &mut b, 1);
        lab.ip("link del a0").unwrap();
        let [near, far] = ends(kind);
        assert_gone(&mut a, &near);
        assert_gone(&mut b, &far);
        drop((a, b));
        let e = try_open(&lab, &near).unwrap_err();
        assert_clear(&e, ErrorKind::NotFound, &near, "`ip link`");
        lab.veth("a0", "a1").unwrap();
        assert_works(open_ends(&lab, kind));
        assert_detached(&lab);
    });
}

/// The child of `a_killed_owner_leaves_nothing`: opens ports and waits to be killed.
#[test]
fn opens_and_waits() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    let names = [format!("{}:a0", words[1]), "ebpf:a1^".to_owned()];
    wait_with(names.map(|n| Port::open(&n).unwrap()));
}

#[test]
fn a_killed_owner_leaves_nothing() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        let mut owner = child_with_all_open("opens_and_waits", &format!("{} {kind}", lab.name()));
        match try_open(&lab, &ends(kind)[0]) {
            Ok(_) => assert!(shares(kind)),
            Err(e) => assert_eq!(e.kind(), ErrorKind::Busy),
        }
        assert_eq!(owner.kill(), Some(libc::SIGKILL));
        assert_detached(&lab);
        assert_works(open_ends(&lab, kind));
    });
}
