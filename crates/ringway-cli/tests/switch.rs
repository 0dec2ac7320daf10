//! `ringway switch`, and switches in the commands that show counters. Needs root; says so and passes without.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::process::Command;

use nix::sched::{CloneFlags, unshare};
use serde_json::{Value, json};
use support::room::{NOBODY, Room};
use support::schema::Schema;
use support::{openmetrics, spawn};

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap_or_else(|| panic!("{object}")).keys().map(String::as_str).collect()
}

/// All of the ports that a command names are made, or none.
#[test]
fn several_ports_are_made_together() {
    let Some(room) = Room::new() else { return };
    ["vale0", "vale1"].iter().for_each(|s| assert_eq!(room.run(&["switch", "add", s]).code, Some(0)));
    let made = room.run(&["switch", "port", "add", "vale0:a", "vale0:b", "vale0:c", "--json"]);
    let numbers: Vec<Value> =
        made.stdout.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()["number"].clone()).collect();
    assert_eq!(numbers, [1, 2, 3], "{made:?}");
    for (ports, code, why) in [
        (["vale0:d", "vale0:e", "vale0:b"], 1, "vale0:b: there is a port of that name"),
        (["vale0:d", "vale0:e", "vale0:d"], 1, "vale0:d: there is a port of that name"),
        (["vale0:d", "vale1:e", "vale0:f"], 2, "name ports of one switch"),
        (["vale0:d", "vale0:e/", "vale0:f"], 2, "vale0:e/"),
    ] {
        let refused = room.run(&[&["switch", "port", "add"], &ports[..]].concat());
        assert_eq!(refused.code, Some(code), "{refused:?}");
        assert!(refused.stderr.contains(why) && refused.stdout.is_empty(), "{refused:?}");
    }
    let names = |switch: &str| -> Vec<String> {
        let ports = room.switch(switch)["ports"].clone();
        ports.as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("vale0"), ["a", "b", "c"]);
    assert!(names("vale1").is_empty());
}

