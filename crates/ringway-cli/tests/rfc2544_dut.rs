//! `ringway rfc2544 --dut` and `--self-test`, end to end: devices by name, and what is left of them.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use ringway_lab::labs;
use serde_json::Value;
use support::room::Room;
use support::{Ended, run};

/// Short trials at a rate that any machine sends.
const SHORT: &str =
    "--pps 2k --sizes 64,1518 --test burst --burst-seconds 0.1 --wait 0.1 --pause 0 --retries 50";

fn args(words: &str) -> Vec<&str> {
    std::iter::once("rfc2544").chain(words.split(' ').filter(|w| !w.is_empty())).collect()
}

fn in_room(room: &Room, words: &str) -> Ended {
    room.run(&args(words))
}

/// Namespaces, switches and routers that a process has left.
fn left_by(room: &Room, pid: u32) -> Vec<String> {
    let of_pid = format!("-{pid}-");
    let mut left: Vec<String> = labs().into_iter().filter(|name| name.contains(&of_pid)).collect();
    let pinned = std::fs::read_dir(room.path("bpf/ringway")).into_iter().flatten().flatten();
    let names = pinned.map(|entry| entry.file_name().to_string_lossy().into_owned());
    left.extend(names.filter(|name| name.contains(&format!("{pid:07}-"))));
    left
}

/// Runs over a device to the end; the report, and whether all is gone.
fn measured(room: &Room, words: &str) -> Value {
    let running = room.start(&args(&format!("{words} --json")));
    let pid = running.pid();
    let report = running.end().json();
    assert_eq!(left_by(room, pid), Vec::<String>::new(), "{words}");
    report
}

#[test]
fn devices_by_name_forward_and_leave_nothing() {
    let Some(room) = Room::new() else { return };
    for (words, frames) in [
        ("veth --dut-backend packet", 200),
        ("linux-bridge --vlan 7 --bidir", 400),
        ("linux-router --bidir --flows 1000", 400),
        ("ringway-switch --dut-backend xdp", 200),
        ("ringway-ports --bidir", 400),
        ("ringway-router --bidir --flows 1000", 400),
    ] {
        // With a tag the smallest frame is longer.
        let sizes = if words.contains("vlan") { SHORT.replace("64,", "68,") } else { SHORT.to_owned() };
        let report = measured(&room, &format!("--dut {words} {sizes}"));
        for burst in report["results"]["burst"].as_array().unwrap() {
            assert_eq!((&burst["tx"], &burst["rx"]), (&frames.into(), &frames.into()), "{words}: {burst}");
        }
        let kind = words.split(' ').next().unwrap();
        assert!(report["device"].as_str().unwrap().starts_with(&format!("{kind}: ")), "{}", report["device"]);
        let gateways = &report["format"]["gateways"];
        assert_eq!(gateways.is_array(), kind.ends_with("router"), "{gateways}");
    }
}

#[test]
fn filters_are_in_the_report() {
    let Some(room) = Room::new() else { return };
    let ended = in_room(&room, &format!("--dut linux-bridge --dut-filters 25 {SHORT} --json"));
    if ended.stderr.contains("install the package nftables") {
        eprintln!("SKIP: there is no nft for packet filters (scripts/setup --bench)");
        return;
    }
    let report = ended.json();
    assert!(report["device"].as_str().unwrap().ends_with(", 25 filters"), "{}", report["device"]);
}

#[test]
fn virtual_ports_are_exact_in_lock_step() {
    let Some(room) = Room::new() else { return };
    let report = measured(
        &room,
        "--dut ringway-ports --virtual-time --link 1G --sizes 64 --test burst --burst-seconds 0.02",
    );
    let burst = &report["results"]["burst"][0];
    assert_eq!((&burst["tx"], &burst["rx"]), (&29_762.into(), &29_762.into()), "{burst}");
}

/// What a killed run leaves goes away with the next one.
#[test]
fn a_killed_run_is_cleaned_up_after() {
    let Some(room) = Room::new() else { return };
    for kind in ["ringway-switch", "ringway-router"] {
        let running =
            room.start(&args(&format!("--dut {kind} --pps 1k --sizes 64 --test loss --seconds 30")));
        let pid = running.pid();
        // Two namespaces, and what is made last, when it is whole.
        let whole = |names: &[String]| names.len() == 3 && names.iter().all(|name| !name.starts_with('~'));
        room.until(|| whole(&left_by(&room, pid)));
        drop(running); // kills it
        assert_eq!(left_by(&room, pid).len(), 3, "{kind}");
        measured(&room, &format!("--dut veth {SHORT}"));
        assert_eq!(left_by(&room, pid), Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn the_tester_measures_itself() {
    let Some(room) = Room::new() else { return };
    let report = measured(&room, "--self-test --sizes 64");
    let found = &report["self_test"];
    assert!(found["sizes"][0]["received_fps"].as_f64().unwrap() > 1000.0, "{found}");
    assert!(found["sizes"][0]["latency"]["count"].as_u64().unwrap() > 0, "{found}");
    assert_eq!((&found["ports"][0][0], report["trials"].as_array().unwrap().len()), (&"ebpf:t0".into(), 0));
    let words = "--dut ringway-ports --self-test --pps 2k --sizes 64 --seconds 0.1 --resolution 20 --wait 0.1 --pause 0 --retries 50";
    let beside = measured(&room, words);
    let at = &beside["self_test"]["sizes"][0];
    assert!(beside["self_test"]["ports"][0][0].as_str().unwrap().starts_with("pipe:"), "{beside}");
    assert!(at["throughput_share"].as_f64().unwrap() < 0.9 && at["near_limit"] == false, "{at}");
    let alone = in_room(&room, "--self-test --dut-backend packet --sizes 64");
    assert!(alone.code == Some(0) && alone.stdout.starts_with("Self-test of the tester"), "{alone:?}");
    assert!(alone.stdout.contains("receivers stood still"), "{alone:?}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    for (words, why) in [
        ("--dut hub", "invalid value 'hub'"),
        ("--dut veth --tx loop: --rx loop:", "cannot be used with"),
        ("--dut-filters 3 --virtual-time", "name one with --dut"),
        ("--dut-backend xdp --virtual-time", "name one with --dut"),
        ("--dut ringway-switch --dut-filters 3", "has no packet filters; linux-bridge and linux-router have"),
        ("--dut linux-router --vlan 3", "has no VLANs"),
        ("--dut ringway-ports --dut-backend xdp", "has none"),
        ("--dut linux-bridge --virtual-time", "only ringway-ports goes with it"),
        ("--dut linux-bridge --dut-cpu 1", "is no process"),
        ("--virtual-time --self-test", "has no speed"),
        ("--tx loop: --rx vale0:p1 --link 1G --self-test --dut-cpu 1", "name one with --dut"),
        ("--tx packet:eth9 --rx vale0:p1 --link 1G --self-test", "are of two"),
    ] {
        let ended = run(&args(words));
        assert!(ended.error(2).contains(why), "{words}: {ended:?}");
    }
}
