//! Files become switches and routers, and these become files.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::json;

use crate::bed::{Bed, routers, switches};
use crate::support::LIMIT;
use crate::support::schema::Schema;

#[test]
fn what_files_say_is_made_once() {
    let Some(bed) = Bed::new(6) else { return };
    bed.write("10-switches.toml", &switches(2, 3));
    bed.write("20-routers.toml", &routers(2));
    bed.write("30-more.toml", "[switch.vale-m]\nmodule = \"hub\"\nageing = \"1500ms\"\n[switch.vale-m.member.e4]\n[switch.vale-m.member.e5]\npath = \"tc\"\n");
    bed.write("notes.txt", "no TOML");
    let dry = bed.applied(&["--dry-run"]);
    assert_eq!((&dry["dry_run"], bed.names().len()), (&json!(true), 0), "{dry}");
    let made = bed.applied(&[]);
    assert_eq!([&made["dry_run"], &made["failed"]], [&json!(false), &json!([])]);
    assert_eq!(dry["changes"], made["changes"]);
    assert_eq!(bed.names(), ["r0", "r1", "vale-m", "vale0", "vale1"]);
    assert_eq!(bed.ports("vale0"), ["p0", "p1", "p2"]);
    assert_eq!(bed.ports("vale-m"), ["e4", "e5"]);
    bed.assert_nothing_to_do();
    let exported = bed.room.json(&["export"]);
    Schema::read().check("export", &exported);
    assert_eq!([&exported["switches"], &exported["routers"]], [3, 2]);
}

#[test]
fn changes_are_made_where_there_are_some() {
    let Some(bed) = Bed::new(2) else { return };
    bed.write(
        "a.toml",
        "[switch.vale0]\nslots = 64\n[switch.vale0.port.p1]\nowner = \"nobody\"\n[switch.vale0.port.p2]\n",
    );
    let made = bed.apply(&[]);
    assert_eq!(
        made.stdout, "+ switch vale0 slots=64\n+ port vale0:p1 owner=\"nobody\"\n+ port vale0:p2\n",
        "{made:?}"
    );
    bed.write(
        "a.toml",
        "[switch.vale0]\nslots = 64\n[switch.vale0.port.p1]\nowner = \"nobody\"\nvlan = \"trunk:3-5\"\nnative = 4\nmirror = \"p3\"\n\
         [switch.vale0.port.p2]\ngroup = \"nogroup\"\n[switch.vale0.port.p3]\nisolated = true\n",
    );
    let changed = bed.apply(&[]);
    let lines = "~ port vale0:p1\n-   vlan=\"transparent\"\n-   mirror=\"none\"\n+   vlan=\"trunk:3-5\"\n+   native=4\n+   mirror=\"p3\"\n\
        ~ port vale0:p2\n-   group=\"root\"\n-   mode=\"600\"\n+   group=\"nogroup\"\n+   mode=\"660\"\n+ port vale0:p3 isolated=true\n";
    assert_eq!(changed.stdout, lines, "{changed:?}");
    let shown = bed.room.json(&["switch", "port", "show", "vale0:p1"]);
    assert_eq!(
        [&shown["vlan"]["native"], &shown["mirror"]["to"], &shown["owner"]],
        [&json!(4), &json!("p3"), &json!("nobody")]
    );
    bed.assert_nothing_to_do();
}

/// A mirror to a port that goes away with its user is no part of what stays: it is not exported, and not ended.
#[test]
fn mirrors_to_passing_ports_are_left_alone() {
    let Some(bed) = Bed::new(2) else { return };
    bed.write("a.toml", "[switch.vale0.port.p1]\n");
    bed.apply(&[]);
    let monitor = bed.room.start(&["pkt-gen", "-i", "vale0:watch", "-f", "rx"]);
    let begin = Instant::now();
    while !bed.ports("vale0").contains(&"watch".to_owned()) {
        assert!(begin.elapsed() < LIMIT, "{}", monitor.said());
    }
    let set = bed.room.run(&["switch", "port", "set", "vale0:p1", "--mirror", "watch"]);
    assert_eq!(set.code, Some(0), "{set:?}");
    assert!(!bed.room.run(&["export"]).stdout.contains("watch"));
    bed.assert_nothing_to_do();
    let shown = bed.room.json(&["switch", "port", "show", "vale0:p1"]);
    assert_eq!(shown["mirror"]["to"], "watch", "{shown}");
    monitor.interrupt();
}

