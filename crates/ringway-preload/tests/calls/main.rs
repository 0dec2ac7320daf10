//! A program makes the same calls twice: on the kernel's packet sockets over a veth, and with the library before libc, on
//! a port of a switch. What it prints, and what arrives at the far end, must be the same. Needs root.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(dead_code, reason = "what the tests share has more")]

mod accepts;
mod child;
mod edges;
mod host;
mod kinds;
mod life;
mod offload;
mod quiet;

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
        "fork" => life::fork(),
        "spawn" => life::spawn(),
        "daemon" => life::daemon(),
        "share" => life::share(&words[1..]),
        "epoll" => life::epoll(),
        "threads" => life::threads(),
        "stream" => life::stream(),
        "arguments" => edges::arguments(),
        "control" => edges::control(),
        "many" => edges::many(),
        "edges" => edges::edges(),
        "refused" => edges::refused(),
        "nested" => edges::nested(),
        "closed" => edges::closed(),
        "sleepers" => edges::sleepers(),
        "cancelled" => edges::cancelled(),
        "accepts" => accepts::accepts(),
        "quiet" => quiet::quiet(),
        "late" => quiet::late(),
        "kinds" => kinds::kinds(),
        "questions" => kinds::questions(),
        "heir" => edges::heir(),
        "vnet" => offload::send(),
        "vnet-receive" => offload::receive(),
        "flood" => life::flood(words[1]),
        "unprivileged" => edges::unprivileged(&words[1..]),
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

