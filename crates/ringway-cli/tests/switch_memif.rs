//! Ports of switches for programs that speak memif, and commands on `memif:` ports. Needs root; says so and passes without.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use support::room::Room;
use support::schema::Schema;
use support::{file, run, spawn, start};

/// A folder for sockets that this user alone can change.
fn folder(room: &Room, owner: u32) -> String {
    let folder = room.path(&format!("sockets-{owner}"));
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    chown(&folder, Some(owner), Some(owner)).unwrap();
    folder
}

/// A process in the background that serves a port; it ends with the test, also when that fails.
struct Server {
    pid: u64,
    uid: u32,
}

impl Drop for Server {
    fn drop(&mut self) {
        if alive(self.pid) {
            let _ = std::process::Command::new("kill").arg(self.pid.to_string()).status();
        }
    }
}

/// The process that has the port of a switch open, and the user that it runs as.
fn server(room: &Room, switch: &str) -> Option<Server> {
    let shown = room.switch(switch);
    let pid = shown["ports"].as_array()?.first()?["pid"].as_u64()?;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace().next()?;
    Some(Server { pid, uid: uid.parse().ok()? })
}

fn alive(pid: u64) -> bool {
    // A process that ended is a zombie until its parent, which is not this one, takes its end.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim_start().starts_with('Z') && !rest.is_empty())
}

#[test]
fn programs_come_and_go_at_a_port_of_a_switch() {
    let Some(room) = Room::new() else { return };
    assert_eq!(room.run(&["switch", "add", "valem"]).code, Some(0));
    let socket = format!("{}/m.sock", folder(&room, 0));
    let made = room.run(&["switch", "port", "add", "valem:m1", "--memif", &format!("{socket},id=7")]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.stderr.contains("serves memif:"), "{made:?}");
    let served = server(&room, "valem").unwrap();
    assert_eq!(served.uid, 0);

    let client = format!("memif:{socket},id=7,role=client");
    for _ in 0..2 {
        let receiver = room.start(&["pkt-gen", "-i", "valem:p2", "-f", "rx", "-n", "2000", "--json"]);
        receiver.wait_said("waiting for the first packet", 1);
        let sent = room.json(&["pkt-gen", "-i", &client, "-f", "tx", "-n", "2000", "-R", "20k"]);
        assert_eq!(sent["packets"], 2000, "{sent}");
        let received = receiver.end().json();
        assert_eq!(received["packets"], 2000, "{received}");
    }
    let receiver = room.start(&["pkt-gen", "-i", &client, "-f", "rx", "-n", "2000", "--json"]);
    receiver.wait_said("waiting for the first packet", 1);
    room.json(&["pkt-gen", "-i", "valem:p2", "-f", "tx", "-n", "2000", "-R", "20k"]);
    assert_eq!(receiver.end().json()["packets"], 2000);
    assert!(alive(served.pid));
    assert_eq!(room.run(&["switch", "port", "del", "valem:m1", "--force"]).code, Some(0));
    room.until(|| !alive(served.pid) && !Path::new(&socket).exists());
    assert_eq!(room.run(&["switch", "del", "valem"]).code, Some(0));
}

/// In the foreground: what it printed when it ended is what docs/json.md says.
#[test]
fn a_port_is_served_in_the_foreground() {
    let Some(room) = Room::new() else { return };
    assert_eq!(room.run(&["switch", "add", "valem"]).code, Some(0));
    let at = format!("@ringway-switch-serve-{}", std::process::id());
    let serving = room.start(&["switch", "port", "serve", "valem:m1", "--memif", &at, "--json"]);
    serving.wait_said("waits for its peer", 1);
    let receiver = room.start(&["pkt-gen", "-i", "valem:p2", "-f", "rx", "-n", "500", "--json"]);
    receiver.wait_said("waiting for the first packet", 1);
    room.json(&["pkt-gen", "-i", &format!("memif:{at},role=client"), "-f", "tx", "-n", "500"]);
    assert_eq!(receiver.end().json()["packets"], 500);
    serving.wait_said("not connected: the peer", 1);
    let object = serving.interrupt().json();
    Schema::read().check("switch port serve", &object);
    assert_eq!(
        (&object["memif"]["rx"]["frames_out"], &object["port"]["tx"]["frames_out"]),
        (&500.into(), &500.into())
    );
}