#[test]
fn switches_and_ports_come_and_go() {
    let Some(room) = Room::new() else { return };
    let schema = Schema::read();
    let made = room.json(&[
        "switch", "add", "vale0", "--slots", "128", "--rings", "2", "--ageing", "1m", "--quota", "9",
    ]);
    assert_eq!(
        keys(&made),
        ["ageing", "buffers", "memory", "module", "name", "port_memory", "quota", "rings", "slots"]
    );
    schema.check("switch add", &made);
    assert_eq!(
        [&made["name"], &made["slots"], &made["rings"], &made["ageing"], &made["quota"]],
        [&json!("vale0"), &json!(128), &json!(2), &json!(60.0), &json!(9)]
    );
    let port = room.json(&["switch", "port", "add", "vale0:p1"]);
    schema.check("switch port add", &port);
    assert_eq!([&port["number"], &port["owner"], &port["mode"]], [&json!(1), &json!("root"), &json!("600")]);
    let port = room.json(&["switch", "port", "add", "vale0:p2", "--owner", "65534", "--group", "4711"]);
    assert_eq!(
        [&port["number"], &port["uid"], &port["gid"], &port["mode"]],
        [&json!(2), &json!(NOBODY), &json!(4711), &json!("660")]
    );
    let port = room.json(&["switch", "port", "set", "vale0:p2", "--mode", "600"]);
    assert_eq!([&port["uid"], &port["gid"], &port["mode"]], [&json!(NOBODY), &json!(4711), &json!("600")]);
    let port =
        room.json(&["switch", "port", "set", "vale0:p2", "--owner", "root", "--group", "0", "--mode", "666"]);
    assert_eq!(
        [&port["owner"], &port["group"], &port["mode"]],
        [&json!("root"), &json!("root"), &json!("666")]
    );

    let all = room.json(&["switch", "list"]);
    schema.check("switch list", &all);
    let switch = &all["switches"][0];
    assert_eq!(
        [&switch["name"], &switch["ageing"], &switch["quota"]],
        [&json!("vale0"), &json!(60.0), &json!(9)]
    );
    let ports = switch["ports"].as_array().unwrap();
    assert_eq!(ports.iter().map(|p| p["name"].as_str().unwrap()).collect::<Vec<_>>(), ["p1", "p2"]);
    assert!(
        ports.iter().all(|p| p["ephemeral"] == false && p["open"] == false && p["pid"].is_null()),
        "{all}"
    );
    assert!(switch["memory"].as_u64() > made["memory"].as_u64(), "ports take memory");
    let text = room.run(&["switch", "list"]).stdout;
    assert!(
        text.starts_with("vale0: 2 ports, 2 rings of 128 slots each way, addresses age after 60 s, "),
        "{text}"
    );
    assert!(text.contains("\n    2 p2  persistent  root:root 666  0 addresses, not open\n"), "{text}");

    let conf = room.json(&["vale", "port", "conf", "vale0:p1", "--vlan", "trunk:1-3", "--native", "9"]);
    schema.check("switch port set", &conf);
    let shown = room.json(&["switch", "port", "show", "vale0:p1"]);
    assert_eq!(shown, room.json(&["switch", "port", "set", "vale0:p1", "--isolated", "false"]));
    assert_eq!(shown, conf, "conf is the name of old");
    assert_eq!(conf["vlan"], json!({ "mode": "trunk", "vid": null, "allowed": "1-3,9", "native": 9 }));

    let reloaded = room.json(&["switch", "reload", "vale0"]);
    schema.check("switch reload", &reloaded);
    assert_eq!(reloaded["generation"], 2);
    let gone = room.json(&["switch", "port", "del", "vale0:p1"]);
    schema.check("switch port del", &gone);
    assert_eq!(gone, json!({ "switch": "vale0", "port": "p1", "number": 1 }));
    let gone = room.json(&["switch", "del", "vale0"]);
    schema.check("switch del", &gone);
    assert_eq!(gone, json!({ "name": "vale0", "ports": 1 }));
    room.json(&["switch", "add", "vale1", "--module", "hub"]);
    assert!(room.run(&["switch", "list"]).stdout.starts_with("vale1: hub, 0 ports, "));
    room.json(&["switch", "del", "vale1"]);
    assert!(room.run(&["switch", "list"]).stdout.starts_with("there is no switch in /"));
    assert_eq!(room.json(&["switch", "stats"]), json!({ "switches": [] }));
    assert_eq!(room.json(&["vale", "stats"]), json!({ "switches": [], "routers": [] }));
}

#[test]
fn an_interface_and_its_host() {
    let Some(room) = Room::new() else { return };
    let schema = Schema::read();
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    for args in [
        "link add a0 type veth peer name b0",
        "link set a0 up",
        "link set b0 up",
        "link add br0 up type bridge",
    ] {
        assert!(Command::new("ip").args(args.split(' ')).status().unwrap().success(), "ip {args}");
    }
    room.json(&["switch", "add", "vale0"]);
    let added = room.json(&["switch", "add", "vale0:a0", "--host"]);
    assert_eq!(added, json!({ "switch": "vale0", "port": "a0", "number": 1, "path": "xdp", "host": 2 }));
    schema.check("switch add SWITCH:IF", &added);
    let ports = room.switch("vale0")["ports"].clone();
    let of = |key: &str| ports.as_array().unwrap().iter().map(|p| p[key].clone()).collect::<Vec<_>>();
    assert_eq!((of("name"), of("host")), (vec![json!("a0"), json!("a0^")], vec![json!(false), json!(true)]));
    let text = room.run(&["switch", "list"]).stdout;
    assert!(text.contains("\n    2 a0^  host  "), "{text}");
    assert_eq!(room.run(&["switch", "add", "vale1", "--host"]).code, Some(2), "of a switch");
    assert_eq!(room.run(&["switch", "port", "del", "vale0:a0"]).code, Some(0));
    assert_eq!(room.switch("vale0")["ports"], json!([]));
    let again = room.run(&["switch", "add", "vale0:a0", "--path", "xdp", "--json"]);
    assert!(again.stdout.contains("\"host\":null"), "{again:?}");
    assert!(again.stderr.contains("device_refused: `ethtool -K b0 gro on`"), "{again:?}");
    assert_eq!(room.run(&["switch", "port", "del", "vale0:a0"]).code, Some(0));
    assert!(Command::new("ethtool").args(["-K", "b0", "gro", "on"]).status().unwrap().success());
    assert_eq!(room.run(&["switch", "add", "vale0:a0", "--path", "xdp"]).stderr, "");
    assert_eq!(room.run(&["switch", "port", "del", "vale0:a0"]).code, Some(0));
    assert!(Command::new("ethtool").args(["-K", "b0", "gro", "off"]).status().unwrap().success());
    let refused = room.run(&["switch", "add", "vale0:br0", "--host"]);
    assert!(
        refused.stderr.contains("has no native XDP; leave --host out, and give the host a veth"),
        "{refused:?}"
    );
    let by_tc = room.run(&["switch", "add", "vale0:a0"]);
    assert!(by_tc.stdout.contains("added by tc") && by_tc.stderr.is_empty(), "{by_tc:?}");
    room.json(&["switch", "del", "vale0"]);
}