#[test]
fn only_prune_removes() {
    let Some(bed) = Bed::new(4) else { return };
    bed.write("a.toml", &switches(2, 2));
    bed.write("b.toml", &routers(1));
    bed.applied(&[]);
    bed.room.json(&["router", "port", "add", "r0:e2"]);
    bed.write("a.toml", &switches(1, 1));
    assert_eq!(bed.apply(&[]).stdout, "nothing to do\n");
    let pruned = bed.apply(&["--prune"]);
    let lines = "- switch vale1\n- port vale0:p1\n~ router r0\n-   members=[\"e0\", \"e1\", \"e2\"]\n+   members=[\"e0\", \"e1\"]\n";
    assert_eq!((pruned.code, pruned.stdout.as_str()), (Some(0), lines), "{pruned:?}");
    assert_eq!((bed.names(), bed.ports("vale0")), (vec!["r0".into(), "vale0".into()], vec!["p0".to_owned()]));
    bed.assert_nothing_to_do();
    bed.write("b.toml", "");
    assert_eq!(bed.apply(&["--prune"]).stdout, "- router r0\n");
    assert_eq!(bed.names(), ["vale0"]);
}

/// An interface that was deleted and made again is a member again; so is a router whose process died.
#[test]
fn what_went_away_comes_back() {
    let Some(bed) = Bed::new(3) else { return };
    bed.write("a.toml", "[switch.vale0]\n[switch.vale0.member.e2]\nvlan = \"access:7\"\n");
    bed.write("b.toml", &routers(1));
    bed.applied(&[]);
    bed.lab.ip("link del e2").unwrap();
    bed.lab.veth("e2", "f2").unwrap();
    let pid = || bed.room.json(&["router", "list", "r0"])["routers"][0]["pid"].as_i64();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid().unwrap() as i32), nix::sys::signal::SIGKILL)
        .unwrap();
    bed.room.until(|| pid().is_none());
    let back = bed.apply(&[]);
    let lines = "+ member vale0:e2 vlan=\"access:7\"\n~ router r0\n-   process=none\n+   process=running\n";
    assert_eq!((back.code, back.stdout.as_str()), (Some(0), lines), "{back:?}");
    assert_eq!(bed.room.switch("vale0")["ports"][0]["gone"], false);
    assert!(pid().is_some());
    bed.assert_nothing_to_do();
}

#[test]
fn ports_are_joined_to_memif_sockets() {
    let Some(bed) = Bed::new(0) else { return };
    let socket = format!("@ringway-apply-{}", std::process::id());
    let text =
        format!("[switch.vale0]\n[switch.vale0.port.m1]\nowner = \"nobody\"\nmemif = \"{socket},id=3\"\n");
    bed.write("a.toml", &text);
    let made = bed.apply(&[]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let served = || bed.room.switch("vale0")["ports"][0]["pid"].as_i64();
    let status = std::fs::read_to_string(format!("/proc/{}/status", served().unwrap())).unwrap();
    assert!(status.contains("\nUid:\t65534\t") && status.contains("\nGid:\t65534\t"), "{status}");
    bed.assert_nothing_to_do();
    bed.write("a.toml", &text.replace("id=3", "id=4"));
    assert!(bed.apply(&[]).stderr.contains("and the file names another memif"));
    bed.write("a.toml", &text);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(served().unwrap() as i32), nix::sys::signal::SIGTERM)
        .unwrap();
    bed.room.until(|| served().is_none());
    let again = bed.apply(&[]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(served().is_some());
    bed.write("a.toml", "");
    assert_eq!(bed.apply(&["--prune"]).stdout, "- switch vale0\n");
}

/// A module is exported with its folder, so that another folder's file finds it.
#[test]
fn modules_are_found_again() {
    let Some(bed) = Bed::new(0) else { return };
    let (sources, object) =
        (Path::new(env!("CARGO_MANIFEST_DIR")).join("../ringway-bpf/bpf"), bed.folder.clone() + "/own.o");
    let compiled = Command::new("clang")
        .args(["-O2", "-g", "-target", "bpf", "-mcpu=v3"])
        .arg(format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH))
        .arg("-I")
        .arg(sources.join("include"))
        .arg("-c")
        .arg(sources.join("examples/balance.bpf.c"))
        .args(["-o", &object])
        .status();
    let Ok(compiled) = compiled else {
        eprintln!("SKIP: modules need clang; install it");
        return;
    };
    assert!(compiled.success());
    bed.write("a.toml", "[switch.vale0]\nmodule = \"own.o\"\n");
    bed.applied(&[]);
    bed.assert_nothing_to_do();
    bed.room.json(&["switch", "del", "vale0"]);
    let again = bed.room.run(&["apply", "--config", &bed.room.path("exported")]);
    assert_eq!(again.stdout, format!("+ switch vale0 module=\"{object}\"\n"), "{again:?}");
}