#[test]
fn the_process_of_a_port_is_of_its_owner() {
    let Some(room) = Room::new() else { return };
    assert_eq!(room.run(&["switch", "add", "valem"]).code, Some(0));
    // A directory of root's is not nobody's: nothing stays of the port.
    let denied = format!("{}/m.sock", folder(&room, 0));
    let add = |socket: &str| {
        room.run(&[
            "switch", "port", "add", "valem:m1", "--owner", "nobody", "--mode", "600", "--memif", socket,
        ])
    };
    let ended = add(&denied);
    assert!(ended.error(1).contains("Permission denied") && ended.stderr.ends_with("[E0104]\n"), "{ended:?}");
    assert_eq!(room.switch("valem")["ports"].as_array().map(Vec::len), Some(0));

    let made = add(&format!("@ringway-switch-memif-{}", std::process::id()));
    assert_eq!(made.code, Some(0), "{made:?}");
    let served = server(&room, "valem").unwrap();
    assert_ne!(served.uid, 0);
    assert_eq!(room.run(&["switch", "port", "del", "valem:m1", "--force"]).code, Some(0));
    room.until(|| !alive(served.pid));
}

/// A socket without a file lets every process connect, so the server looks at who it is.
#[test]
fn other_users_are_turned_away_unless_they_may_connect() {
    let Some(room) = Room::new() else { return };
    for (access, comes) in [("", false), (",access=any", true)] {
        let at = format!("memif:@ringway-memif-users-{}-{comes}", std::process::id());
        let receiver = room.start(&[
            "pkt-gen",
            "-i",
            &format!("{at}{access}"),
            "-f",
            "rx",
            "-n",
            "10",
            "--json",
            "-w",
            "0",
        ]);
        receiver.wait_said("waiting for the first packet", 1);
        let nobody = format!("{at},role=client");
        if comes {
            let sent = room.as_nobody(&["pkt-gen", "-i", &nobody, "-f", "tx", "-n", "10", "--json"]);
            assert_eq!(sent.json()["packets"], 10, "{sent:?}");
            assert_eq!(receiver.end().json()["packets"], 10);
        } else {
            let mut sender = spawn(
                &mut room.command_of_nobody(&["pkt-gen", "-i", &nobody, "-f", "tx", "-n", "10", "-w", "1"]),
            );
            sender.wait_said("may not connect", 1);
            assert!(sender.running());
            sender.interrupt();
            assert_eq!(receiver.interrupt().json()["packets"], 0);
        }
    }
}

#[test]
fn wrong_words_make_no_port() {
    let Some(room) = Room::new() else { return };
    assert_eq!(room.run(&["switch", "add", "valem"]).code, Some(0));
    for (args, said, number) in [
        (&["valem:m1", "--memif", "m.sock,colour=red"][..], "options are id=", "[E0004]"),
        (&["valem:m1", "valem:m2", "--memif", "@m"], "--memif is for one port", "[E0005]"),
        // The process that serves the port finds this one.
        (&["valem:m1", "--memif", "/nowhere/m.sock"], "/nowhere", "[E0102]"),
    ] {
        let ended = room.run(&[&["switch", "port", "add"], args].concat());
        let text = ended.stderr.trim_end();
        assert!(ended.code != Some(0) && text.contains(said) && text.ends_with(number), "{ended:?}");
    }
    assert_eq!(room.switch("valem")["ports"].as_array().map(Vec::len), Some(0));
}

/// The same on ports alone, which need no root: a capture goes through two memif links and comes out whole.
#[test]
fn captures_pass_pkt_gen_bridge_and_capture() {
    let at = |n: u32| format!("memif:@ringway-cli-memif-{}-{n}", std::process::id());
    let to = file("memif-to.pcap");
    let mut command =
        support::command(&["capture", "-i", &at(2), "-w", to.to_str().unwrap(), "-c", "3000", "--json"]);
    let capture = spawn(&mut command);
    let bridge = start(&["bridge", "-i", &at(1), "-i", &format!("{},role=client", at(2)), "--json"]);
    let sent = run(&[
        "pkt-gen",
        "-i",
        &format!("{},role=client", at(1)),
        "-f",
        "tx",
        "-n",
        "3000",
        "-R",
        "20k",
        "--json",
    ]);
    assert_eq!(sent.json()["packets"], 3000, "{sent:?}");
    let ended = capture.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let bridged = bridge.interrupt().json();
    assert_eq!(bridged["ports"][0]["rx"]["frames_out"], 3000, "{bridged}");
    assert_eq!(fs::metadata(&to).unwrap().len(), 24 + 3000 * (16 + 60));
}