#[test]
fn what_can_not_be_done_is_told_in_a_line() {
    let Some(room) = Room::new() else { return };
    assert_eq!(room.run(&["switch", "add", "vale0"]).code, Some(0));
    assert_eq!(room.run(&["switch", "port", "add", "vale0:p1"]).code, Some(0));
    for (args, code, says) in [
        (
            "add vale0",
            1,
            "there is a switch or router of that name; `ringway switch del vale0` removes a switch",
        ),
        ("add eth0", 2, "not the name of a switch; vale and up to 11"),
        ("add vale0123456789ab", 2, "not the name of a switch"),
        ("add vale1 --slots 100", 2, "100 slots a ring; take a power of two"),
        ("add vale1 --rings 9", 2, "9 rings; take 1 to 8"),
        ("add vale1 --ageing 1ms", 2, "take 32 ms or more"),
        ("add vale1 --ageing soon", 2, "accepted: NUMBER[ms|s|m|h]"),
        ("add vale1 --quota 0", 2, "take 1 to 131072"),
        ("add vale1 --module nope", 1, "give bridge, hub, or the file of a compiled module"),
        ("del vale1", 1, "there is no such switch"),
        ("del vale0:p1", 2, "name the switch without a port: vale0"),
        ("reload vale1", 1, "there is no such switch"),
        ("list vale1", 1, "`ringway switch add vale1` makes a switch, `ringway router add vale1` a router"),
        ("stats vale1", 1, "there is no such switch"),
        ("stats eth0", 2, "not the name of a switch"),
        ("fdb list vale1", 1, "there is no such switch"),
        ("port add vale1:p1", 1, "there is no such switch"),
        ("port add vale0:p1", 1, "there is a port of that name"),
        ("port add vale0:a.b", 2, "1 to 31 letters, digits, _ or -"),
        ("port add vale0", 2, "accepted: SWITCH:PORT such as vale0:p1"),
        ("port add pipe:x{1", 2, "accepted: SWITCH:PORT"),
        ("port add vale0:p2 --owner no-such-user", 2, "there is no such user; `getent passwd`"),
        ("port add vale0:p2 --group no-such-group", 2, "there is no such group; `getent group`"),
        ("port add vale0:p2 --mode 777", 2, "accepted: 600, 660, 666"),
        ("port set vale0:p1", 2, "nothing to set"),
        ("port set vale0:p2 --mode 660", 1, "there is no such port; `ringway switch list vale0` shows them"),
        ("port del vale0:p2", 1, "there is no such port"),
        ("port set vale0:p1 --mirror p2:all", 2, "accepted: PORT, PORT:rx, PORT:tx or none"),
        ("port set vale0:p1 --vlan trunk:", 2, "such as trunk:1-10,20"),
        ("fdb add vale0 02:00:00:00:00:01 p2", 1, "there is no such port"),
        ("fdb add vale0 ff:ff:ff:ff:ff:ff p1", 2, "take a unicast address"),
        ("fdb add vale0 02:00:00:00:00:01@4096 p1", 2, "accepted: MAC[@VLAN]"),
        ("fdb del vale0 02:00:00:00:00:01", 1, "is not known; `ringway switch fdb list vale0`"),
        ("list --bpffs /proc vale0", 1, "there is no such switch or router in /proc"),
        ("add vale1 --bpffs nowhere", 1, ": it is not in a BPF file system; mount one with"),
        ("add vale1 --bpffs /mnt/run", 1, "it is not in a BPF file system; mount one with"),
        ("add vale1 --bpffs /mnt/x/y", 1, "/mnt/x: it is not in a BPF file system"),
    ] {
        let args: Vec<&str> = std::iter::once("switch").chain(args.split(' ')).collect();
        if args.last() == Some(&"/mnt/x/y") {
            // Files lie there: a mount would hide them.
            fs::create_dir(room.path("x")).unwrap();
            fs::write(room.path("x/file"), "").unwrap();
        }
        let ended = room.run(&args);
        assert!(ended.error(code).contains(says), "{args:?}: {ended:?}");
    }
    assert!(fs::exists(room.path("x/file")).unwrap());
    assert_eq!(room.switch("vale0")["ports"].as_array().unwrap().len(), 1, "nothing half made stays");
    for args in [
        "add vale1",
        "del vale0",
        "list",
        "stats vale0",
        "fdb flush vale0",
        "port add vale0:p9",
        "port del vale0:p1",
    ] {
        let args: Vec<&str> = std::iter::once("switch").chain(args.split(' ')).collect();
        let ended = room.as_nobody(&args);
        assert!(ended.error(1).contains("run as root"), "{args:?}: {ended:?}");
    }
    // where not even the names are seen, and there is no directory for files of a router
    let closed = format!("{}/ringway", room.mount_bpf("closed", 0o700));
    for args in [
        "switch list",
        "vale list vale0",
        "switch stats",
        "vale del vale0",
        "router add vale7",
        "router show",
        "router get 10.0.0.1",
        "router stats -r vale0",
    ] {
        let args: Vec<&str> = args.split(' ').chain(["--bpffs", &closed]).collect();
        let mut command = room.command_of_nobody(&args);
        let ended = spawn(command.env_remove("RINGWAY_DIR").env_remove("XDG_RUNTIME_DIR")).end();
        let said = ended.error(1);
        assert!(said.contains("run as root") && !said.contains("RINGWAY_DIR"), "{args:?}: {ended:?}");
    }
    let ended = room.as_nobody(&["pkt-gen", "-i", "vale0:p1", "-f", "rx"]);
    assert!(ended.error(1).contains("ask its owner for access: `ringway switch port set"), "{ended:?}");
    let ended = room.as_nobody(&["pkt-gen", "-i", "vale0:new", "-f", "rx"]);
    assert!(
        ended.error(1).contains("have root make it: `ringway switch port add vale0:new --owner"),
        "{ended:?}"
    );
}

