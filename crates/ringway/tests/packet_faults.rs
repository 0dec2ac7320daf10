//! What can go wrong with a `packet:` port. Needs root; says so and passes without.
//!
//! Objective: each failure is one line that names the port and the cure, and has the right kind.
//! The port works again when the cause is gone. A killed owner leaves nothing behind.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::io::Read;
use std::os::fd::AsRawFd;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use ringway::{DropReason, ErrorKind, Port};
use ringway_lab::{AnyError, Lab};

use support::{
    Flow, assert_balanced, assert_clear, assert_connected, assert_gone, assert_line, child_command,
    child_with_all_open, enter, eventually,
};
use support::{
    frame, identify, new_lab, new_pair, open, open_all, output, promiscuity, role, try_open, wait_with,
};

const PORTS: [&str; 2] = ["packet:a0", "packet:a1"];

fn pass(a: &mut Port, b: &mut Port, stream: u16) {
    let mut flow = Flow::new(stream);
    for len in [60, 1514] {
        flow.send(&mut a.tx[0], len, 30);
        flow.take_all(&mut b.rx[0], a);
    }
    assert_eq!(flow.received, 60);
}

#[test]
fn names_that_can_not_be_opened() {
    let Some(lab) = new_pair() else { return };
    let refused = |name: &str, kind, cure: &str| {
        assert_clear(&try_open(&lab, name).unwrap_err(), kind, name, cure);
    };
    refused("packet:absent", ErrorKind::NotFound, "`ip link`");
    refused("packet:a0^", ErrorKind::BadName, "ebpf:a0^");
    refused("packet:a0-1", ErrorKind::NotFound, "ethtool -L");
    lab.ip("tuntap add t0 mode tun").unwrap();
    refused("packet:t0", ErrorKind::Unsupported, "tap");
    let mut open = open_all(&lab, ["packet:a0-0", "packet:a1-0"]);
    let [a, b] = &mut open;
    pass(a, b, 1);
}

