//! tcpdump, unchanged, on shared memory with DPDK's testpmd. Needs root, tcpdump and dpdk-testpmd; says so and passes without.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use ringway_lab::program::{Program, testpmd};
use support::hosts::frames;
use support::{Pcap, directory, end, has, lab};

#[test]
fn tcpdump_sees_what_testpmd_sends() {
    let Some(lab) = lab() else { return };
    if !has("tcpdump") || !has(testpmd::PROGRAM) {
        return;
    }
    let (socket, file) = (format!("ringway-preload-{}", std::process::id()), directory().join("memif.pcap"));
    let map = format!("a1=memif:@{socket},id=3");
    let args = ["tcpdump", "-Z", "root", "-i", "a1", "-c", "200", "-w", file.to_str().unwrap(), "udp"];
    let dump = support::command(Some(&lab), Pcap::Ringway(&map), &args).spawn().unwrap();

    let folder = testpmd::run_time_folder();
    let device = format!("net_memif0,role=client,id=3,socket={socket},socket-abstract=yes");
    let mut command = testpmd::command(&folder, "0@0,1@(0,1)", &[device], &[]);
    command.args(["-i", "--forward-mode=txonly"]);
    let mut testpmd = Program::start(testpmd::PROGRAM, command, Some(lab.name()), testpmd::PROMPTS).unwrap();
    testpmd.ask("start", |line| line.contains("packet forwarding - ports=1").then_some(())).unwrap();

    let ended = end(dump);
    assert!(ended.code == Some(0) && ended.stderr.contains("200 packets captured"), "{ended:?}");
    let seen = frames(&file);
    // What testpmd makes: UDP in IPv4, 64 bytes.
    assert_eq!(seen.len(), 200);
    assert!(seen.iter().all(|(len, f)| *len == 64 && f[12..14] == [8, 0] && f[23] == 17), "{:?}", seen[0]);
}
