//! Commands on `dpdk:` ports, and what they say where DPDK's plugin is not as it has to be.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{command, run, spawn, start};

/// The plugin beside the command; `None` with a loud word where it is not built.
fn plugin() -> Option<PathBuf> {
    let plugin = Path::new(env!("CARGO_BIN_EXE_ringway")).with_file_name("libringway_dpdk.so");
    if !plugin.exists() {
        eprintln!("SKIP: libringway_dpdk.so is not built: run `crates/ringway-dpdk/build target/debug`");
        return None;
    }
    if !ringway_lab::is_root() {
        eprintln!("SKIP: DPDK needs root");
        return None;
    }
    Some(plugin)
}

/// An empty folder that only this user may write.
fn folder(name: &str) -> PathBuf {
    let folder = support::file(name);
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    folder
}

/// What opening a port says when the plugin is looked for in this folder.
fn refusal(lib: &Path) -> String {
    let args = ["pkt-gen", "-i", "dpdk:net_null0", "-f", "rx", "-n", "1"];
    spawn(command(&args).env("RINGWAY_LIB", lib)).end().error(1).to_owned()
}

#[test]
fn traffic_is_sent_and_received() {
    if plugin().is_none() {
        return;
    }
    let tx = run(&["pkt-gen", "-i", "dpdk:net_null0", "-f", "tx", "-n", "100k", "--json"]).json();
    assert_eq!(
        (&tx["packets"], &tx["counters"]["tx"]["frames_out"]),
        (&100_000.into(), &100_000.into()),
        "{tx}"
    );
    let rx = run(&["pkt-gen", "-i", "dpdk:net_null0,size=60", "-f", "rx", "-n", "100k", "--json"]).json();
    assert!(rx["backend"].as_str().unwrap().starts_with("dpdk: driver net_null"), "{rx}");
    assert_eq!(rx["packets"], 100_000, "{rx}");
}

#[test]
fn captures_pass_bridge_and_capture() {
    if plugin().is_none() {
        return;
    }
    let [from, over, to] = ["dpdk-from.pcap", "dpdk-over.pcap", "dpdk-to.pcap"].map(support::file);
    let write = format!("pcap:{}@write", from.display());
    run(&["pkt-gen", "-i", &write, "-f", "tx", "-n", "5000", "-l", "1000", "--json"]).json();
    let (a, b) = (
        format!("dpdk:net_pcap0,rx_pcap={}", from.display()),
        format!("dpdk:net_pcap1,tx_pcap={}", over.display()),
    );
    let bridge = start(&["bridge", "-i", &a, "-i", &b, "--json"]);
    let whole = 24 + 5000 * (16 + 1000);
    let start_at = std::time::Instant::now();
    // The driver writes what a buffer of the C library does not hold; the rest comes when the port closes.
    while fs::metadata(&over).map_or(0, |m| m.len()) < whole - 4096 {
        assert!(start_at.elapsed() < support::LIMIT, "{}", bridge.said());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let result = bridge.interrupt().json();
    assert_eq!(result["ports"][0]["rx"]["frames_in"], 5000, "{result}");
    assert_eq!(fs::metadata(&over).unwrap().len(), whole);
    let port = format!("dpdk:net_pcap0,rx_pcap={}", over.display());
    let file = to.to_str().unwrap();
    let result = run(&["capture", "-i", &port, "-w", file, "-c", "5000", "--json"]).json();
    assert_eq!((&result["captured"], &result["bytes"]), (&5000.into(), &5_000_000.into()), "{result}");
}

/// Nobody is at the far end; waiting costs nearly nothing.
#[test]
fn an_idle_port_leaves_the_processor_alone() {
    if plugin().is_none() {
        return;
    }
    let socket = format!("ringway-idle-{}", std::process::id());
    let port = format!("dpdk:net_memif0,role=server,id=0,socket={socket},socket-abstract=yes");
    let running = start(&["pkt-gen", "-i", &port, "-f", "rx", "-w", "0"]);
    running.wait_said("waiting for the first packet", 1);
    running.assert_idle();
    running.interrupt();
}

#[test]
fn a_plugin_that_is_missing_has_a_cure() {
    let text = refusal(&folder("dpdk-none"));
    assert!(text.contains("DPDK's plugin libringway_dpdk.so is not in"), "{text}");
    assert!(text.contains("install Debian's libdpdk-dev and build with `make all`"), "{text}");
}

#[test]
fn a_plugin_that_others_can_change_is_refused() {
    let lib = folder("dpdk-open");
    // Nothing of it is ever run.
    let file = lib.join("libringway_dpdk.so");
    fs::write(&file, "no library").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    for (path, mode, sound) in [(&lib, 0o777, 0o755), (&lib, 0o1777, 0o755), (&file, 0o666, 0o644)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let text = refusal(&lib);
        assert!(text.contains(&format!("may be written by others: it has mode {mode:04o}")), "{text}");
        fs::set_permissions(path, Permissions::from_mode(sound)).unwrap();
    }
    let text = refusal(&lib);
    assert!(text.contains("can't be loaded"), "what is sound is loaded: {text}");
}

#[test]
fn a_plugin_of_another_version_is_refused() {
    let lib = folder("dpdk-version");
    let file = lib.join("libringway_dpdk.so");
    for (code, says) in [
        (
            "const unsigned ringway_dpdk[32] = { 999 };",
            "speaks version 999 of the plugin's interface, this program 2",
        ),
        ("const unsigned ringway_dpdk[32] = { 2, 8 };", "speaks version 2"),
        ("int other;", "is not the plugin: it has no symbol ringway_dpdk"),
    ] {
        let source = lib.join("plugin.c");
        fs::write(&source, code).unwrap();
        let built =
            Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&file, &source]).status().unwrap();
        assert!(built.success());
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        let text = refusal(&lib);
        assert!(text.contains(says) && text.contains("make all"), "{text}");
    }
}
