//! Every function that concerns a handle, from a C program that was compiled once: what it returns with the system's libpcap and
//! with this one.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use support::Pcap;

/// Who serves `a1` in place of libpcap.
const WAYS: [Pcap<'_>; 5] = [
    Pcap::Ringway("a1=ebpf:a1"),
    Pcap::Ringway("a1=packet:a1"),
    Pcap::Ringway("a1=xdp:a1"),
    Pcap::Ringway("a1=a1"),
    Pcap::Copies,
];

/// Compares what a program of `tests/c` prints on the same links; only who serves `a1` differs.
fn same(program: &str, more: &[&str]) {
    let Some(lab) = support::lab() else { return };
    let program = support::compile(program);
    let program = [&[program.to_str().unwrap(), "a1", "a0"], more].concat();
    let run = |pcap| {
        // One that the program before deleted is made again.
        if lab.ip("link show a1").is_err() {
            lab.veth("a0", "a1").unwrap();
        }
        support::run(Some(&lab), pcap, &program)
    };
    let system = run(Pcap::System);
    assert_eq!((system.code, system.stderr.as_str()), (Some(0), ""), "{}", system.stdout);
    for way in WAYS {
        let ours = run(way);
        for (ours, system) in ours.stdout.lines().zip(system.stdout.lines()) {
            assert_eq!(ours, system, "{way:?}");
        }
        assert_eq!((ours.code, ours.stdout.len()), (Some(0), system.stdout.len()), "{way:?}: {ours:?}");
    }
}

#[test]
fn handles_behave_as_those_of_the_system_library() {
    same("api", &[]);
}

#[test]
fn early_orders_forks_and_lost_interfaces_are_as_with_the_system_library() {
    same("edges", &[]);
}

/// Nobody tells of the deletion of what is down.
#[test]
fn an_interface_that_goes_down_and_then_away_is_told() {
    same("edges", &["down"]);
}

/// What libpcap leaves open, or gets wrong: timeouts, `inbound`, reads and closes within callbacks.
#[test]
fn what_libpcap_leaves_open() {
    let Some(lab) = support::lab() else { return };
    let program = support::compile("api");
    let ended = support::run(
        Some(&lab),
        Pcap::Ringway("a1=ebpf:a1"),
        &[program.to_str().unwrap(), "a1", "a0", "more"],
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let (_, beyond) = ended.stdout.split_once("beyond\n").unwrap();
    assert_eq!(beyond, include_str!("c/beyond.txt"));
}

/// Nothing is lost while threads send, count, change the filter and break.
#[test]
fn threads_share_a_handle() {
    let Some(lab) = support::lab() else { return };
    let program = support::compile("threads");
    for way in WAYS {
        let ended = support::run(Some(&lab), way, &[program.to_str().unwrap(), "a1", "a0"]);
        assert_eq!(ended.stdout, "300 packets, broken 1, failed 0\n", "{way:?} {ended:?}");
        assert_eq!(ended.code, Some(0), "{way:?} {ended:?}");
    }
}

/// What found no room was received and dropped, and all else is handed out. Who asks for room gets it.
#[test]
fn drops_are_counted_as_by_the_kernel() {
    let Some(lab) = support::lab() else { return };
    let program = support::compile("drops");
    for way in [Pcap::System].iter().chain(&WAYS) {
        for (buffer, dropped) in [("100000", 1), ("32000000", 0)] {
            // Before its slots a packet socket has a ring of the kernel's, which fills up while nothing is read.
            if dropped == 0 && *way == Pcap::Ringway("a1=packet:a1") {
                continue;
            }
            let ended = support::run(Some(&lab), *way, &[program.to_str().unwrap(), "a1", "a0", buffer]);
            let expected = format!("all received 1, some dropped {dropped}, the rest handed out 1\n");
            assert_eq!((ended.code, ended.stdout), (Some(0), expected), "{way:?} {}", ended.stderr);
        }
    }
}