/// A program that sends for a while gets a port for it, and nobody notices: nothing is lost, nothing overtakes.
#[test]
fn a_dense_stream_leaves_the_kernels_socket_for_a_port() {
    let Some(host) = Host::new() else { return };
    for far in ["packet:a1", "ebpf:a1"] {
        let got = host.streamed("stream", far);
        let numbers: Vec<_> =
            got.frames.iter().map(|f| u32::from_ne_bytes(f[20..24].try_into().unwrap())).collect();
        let wanted: Vec<_> = (0..numbers.len() as u32).collect();
        assert!(numbers == wanted, "{far}: out of order, or lost: {numbers:?}");
        assert_eq!(got.lines[1], format!("sent: {}", numbers.len()), "{far}");
        let words: Vec<_> = got.errors.split(' ').collect();
        let before = |what: &str| words.windows(2).find(|w| w[1] == what).unwrap()[0].parse::<u32>().unwrap();
        let (by_port, by_kernel) = (before("frames"), before("calls"));
        assert_eq!(
            (by_port > 0, by_kernel > 0, by_port + by_kernel),
            (true, true, wanted.len() as u32),
            "{far}: {}",
            got.errors
        );
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
    let all = &got.lines;
    for (got, expected) in got.lines.iter().zip(&expected.lines) {
        assert_eq!(got, expected, "{words}: {all:#?}");
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

/// Frames get into the ring of a program that only looks at it.
#[test]
fn mapped_rings_that_nobody_waits_for() {
    let all = kinds();
    for how in ["ring1", "ring2"] {
        same(&format!("receive raw {how} {} spin", all.len()), &all);
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

/// Six frames of the program's own type.
fn six() -> Vec<Vec<u8>> {
    (0..6).map(|n| frame(n, 60 + usize::from(n))).collect()
}

#[test]
fn sockets_of_one_interface_share_its_frames() {
    same("share", &six());
    same("share group", &six());
}

#[test]
fn an_epoll_that_looked_before_the_bind() {
    same("epoll", &six());
}

#[test]
fn threads_signals_and_time() {
    same("threads", &six());
}

/// Twelve frames of the program's own type.
fn twelve() -> Vec<Vec<u8>> {
    (0..12).map(|n| frame(n, 60 + usize::from(n))).collect()
}

#[test]
fn arguments_are_checked_as_the_kernel_does() {
    same("arguments", &twelve());
}

#[test]
fn messages_beside_the_bytes_and_several_frames_a_call() {
    same("control", &twelve());
    same("many", &twelve());
}

#[test]
fn epolls_tell_of_edges_and_of_nothing_that_is_refused() {
    same("edges twice", &six());
    same("refused twice", &(0..3).map(|n| frame(n, 60)).collect::<Vec<_>>());
    same("nested", &six());
}

#[test]
fn descriptors_that_are_closed_or_fail_to_bind() {
    same("closed", &six());
}

#[test]
fn accepting_nobody_is_answered_as_the_kernel_would() {
    let Some(host) = Host::new() else { return };
    let got = host.shimmed("accepts", &six(), true, &[]);
    assert_eq!(got.lines, host.plain("accepts", &six()).lines);
    assert!(got.errors.contains(" 6 accept;"), "{}", got.errors);
}

#[test]
fn what_the_program_does_to_its_other_descriptors_is_seen_at_once() {
    let Some(host) = Host::new() else { return };
    for role in ["quiet", "kinds", "questions"] {
        let expected = host.plain(role, &six()).lines;
        for bound in ["0", "100", "1000000"] {
            let got = host.shimmed(role, &six(), true, &[("RINGWAY_BATCH_US", bound)]);
            assert_eq!(got.lines, expected, "{role}, {bound} us");
        }
    }
}

#[test]
fn what_others_do_to_them_is_seen_in_the_time_that_frames_may_wait() {
    let Some(host) = Host::new() else { return };
    let polled = |bound| {
        let got = host.shimmed("late", &six(), true, &[("RINGWAY_BATCH_US", bound)]);
        let all = &got.lines;
        all[all.len() - 3..].join(", ")
    };
    assert_eq!(polled("500000"), "nothing else: 1, written: 1, later: 2");
    assert_eq!(polled("0"), "nothing else: 1, written: 2, later: 2");
}

#[test]
fn a_thread_that_looks_leaves_the_wake_up_to_who_sleeps() {
    same("sleepers", &six());
}

#[test]
fn a_thread_is_cancelled_in_a_receive() {
    same("cancelled", &six());
}

#[test]
fn the_child_of_a_fork_finds_a_mapped_port_busy() {
    let Some(host) = Host::new() else { return };
    let got = host.shimmed("heir", &six(), true, &[]);
    let busy = format!("child receives: errno {}", libc::EBUSY);
    assert_eq!(got.lines[2..6], ["child polls: 1", &busy, &busy, &busy], "{}", got.errors);
    let parent: Vec<_> = (0..6).flat_map(|n| [format!("parent: {}", 60 + n), format!("frame {n}")]).collect();
    assert_eq!(got.lines[7..], parent, "what is its parent's stays there");
    assert_eq!(got.errors.matches("has it open").count(), 1, "it is said once: {}", got.errors);
}

#[test]
fn a_program_without_rights_is_told_what_the_kernel_tells() {
    let Some(host) = Host::new() else { return };
    let expected = host.plain("unprivileged", &[]);
    assert_eq!(expected.lines, [format!("socket: errno {}", libc::EPERM)]);
    assert_eq!(host.shimmed("unprivileged", &[], false, &[]).lines, expected.lines);
    let got = host.shimmed("unprivileged later", &[], true, &[]);
    assert_eq!(got.lines, [format!("bind: errno {}", libc::EPERM)]);
    assert!(got.errors.contains("ringway switch"), "what is missing, and the cure: {}", got.errors);
}

#[test]
fn what_is_left_to_be_done_is_done() {
    let Some(host) = Host::new() else { return };
    // The kernel does it too, rather than have a veth hand it on.
    host.exec("ethtool", &["-K", "a0", "tx", "off", "tso", "off", "gso", "off"]);
    let expected = host.plain("vnet", &[]);
    let got = host.shimmed("vnet", &[], true, &[]);
    assert_eq!(got.lines, expected.lines, "{}", got.errors);
    assert_eq!(got.frames.len(), expected.frames.len(), "{:?}", expected.lines);
    for (n, (got, expected)) in got.frames.iter().zip(&expected.frames).enumerate() {
        assert_eq!(got, expected, "frame {n}");
    }
    assert!(got.frames.len() > 25, "cut into segments");
    same("vnet-receive", &six());
}

#[test]
fn forks_send_to_plain_interfaces() {
    let Some(host) = Host::new() else { return };
    let expected = host.plain("fork", &[]);
    for more in [&[][..], &[("RINGWAY_BATCH_US", "500")][..]] {
        let got = host.shimmed("fork", &[], false, more);
        assert_eq!((&got.lines, &got.frames), (&expected.lines, &expected.frames), "{more:?}");
    }
}

#[test]
fn a_fork_gets_a_mapped_port_when_its_parent_has_given_it_back() {
    let Some(host) = Host::new() else { return };
    let got = host.shimmed("fork", &[], true, &[]);
    let busy = format!("child: errno {}", libc::EBUSY);
    let wanted = [
        "bind: 0",
        "parent: 60",
        &busy,
        "fork: 0",
        "parent: 60",
        "bind: 0",
        "child: 60",
        "fork: 0",
        "bind: 0",
        "parent: 60",
    ];
    assert_eq!(got.lines, wanted, "{}", got.errors);
    assert_eq!(got.frames.iter().map(|f| f[14]).collect::<Vec<_>>(), [1, 3, 4, 5]);
    let got = host.shimmed("daemon", &[], true, &[]);
    assert_eq!(
        got.frames.iter().map(|f| f[14]).collect::<Vec<_>>(),
        [1, 2],
        "{:?} {}",
        got.lines,
        got.errors
    );
}

#[test]
fn a_child_in_its_parents_memory_takes_nothing_away() {
    let Some(host) = Host::new() else { return };
    let expected = host.plain("spawn", &[]);
    let got = host.shimmed("spawn", &[], true, &[]);
    assert_eq!((got.lines, got.frames), (expected.lines, expected.frames), "{}", got.errors);
}

#[test]
fn a_port_that_is_not_there_is_no_device() {
    let Some(host) = Host::new() else { return };
    let got = host.shimmed("fork", &[], false, &[("RINGWAY_MAP", "a0=vale-none:p1")]);
    assert!(got.lines.contains(&format!("bind: errno {}", libc::ENODEV)), "{:?}", got.lines);
    assert!(
        got.errors.contains("no such switch") && got.errors.contains("ringway switch add"),
        "{}",
        got.errors
    );
    assert_eq!(got.frames.len(), 0, "nothing leaves by the interface itself");
}

#[test]
fn killed_senders_leave_nothing() {
    let Some(host) = Host::new() else { return };
    let ways = [("send", true, "0"), ("send", true, "200"), ("send", false, "200")];
    for (by, map, us) in
        [&ways[..], &[("burst", true, "0"), ("burst", false, "0"), ("ring", true, "0")]].concat()
    {
        host.kill(&format!("flood {by}"), map, &[("RINGWAY_BATCH_US", us)]);
    }
}
