//! Every function that concerns a handle, from a C program that was compiled once: what it returns with the system's libpcap and
//! with this one.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use support::Pcap;

/// The same program on the same links; only who serves `a1` differs.
#[test]
fn handles_behave_as_those_of_the_system_library() {
    let Some(lab) = support::lab() else { return };
    let program = support::compile("api");
    let program = [program.to_str().unwrap(), "a1", "a0"];
    let system = support::run(Some(&lab), Pcap::System, &program);
    assert_eq!((system.code, system.stderr.as_str()), (Some(0), ""), "{}", system.stdout);
    let maps = ["a1=ebpf:a1", "a1=packet:a1", "a1=xdp:a1", "a1=a1"].map(Pcap::Ringway);
    for map in maps.into_iter().chain([Pcap::Copies]) {
        let ours = support::run(Some(&lab), map, &program);
        assert_eq!(ours.code, Some(0), "{map:?}: {ours:?}");
        for (ours, system) in ours.stdout.lines().zip(system.stdout.lines()) {
            assert_eq!(ours, system, "{map:?}");
        }
        assert_eq!(ours.stdout.len(), system.stdout.len(), "{map:?}");
    }
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