#[test]
fn what_is_in_use_is_not_removed() {
    let Some(room) = Room::new() else { return };
    assert_eq!(room.run(&["switch", "add", "vale0"]).code, Some(0));
    assert_eq!(room.run(&["switch", "port", "add", "vale0:a"]).code, Some(0));
    let user = room.start(&["pkt-gen", "-i", "vale0:a", "-f", "rx"]);
    let passing = room.start(&["pkt-gen", "-i", "vale0:b", "-f", "rx"]);
    room.wait_open("vale0", "a");
    room.wait_open("vale0", "b");
    let ports = room.switch("vale0")["ports"].clone();
    assert_eq!([&ports[0]["pid"], &ports[1]["pid"]], [&json!(user.pid()), &json!(passing.pid())]);
    assert_eq!([&ports[0]["ephemeral"], &ports[1]["ephemeral"]], [false, true]);
    let busy = format!("vale0:a: busy: pid {} has it open; end that process first", user.pid());
    assert!(room.run(&["switch", "del", "vale0"]).error(1).contains(&busy));
    assert!(
        room.run(&["switch", "port", "del", "vale0:a"]).error(1).contains(&format!("{busy}, or use --force"))
    );
    assert!(room.run(&["pkt-gen", "-i", "vale0:a", "-f", "rx"]).error(1).contains(&format!(
        "pid {} has it open; end process {}",
        user.pid(),
        user.pid()
    )));
    assert_eq!(room.run(&["switch", "port", "del", "vale0:a", "--force"]).code, Some(0));
    assert!(user.end().error(1).contains("the port was deleted"));
    passing.interrupt();
    assert_eq!(room.switch("vale0")["ports"], json!([]), "an ephemeral port goes with its user");
    assert_eq!(room.run(&["switch", "del", "vale0"]).code, Some(0));
}