#[test]
fn several_owners_of_one_interface() {
    let Some(lab) = new_pair() else { return };
    let [mut a, mut b] = open_all(&lab, PORTS);
    let mut second = open(&lab, "packet:a1");
    let mut flow = Flow::new(1);
    flow.send(&mut a.tx[0], 60, 100);
    let mut twin = Flow { next: flow.next, ..Flow::new(1) };
    flow.take_all(&mut b.rx[0], &a);
    twin.take_all(&mut second.rx[0], &a);
    assert_eq!(promiscuity(&lab, "a1"), 2);
    drop((a, b, second));
    // a process that another test is starting has a copy of each descriptor for a moment
    eventually("nobody asks for all frames any more", || {
        match ["a0", "a1"].map(|end| promiscuity(&lab, end)) {
            [0, 0] => Ok(()),
            left => Err(format!("{left:?}")),
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
    let e = Port::open("packet:a0").unwrap_err();
    eprintln!("RESULT {:?} {e}", e.kind());
}

#[test]
fn a_process_without_privilege() {
    let Some(lab) = new_pair() else { return };
    let mut command = child_command("opens_without_privilege", lab.name());
    let out = command.stderr(Stdio::piped()).output().unwrap();
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let line = text.lines().find_map(|l| l.strip_prefix("RESULT ")).unwrap_or_else(|| panic!("{text}"));
    assert_line(line.strip_prefix("Denied ").unwrap_or_else(|| panic!("{line}")), "packet:a0", "CAP_NET_RAW");
}

#[test]
fn a_link_that_is_down() {
    let Some(lab) = new_pair() else { return };
    lab.ip("link set a1 down").unwrap();
    let [mut a, mut b] = open_all(&lab, PORTS);
    lab.ip("link set a1 up").unwrap();
    let up = |a: &Port, b: &Port, want: bool| {
        eventually("the links change", || match (a.link_up().unwrap(), b.link_up().unwrap()) {
            (x, y) if x == want && y == want => Ok(()),
            state => Err(format!("{state:?}")),
        });
    };
    up(&a, &b, true);
    pass(&mut a, &mut b, 1);
    for down in ["a0", "a1"] {
        lab.ip(&format!("link set {down} down")).unwrap();
        up(&a, &b, false);
        let before = a.counters().tx;
        for burst in [1, 15, 100] {
            (0..burst).for_each(|k| assert!(a.tx[0].push(&frame(2, k, 60))));
            a.tx[0].sync().unwrap();
            assert_eq!(a.tx[0].pending(), 0, "{down} down: frames do not wait for ever");
            b.rx[0].sync().unwrap();
        }
        let c = a.counters().tx;
        assert_balanced(&c);
        let refused = c.drops(DropReason::DeviceRefused) + c.drops(DropReason::DeviceFull);
        assert_eq!((c.frames_in - before.frames_in, c.frames_out), (116, before.frames_out), "{c}");
        assert_eq!(refused, c.dropped(), "{down} down: {c}");
        lab.ip(&format!("link set {down} up")).unwrap();
        up(&a, &b, true);
        pass(&mut a, &mut b, 3);
        pass(&mut b, &mut a, 4);
    }
    assert_connected(&a, &b);
}

#[test]
fn an_mtu_that_changes() {
    let Some(lab) = new_pair() else { return };
    let [mut a, mut b] = open_all(&lab, PORTS);
    pass(&mut a, &mut b, 1);
    let mut flow = Flow::new(2);
    for (mtu, fits) in [(9000, 9014), (1000, 1014)] {
        lab.set_mtu(["a0", "a1"], mtu).unwrap();
        thread::sleep(Duration::from_millis(120)); // the port looks ten times a second
        let before = a.counters().tx.drops(DropReason::TooLong);
        for len in [60, fits, fits + 1, 60] {
            flow.send(&mut a.tx[0], len, 5);
            flow.take_all(&mut b.rx[0], &a);
        }
        assert_eq!(a.counters().tx.drops(DropReason::TooLong), before + 5, "MTU {mtu}");
    }
    let c = assert_connected(&a, &b);
    assert_eq!((c.tx.dropped(), c.rx.dropped()), (10, 0));
}

#[test]
fn an_interface_renamed_while_open() {
    let Some(lab) = new_pair() else { return };
    let [mut a, mut b] = open_all(&lab, PORTS);
    pass(&mut a, &mut b, 1);
    for command in ["link set a0 down", "link set a0 name c0", "link set c0 up"] {
        lab.ip(command).unwrap();
    }
    eventually("the link is up", || if a.link_up().unwrap() { Ok(()) } else { Err("down".into()) });
    pass(&mut a, &mut b, 2);
    pass(&mut b, &mut a, 3);
}

#[test]
fn an_interface_deleted_while_open() {
    let Some(lab) = new_pair() else { return };
    let [mut a, mut b] = open_all(&lab, PORTS);
    pass(&mut a, &mut b, 1);
    lab.ip("link del a0").unwrap();
    assert_gone(&mut a, "packet:a0");
    assert_gone(&mut b, "packet:a1");
    lab.veth("a0", "a1").unwrap();
    assert_gone(&mut a, "packet:a0"); // the new one is another one
    let [mut a, mut b] = open_all(&lab, PORTS);
    pass(&mut a, &mut b, 2);
}

#[test]
fn an_interface_moved_while_open() {
    let (Some(lab), Some(other)) = (new_pair(), new_lab()) else { return };
    let mut a = open(&lab, "packet:a0");
    lab.ip(&format!("link set a0 netns {}", other.name())).unwrap();
    assert_gone(&mut a, "packet:a0");
    other.ip("link set a0 up").unwrap();
    let [mut a, mut b] = [open(&other, "packet:a0"), open(&lab, "packet:a1")];
    eventually("the link is up", || if a.link_up().unwrap() { Ok(()) } else { Err("down".into()) });
    pass(&mut a, &mut b, 1);
}

/// The child of `a_killed_owner_leaves_nothing`: opens ports and waits to be killed.
#[test]
fn opens_and_waits() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    wait_with(PORTS.map(|n| Port::open(n).unwrap()));
}

#[test]
fn a_killed_owner_leaves_nothing() {
    let Some(lab) = new_pair() else { return };
    let mut owner = child_with_all_open("opens_and_waits", lab.name());
    assert_eq!(promiscuity(&lab, "a0"), 1);
    assert_eq!(owner.kill(), Some(libc::SIGKILL));
    assert_eq!(promiscuity(&lab, "a0"), 0);
    let sockets = output(&lab, "cat", &["/proc/net/packet"]);
    assert_eq!(sockets.lines().count(), 1, "only the heading: {sockets}");
    let [mut a, mut b] = open_all(&lab, PORTS);
    pass(&mut a, &mut b, 1);
}

/// A tap whose other end is a descriptor of this process.
fn tap(lab: &Lab, name: &str) -> std::fs::File {
    const TUNSETIFF: libc::Ioctl = 0x4004_54ca;
    const TUNSETOFFLOAD: libc::Ioctl = 0x4004_54d0;
    const TUN_F_CSUM: libc::c_int = 1;
    let open = || {
        let file = std::fs::File::options().read(true).write(true).open("/dev/net/tun").unwrap();
        // SAFETY: plain data, for which zero is a value; the request lives across the call.
        unsafe {
            let mut request: libc::ifreq = std::mem::zeroed();
            for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
                *to = from as libc::c_char;
            }
            request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
            assert_eq!(libc::ioctl(file.as_raw_fd(), TUNSETIFF, &raw mut request), 0);
            // With checksums left to it, a tap takes frames in several pieces.
            assert_eq!(libc::ioctl(file.as_raw_fd(), TUNSETOFFLOAD, TUN_F_CSUM), 0);
            assert_eq!(libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK), 0);
        }
        file
    };
    let file = lab.run(|| Ok::<_, AnyError>(open())).unwrap();
    lab.ip(&format!("link set {name} up")).unwrap();
    file
}

/// A tap holds frames that the kernel calls sent. What is sent after them must not change them.
#[test]
fn a_full_queue_drops_by_name_and_holds_what_it_took_intact() {
    const FRAMES: u64 = 5000;
    let Some(lab) = new_lab() else { return };
    let mut far = tap(&lab, "t0");
    let mut port = open(&lab, "packet:t0");
    for seq in 0..FRAMES {
        assert!(port.tx[0].push(&frame(1, seq, 60 + (seq % 1000) as usize)), "frames do not wait for ever");
        if seq % 700 == 0 || seq == FRAMES - 1 {
            port.tx[0].sync().unwrap();
        }
    }
    assert_eq!(port.tx[0].pending(), 0);
    let c = port.counters().tx;
    assert_balanced(&c);
    let full = c.drops(DropReason::DeviceFull);
    assert!(full > 0 && c.frames_out > 0, "{c}");
    assert_eq!((c.frames_in, c.dropped()), (FRAMES, full), "{c}");
    let (mut buf, mut read, mut next) = ([0; 2048], 0, 0);
    while let Ok(n) = far.read(&mut buf) {
        let (stream, seq) = identify(&buf[..n]).unwrap();
        assert!(stream == 1 && seq >= next, "frame {seq} after {next}");
        next = seq + 1;
        read += 1;
    }
    assert_eq!(read, c.frames_out, "{c}");
}
