//! `ringway extcap`, by itself and as tshark uses it. Captures need root, which a line says.
#![allow(clippy::unwrap_used, reason = "tests")]

mod bar;
#[path = "../support/mod.rs"]
mod support;
mod toolbar;

use std::fs;
use std::io::{Cursor, Read};
use std::process::Command;
use std::time::Instant;

use nix::mount::{MsFlags, mount};
use ringway_lab::Lab;
use ringway_wire::pcapfile::Reader;
use support::room::Room;
use support::{Ended, Running, command, file, run, spawn};

/// Puts the program alone into Wireshark's folder, as this thread and its children see it. `None`, said loudly, without tshark.
fn install(room: &Room) -> Option<()> {
    let Ok(folders) = Command::new("tshark").args(["-G", "folders"]).output() else {
        eprintln!("SKIP: there is no tshark here; scripts/setup --test installs it");
        return None;
    };
    let folders = String::from_utf8(folders.stdout).unwrap();
    let folder = folders.lines().find_map(|line| line.strip_prefix("Extcap path:")).unwrap().trim();
    let own = room.path("extcap");
    fs::create_dir(&own).unwrap();
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/extcap/ringway"), format!("{own}/ringway")).unwrap();
    mount(Some(&*own), folder, None::<&str>, MsFlags::MS_BIND, None::<&str>).unwrap();
    Some(())
}

/// tshark with the room's switches, and its `ringway` first in the path.
fn tshark(room: &Room, lab: Option<&Lab>, args: &[&str]) -> Command {
    let mut command = match lab {
        Some(lab) => {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", lab.name(), "tshark"]);
            command
        }
        None => Command::new("tshark"),
    };
    let path = format!("{}:{}", room.path(""), std::env::var("PATH").unwrap());
    command.args(args).env("PATH", path);
    command.env("RINGWAY_BPFFS", room.path("bpf/ringway")).env("RINGWAY_DIR", room.path("run"));
    command
}