const A: &str = "02:00:00:00:00:0a";
const B: &str = "02:00:00:00:00:0b";

/// Sends 4000 frames, which a ring of 4096 slots has room for, from port `from`, whose station is `src`, to `dst`.
fn send(room: &Room, from: &str, src: &str, dst: &str) {
    let name = format!("vale0:{from}");
    let args = ["pkt-gen", "-i", &name, "-f", "tx", "-n", "4000", "-S", src, "-D", dst];
    let sent = room.json(&args);
    assert_eq!([&sent["packets"], &sent["counters"]["tx"]["frames_out"]], [4000, 4000], "{sent}");
    assert_eq!(sent["counters"]["tx"]["bytes_out"], 240_000, "{sent}");
}

fn port(room: &Room, name: &str) -> Value {
    let all = room.json(&["switch", "stats", "vale0"]);
    let ports = all["switches"][0]["ports"].as_array().unwrap();
    ports.iter().find(|p| p["name"] == name).unwrap_or_else(|| panic!("{all}")).clone()
}

/// One port sends to all; everybody who counts says the same.
#[test]
fn all_frames_are_accounted_for() {
    let Some(room) = Room::new() else { return };
    let schema = Schema::read();
    assert_eq!(room.run(&["switch", "add", "vale0", "--slots", "4096"]).code, Some(0));
    let sink = room.start(&["pkt-gen", "-i", "vale0:b", "-f", "rx"]);
    room.wait_open("vale0", "b");
    send(&room, "a", A, "ff:ff:ff:ff:ff:ff");
    room.until(|| port(&room, "b")["rx"]["frames_out"] == 4000 && port(&room, "b")["waiting"] == 0);

    // The sender's port was ephemeral: its counters are in the totals only.
    let all = room.json(&["switch", "stats", "vale0"]);
    schema.check("switch stats", &all);
    let switch = &all["switches"][0];
    let sum = json!({ "frames_in": 4000, "frames_out": 4000, "dropped": 0 });
    assert_eq!(switch["totals"], json!({ "rx": sum, "tx": sum, "copies": 4000 }));
    assert_eq!(switch["ports"].as_array().unwrap().len(), 1, "{all}");
    let open = &room.json(&["stats", "vale0:b"])["ports"][0];
    for key in ["frames_in", "frames_out", "bytes_out", "dropped", "drops"] {
        assert_eq!(open["rx"][key], switch["ports"][0]["rx"][key], "{key}: {open}");
        assert_eq!(open["rings"][0][key], open["rx"][key], "{key}: {open}");
    }
    assert_eq!([&open["rx"]["bytes_out"], &open["pid"]], [&json!(240_000), &json!(sink.pid())]);
    let top = room.run(&["top", "--once", "--interval", "50"]).stdout;
    assert!(top.contains("vale0:b") && top.contains("port 1 of a switch"), "{top}");

    let checked = room.run(&["stats", "--check", "-v"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(
        checked
            .stdout
            .contains(&format!("vale0:b (pid {}): ok\n  rx0 4000 in, 4000 out, 0 dropped: ok\n", sink.pid()))
    );
    assert!(checked.stdout.contains("\nvale0: ok\n  b rx 4000 in, 4000 out, 0 dropped: ok\n"), "{checked:?}");
    assert!(checked.stdout.ends_with("\n  copies 4000 in, 4000 out, 0 dropped: ok\n"), "{checked:?}");
    let metrics = openmetrics::parse(&room.run(&["stats", "--openmetrics"]).stdout);
    let value = |family: &str, labels: &[(&str, &str)]| {
        metrics[&format!("ringway_switch{family}")].value(&[&[("switch", "vale0")], labels].concat())
    };
    let b = ("port", "b");
    assert_eq!(value("_port_frames", &[b, ("side", "rx"), ("dir", "out")]), 4000.0);
    assert_eq!(value("_port_bytes", &[b, ("side", "rx"), ("dir", "out")]), 240_000.0);
    assert_eq!(value("_port_drops", &[b, ("side", "tx"), ("reason", "same_port")]), 0.0);
    assert_eq!(
        [value("_port_open", &[b]), value("_port_waiting", &[b]), value("_ports", &[])],
        [1.0, 0.0, 1.0]
    );
    assert_eq!(value("_frames", &[("side", "tx"), ("dir", "in")]), 4000.0);
    assert_eq!([value("_copies", &[]), value("_drops", &[("side", "rx")])], [4000.0, 0.0]);
    assert_eq!(value("", &[("slots", "4096"), ("rings", "1"), ("ageing", "300")]), 1.0);
    assert!(value("_memory_bytes", &[]) > 1e6 && metrics["ringway_switch_memory_bytes"].unit == "bytes");
    sink.interrupt();
    assert_eq!(room.run(&["stats", "--check"]).stdout, "vale0: ok\n");
}

/// A persistent port keeps its counters and frames; what its receiver has no room for is a named drop on both sides.
#[test]
fn a_port_that_nobody_reads_fills_up() {
    let Some(room) = Room::new() else { return };
    assert_eq!(room.run(&["switch", "add", "vale0", "--slots", "64"]).code, Some(0));
    assert_eq!(room.run(&["switch", "port", "add", "vale0:b"]).code, Some(0));
    let args = ["pkt-gen", "-i", "vale0:a", "-f", "tx", "-n", "1000", "-S", A, "-D", "ff:ff:ff:ff:ff:ff"];
    let sent = room.json(&args)["counters"]["tx"].clone();
    assert_eq!([&sent["frames_out"], &sent["drops"]["receiver_full"]], [63, 937]);
    assert_eq!([&sent["frames_in"], &sent["bytes_out"]], [1000, 63 * 60]);
    let full = port(&room, "b");
    assert_eq!(
        [&full["rx"]["frames_in"], &full["rx"]["drops"]["ring_full"], &full["waiting"]],
        [1000, 937, 63]
    );
    let text = room.run(&["switch", "stats", "-v"]).stdout;
    assert!(
        text.starts_with(
            "vale0:b\n  rx 1000 in, 63 out, 937 ring_full; 63 waiting\n  tx 0 in, 0 out; 0 copies\n"
        ),
        "{text}"
    );
    assert!(text.contains("the program reads too slowly"), "{text}");
    assert!(text.ends_with("vale0 in all\n  rx 1000 in, 63 out, 937 dropped\n  tx 1000 in, 63 out, 937 dropped, 1000 copies\n"), "{text}");
    assert_eq!(room.run(&["stats", "--check"]).stdout, "vale0: ok\n");
    assert_eq!(room.run(&["top", "--once", "--interval", "20"]).stdout, "no port is open\n");
    let late = room.json(&["pkt-gen", "-i", "vale0:b", "-f", "rx", "-n", "63"]);
    assert_eq!(late["packets"], 63, "who opens it later finds them: {late}");
}

#[test]
fn the_table_is_shown_and_changed() {
    let Some(room) = Room::new() else { return };
    let schema = Schema::read();
    assert_eq!(room.run(&["switch", "add", "vale0"]).code, Some(0));
    for name in ["vale0:a", "vale0:b"] {
        assert_eq!(room.run(&["switch", "port", "add", name]).code, Some(0));
    }
    assert_eq!(room.run(&["switch", "fdb", "list", "vale0"]).stdout, "no address is known\n");
    let (a, b) = (room.start(&["pkt-gen", "-i", "vale0:a", "-f", "rx"]), "vale0:b");
    room.wait_open("vale0", "a");
    assert_eq!(room.json(&["pkt-gen", "-i", b, "-f", "tx", "-n", "10", "-S", B, "-D", A])["packets"], 10);
    let list = || room.json(&["switch", "fdb", "list", "vale0"]);
    let entry = list()["entries"][0].clone();
    schema.check("switch fdb list", &list());
    let age = entry["age"].as_f64().unwrap();
    assert!((0.0..30.0).contains(&age), "{entry}");
    let mut learned = json!({ "mac": B, "vlan": 0, "port": "b", "number": 2, "static": false, "blackhole": false, "age": age });
    assert_eq!(entry, learned);
    assert_eq!(port(&room, "b")["addresses"], 1);

    let set = room.json(&["switch", "fdb", "add", "vale0", A, "a"]);
    schema.check("switch fdb add", &set);
    assert_eq!(set, json!({ "switch": "vale0", "mac": A, "vlan": 0, "port": "a" }));
    let black = room.json(&["switch", "fdb", "blackhole", "vale0", "02:00:00:00:00:66@7"]);
    schema.check("switch fdb blackhole", &black);
    let flushed = room.json(&["switch", "fdb", "flush", "vale0"]);
    schema.check("switch fdb flush", &flushed);
    assert_eq!(flushed, json!({ "switch": "vale0", "flushed": 1 }));
    let text = room.run(&["switch", "fdb", "list", "vale0"]).stdout;
    assert_eq!(text, format!("{A}  a  static\n02:00:00:00:00:66@7  blackhole  static\n"));
    learned = list()["entries"][1].clone();
    assert_eq!(
        [&learned["static"], &learned["blackhole"], &learned["vlan"]],
        [&json!(true), &json!(true), &json!(7)]
    );

    room.json(&["switch", "fdb", "blackhole", "vale0", A]);
    let lost = room.json(&["pkt-gen", "-i", b, "-f", "tx", "-n", "10", "-S", B, "-D", A]);
    assert_eq!(lost["counters"]["tx"]["drops"]["blackhole"], 10, "{lost}");
    let gone = room.json(&["switch", "fdb", "del", "vale0", A]);
    schema.check("switch fdb del", &gone);
    assert_eq!(list()["entries"].as_array().unwrap().len(), 2, "{gone}");
    assert_eq!(room.run(&["stats", "--check"]).code, Some(0));
    a.interrupt();
}

/// No capability, no user id 0, nothing but access to the files of two ports.
#[test]
fn who_has_a_port_needs_no_rights() {
    let Some(room) = Room::new() else { return };
    assert_eq!(room.run(&["switch", "add", "vale0", "--slots", "4096"]).code, Some(0));
    for name in ["vale0:in", "vale0:out"] {
        let made = room.run(&["switch", "port", "add", name, "--owner", "nobody"]);
        assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""));
    }
    let receiver = spawn(
        &mut room.command_of_nobody(&["pkt-gen", "-i", "vale0:in", "-f", "rx", "-n", "4000", "--json"]),
    );
    room.wait_open("vale0", "in");
    let status = fs::read_to_string(format!("/proc/{}/status", receiver.pid())).unwrap();
    for line in [
        "Uid:\t65534\t65534\t65534\t65534",
        "CapPrm:\t0000000000000000",
        "CapEff:\t0000000000000000",
        "Groups:\t \n",
    ] {
        assert!(status.contains(line), "{line:?}: {status}");
    }
    let sent = room.as_nobody(&["pkt-gen", "-i", "vale0:out", "-f", "tx", "-n", "4000", "--json"]).json();
    let received = receiver.end().json();
    assert_eq!([&sent["packets"], &received["packets"]], [4000, 4000]);
    assert_eq!(
        [&sent["counters"]["tx"]["frames_out"], &received["counters"]["rx"]["frames_out"]],
        [4000, 4000]
    );
    assert_eq!(received["sequence"]["unique"], 4000, "{received}");

    // Their own ports are all that they see, with true counters.
    let echo = spawn(&mut room.command_of_nobody(&["pkt-gen", "-i", "vale0:in", "-f", "rx"]));
    room.wait_open("vale0", "in");
    let own = room.as_nobody(&["stats", "--json"]).json();
    assert_eq!([&own["ports"][0]["name"], &own["ports"][0]["pid"]], [&json!("vale0:in"), &json!(echo.pid())]);
    assert_eq!(own["ports"][0]["rx"]["frames_in"], 4000, "{own}");
    assert_eq!(room.as_nobody(&["stats", "--check"]).code, Some(0));
    echo.interrupt();
    assert_eq!(room.run(&["stats", "--check"]).stdout, "vale0: ok\n");
}