/// Sends frames until `reader` has ended; how it ended.
fn feed(mut reader: Running, mut send: impl FnMut()) -> Ended {
    while reader.running() {
        send();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    reader.end()
}

#[test]
fn entries_and_their_options_are_listed() {
    let list = run(&["extcap", "--extcap-interfaces", "--extcap-version=4.0"]);
    assert_eq!((list.code, list.stderr.as_str()), (Some(0), ""), "{list:?}");
    assert!(
        list.stdout.contains("interface {value=ringway:lo}{display=Ringway: copies of lo}\n"),
        "{list:?}"
    );
    for control in ["{number=0}{type=string}{display=Filter}", "{number=2}{type=button}{role=logger}"] {
        assert!(list.stdout.contains(&format!("\ncontrol {control}")), "{list:?}");
    }
    let types = run(&["extcap", "--extcap-interface", "ringway:lo", "--extcap-dlts"]).stdout;
    assert_eq!(types, "dlt {number=1}{name=EN10MB}{display=Ethernet}\n");
    let options = run(&["extcap", "--extcap-interface=ringway", "--extcap-config"]).stdout;
    for call in ["{call=--filter}", "{call=--snaplen}", "{call=--port}"] {
        assert!(options.contains(call), "{options}");
    }
}

#[test]
fn wrong_words_are_refused() {
    for (words, code, what) in [
        (&["--extcap-interface", "eth0", "--extcap-dlts"][..], 2, "eth0: no such entry"),
        (&["--extcap-interface", "ringway:lo", "--extcap-capture-filter", "udp foo"], 2, "filter `udp foo`"),
        (&["--extcap-interface", "ringway", "--capture", "--fifo", "/dev/null"], 2, "no port is named"),
        (&["--extcap-interface", "ringway", "--capture"], 2, "--fifo"),
        (&[], 2, "nothing is asked for"),
    ] {
        let refused = run(&[&["extcap"], words].concat());
        assert!(refused.error(code).contains(what), "{words:?} {refused:?}");
    }
    let fine = run(&["extcap", "--extcap-interface", "ringway:lo", "--extcap-capture-filter", "udp port 7"]);
    assert_eq!((fine.code, fine.stdout.as_str(), fine.stderr.as_str()), (Some(0), "", ""));
}

/// The reader of the FIFO ends the capture.
#[test]
fn any_port_goes_into_a_fifo() {
    let fifo = file("any.fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let to = fifo.to_str().unwrap();
    let words = [
        "extcap",
        "--extcap-interface",
        "ringway",
        "--port",
        "null:100",
        "--capture",
        "--fifo",
        to,
        "--snaplen",
        "64",
    ];
    let capture = spawn(&mut command(&words));
    let mut bytes = vec![0; 24 + 10 * (16 + 64)];
    fs::File::open(&fifo).unwrap().read_exact(&mut bytes).unwrap();
    let ended = capture.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut reader = Reader::from_read("fifo", Cursor::new(bytes)).unwrap();
    for _ in 0..10 {
        let record = reader.next().unwrap().unwrap();
        assert_eq!((record.orig_len, record.data.len()), (100, 64));
    }
}

/// A capture that is killed leaves neither mirror nor port. A second one at the same time is refused.
#[test]
fn a_killed_capture_leaves_no_mirror() {
    let Some(room) = Room::new() else { return };
    room.json(&["switch", "add", "vale0"]);
    room.json(&["switch", "port", "add", "vale0:p1"]);
    let words = ["extcap", "--extcap-interface", "ringway:vale0:p1", "--capture", "--fifo", "/dev/null"];
    let mirror = || room.json(&["switch", "port", "show", "vale0:p1"])["mirror"]["to"].clone();
    let capture = room.start(&words);
    let begin = Instant::now();
    while mirror().is_null() {
        assert!(begin.elapsed() < support::LIMIT, "{}", capture.said());
    }
    assert!(room.run(&words).error(1).contains("has its copies already"));
    capture.signal(libc::SIGKILL);
    assert_eq!(capture.end().code, None);
    assert!(mirror().is_null());
    let ports = room.json(&["switch", "list"])["switches"][0]["ports"].clone();
    assert_eq!(ports.as_array().unwrap().len(), 1, "{ports}");
}

#[test]
fn tshark_captures_copies_of_an_interface() {
    let Some(room) = Room::new() else { return };
    let (Some(()), Ok(lab)) = (install(&room), Lab::new()) else { return };
    lab.veth("a0", "a1").unwrap();
    let sender = ringway_lab::raw::RawSender::open(&lab, "a1").unwrap();
    let out = file("interface.pcap");
    let words = [
        "-i",
        "ringway:a0",
        "-f",
        "ether proto 0x88b5",
        "-c",
        "20",
        "-F",
        "pcap",
        "-w",
        out.to_str().unwrap(),
    ];
    let reader = spawn(&mut tshark(&room, Some(&lab), &words));
    let frame = |kind: u8| [&[2; 12][..], &[0x88, kind], &[7; 50]].concat();
    let ended = feed(reader, || [0xb5, 0xb6].iter().for_each(|&kind| sender.send(&frame(kind)).unwrap()));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut reader = Reader::open(&out).unwrap();
    for _ in 0..20 {
        assert_eq!(reader.next().unwrap().unwrap().data, frame(0xb5));
    }
    assert!(reader.next().is_none());
}

/// What a port sends and receives comes once each, and nothing that the switch floods. The mirror ends with the capture.
#[test]
fn tshark_captures_the_mirror_of_a_port() {
    let Some(room) = Room::new() else { return };
    let Some(()) = install(&room) else { return };
    room.json(&["switch", "add", "vale0"]);
    assert_eq!(room.run(&["switch", "port", "add", "vale0:p1", "vale0:p2"]).code, Some(0));
    let list = tshark(&room, None, &["-D"]).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains("ringway:vale0:p1 (Ringway: mirror of vale0:p1)"), "{list}");
    let out = file("mirror.pcap");
    let words = ["-i", "ringway:vale0:p1", "-c", "20", "-F", "pcap", "-w", out.to_str().unwrap()];
    let reader = spawn(&mut tshark(&room, None, &words));
    let send = |from: &str, to: &str| {
        let port = format!("vale0:{from}");
        room.json(&["pkt-gen", "-i", &port, "-f", "tx", "-n", "1", "-D", to]);
    };
    let ended = feed(reader, || {
        send("p1", "02:00:00:00:00:99");
        send("p2", "ff:ff:ff:ff:ff:ff");
    });
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut reader = Reader::open(&out).unwrap();
    let mut kinds = Vec::new();
    while let Some(record) = reader.next() {
        kinds.push(record.unwrap().data[0]);
    }
    assert_eq!(kinds.len(), 20);
    assert!(kinds.windows(2).all(|pair| pair[0] != pair[1]), "in turn, each once: {kinds:?}");
    let port = room.json(&["switch", "port", "show", "vale0:p1"]);
    assert!(port["mirror"].is_null(), "{port}");
}
