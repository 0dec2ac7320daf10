//! `ringway capture`, and ports around ports in every command.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use ringway_wire::pcapfile::{Reader, Writer};
use support::{command, pipe, run, start, wait_open};

/// Writes `udp` frames to port 7 and `other` frames of ARP in turn, 60 bytes each.
fn write(path: &Path, frames: u8) {
    let mut writer = Writer::create(path, 0).unwrap();
    for n in 0..frames {
        let mut frame = [n; 60];
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 6]);
        if n % 2 == 0 {
            frame[12..14].copy_from_slice(&[8, 0]);
            let header =
                [0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 9, 0, 7, 0, 26, 0, 0];
            frame[14..42].copy_from_slice(&header);
        }
        writer.write(u64::from(n) * 1_000_000_000, 60, &frame).unwrap();
    }
    writer.finish().unwrap();
}

fn read(path: &Path) -> Vec<(u32, Vec<u8>)> {
    let mut reader = Reader::open(path).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = reader.next() {
        let record = record.unwrap();
        frames.push((record.orig_len, record.data.to_vec()));
    }
    frames
}

/// Waits until a capture of that many frames of 60 bytes is on the disk.
fn wait_whole(path: &Path, frames: u64) {
    let begin = std::time::Instant::now();
    while std::fs::metadata(path).map_or(0, |m| m.len()) != 24 + frames * (16 + 60) {
        assert!(begin.elapsed() < support::LIMIT, "{}", path.display());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_matches_is_written_and_counted() {
    let (from, to) = (support::file("from.pcap"), support::file("to.pcap"));
    write(&from, 21);
    let port = format!("pcap:{}@top", from.display());
    let file = to.to_str().unwrap();
    let result = run(&["capture", "-i", &port, "-w", file, "-f", "udp dst port 7", "--json"]).json();
    assert_eq!((&result["captured"], &result["not_matched"]), (&11.into(), &10.into()), "{result}");
    assert_eq!((&result["bytes"], &result["counters"]["rx"]["frames_in"]), (&660.into(), &21.into()));
    let (all, got) = (read(&from), read(&to));
    assert_eq!(got, all.into_iter().step_by(2).collect::<Vec<_>>());

    let ended = run(&["capture", "-i", &port, "-w", file, "-c", "3", "-s", "20"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    assert!(ended.stderr.contains("3 frames captured, 180 bytes"), "{ended:?}");
    assert!(!ended.stderr.contains("did not match"), "{ended:?}");
    let got = read(&to);
    assert!(got.len() == 3 && got.iter().all(|(orig, data)| (*orig, data.len()) == (60, 20)), "{got:?}");
}

#[test]
fn without_a_file_frames_are_printed() {
    let from = support::file("print.pcap");
    write(&from, 4);
    let port = format!("pcap:{}@top", from.display());
    let ended = run(&["capture", "-i", &port]);
    assert_eq!((ended.code, ended.stdout.lines().count()), (Some(0), 4), "{ended:?}");
    let line = "02:00:00:00:00:01 > 02:00:00:00:00:02, 10.0.0.1 > 10.0.0.2, udp 9 > 7, 18 bytes, length 60";
    let (time, rest) = ended.stdout.lines().next().unwrap().split_once(' ').unwrap();
    assert_eq!((time, rest), ("00:00:00.000000000", line));
    assert!(ended.stderr.contains("4 frames captured, 240 bytes"), "{ended:?}");
    let ended = run(&["capture", "-i", &port, "--json"]);
    assert_eq!(ended.json()["captured"], 4);
    assert!(ended.stderr.contains(line), "{ended:?}");
}

#[test]
fn standard_output_carries_a_capture_while_it_grows() {
    let (a, b) = pipe();
    let mut child = command(&["capture", "-i", &b, "-w", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_open(&b);
    run(&["pkt-gen", "-i", &a, "-f", "tx", "-n", "100", "--json"]).json();
    // The reader must see the frames although the capture goes on.
    let mut reader = Reader::from_read("stdout", child.stdout.take().unwrap()).unwrap();
    for n in 0..100 {
        assert_eq!(reader.next().unwrap().unwrap().data.len(), 60, "{n}");
    }
    drop(reader);
    run(&["pkt-gen", "-i", &a, "-f", "tx", "-n", "100", "--json"]).json();
    assert_eq!(child.wait().unwrap().code(), Some(0), "a closed output ends it");
}

#[test]
fn ctrl_c_and_the_time_end_it_with_all_written() {
    let (a, b) = pipe();
    let to = support::file("ctrl.pcap");
    let running = start(&["capture", "-i", &b, "-w", to.to_str().unwrap()]);
    wait_open(&b);
    run(&["pkt-gen", "-i", &a, "-f", "tx", "-n", "1234", "--json"]).json();
    // It sleeps: the file is whole already.
    wait_whole(&to, 1234);
    assert_eq!(read(&to).len(), 1234);
    running.assert_idle();
    let ended = running.interrupt();
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains("1234 frames captured"), "{ended:?}");
    let ended = run(&["capture", "-i", &b, "--seconds", "0.1", "--json"]);
    assert_eq!(ended.json()["captured"], 0);
}

#[test]
fn a_port_that_only_sends_and_a_full_disk_are_told() {
    let to = support::file("deaf.pcap");
    let ended = run(&["capture", "-i", &format!("pcap:{}@write", to.display())]);
    assert!(ended.error(2).contains("nothing can be received"), "{ended:?}");
    let ended = run(&["capture", "-i", "null:", "-c", "10", "-w", "/dev/full"]);
    assert!(ended.error(1).contains("/dev/full: cannot write"), "{ended:?}");
    let cut = support::file("cut.pcap");
    write(&cut, 3);
    let bytes = std::fs::read(&cut).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() - 1]).unwrap();
    let ended = run(&["capture", "-i", &format!("pcap:{}@top", cut.display()), "-w", to.to_str().unwrap()]);
    assert_eq!((ended.code, read(&to).len()), (Some(1), 2), "{ended:?}");
    assert!(ended.stderr.contains("2 frames captured") && ended.stderr.contains("truncated"), "{ended:?}");
}

#[test]
fn taps_and_faults_in_other_commands() {
    let (from, tap) = (support::file("faulty.pcap"), support::file("tap.pcap"));
    run(&["pkt-gen", "-i", &format!("pcap:{}@write", from.display()), "-f", "tx", "-n", "2000", "--json"])
        .json();
    let faulty = format!("fault:drop=25%,dup=10%,seed=3,dir=rx,port=pcap:{}@top", from.display());
    let around = format!("tap:file={},port={faulty}", tap.display());
    let rx = run(&["pkt-gen", "-i", &around, "-f", "rx", "--json"]).json();
    let n = |value: &serde_json::Value| value.as_u64().unwrap();
    let counters = &rx["counters"]["rx"];
    assert_eq!(
        n(&counters["frames_in"]),
        n(&counters["frames_out"]) + n(&counters["drops"]["injected"]),
        "{rx}"
    );
    assert!((400..600).contains(&n(&counters["drops"]["injected"])), "{rx}");
    assert!((150..250).contains(&(n(&counters["frames_in"]) - 2000)), "{rx}");
    assert_eq!(n(&rx["packets"]), read(&tap).len() as u64);
    assert!(n(&rx["sequence"]["lost"]) > 300, "{rx}");

    let ping =
        run(&["pkt-gen", "-i", "fault:delay=5ms,port=loop:", "-f", "ping", "-n", "5", "--json"]).json();
    assert_eq!((&ping["lost"], &ping["sent"]), (&0.into(), &5.into()), "{ping}");
}

#[test]
fn a_killed_tap_leaves_a_whole_file() {
    let ((a, b), tap) = (pipe(), support::file("killed.pcap"));
    let running = start(&["capture", "-i", &format!("tap:file={},port={b}", tap.display())]);
    wait_open(&format!("tap:file={},port={b}", tap.display()));
    run(&["pkt-gen", "-i", &a, "-f", "tx", "-n", "500", "--json"]).json();
    wait_whole(&tap, 500);
    running.signal(libc::SIGKILL);
    assert_eq!(running.end().code, None);
    assert_eq!(read(&tap).len(), 500);
}

#[test]
fn a_trace_goes_to_standard_error_and_has_a_limit() {
    let from = support::file("trace.pcap");
    write(&from, 200);
    let port = format!("trace:rate=50,port=pcap:{}@top", from.display());
    let mut child = command(&["capture", "-i", &port, "-c", "200"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: Vec<String> =
        BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let (shown, more): (Vec<&String>, Vec<&String>) = lines
        .iter()
        .filter(|l| l.contains(" rx0 ") || l.starts_with("... "))
        .partition(|l| l.contains(" rx0 "));
    let hidden: usize = more.iter().map(|l| l.split(' ').nth(1).unwrap().parse::<usize>().unwrap()).sum();
    assert!(shown.len() >= 50 && shown.len() + hidden == 200, "{lines:?}");
}

/// Records of a file: time, length on the wire, bytes.
fn records(path: &Path) -> Vec<(u64, u32, usize)> {
    let mut reader = Reader::open(path).unwrap();
    let mut records = Vec::new();
    while let Some(record) = reader.next() {
        let record = record.unwrap();
        records.push((record.ts_ns, record.orig_len, record.data.len()));
    }
    records
}

#[test]
fn frames_of_a_file_keep_their_times_and_lengths_and_are_not_waited_for() {
    const DAY: u64 = 86_400_000_000_000;
    let (from, to) = (support::file("times.pcap"), support::file("kept.pcap"));
    let expected: Vec<_> = (0..5).map(|n| (DAY + n * (DAY / 10 + 1), 1500, 60)).collect();
    let mut writer = Writer::create(&from, 0).unwrap();
    expected.iter().for_each(|&(time, len, data)| writer.write(time, len, &vec![2; data]).unwrap());
    writer.finish().unwrap();
    let (file, out) = (from.to_str().unwrap(), to.to_str().unwrap());
    let (port, top) = (format!("pcap:{file}"), format!("pcap:{file}@top"));
    for input in [["-r", file], ["-i", &port], ["-i", &top]] {
        let ended = run(&[&["capture"], &input[..], &["-w", out]].concat());
        assert_eq!((ended.code, records(&to)), (Some(0), expected.clone()), "{ended:?}");
        let printed = run(&[&["capture"], &input[..], &["-c", "2"]].concat());
        let lines: Vec<_> = printed.stdout.lines().collect();
        assert!(
            lines[0].starts_with("00:00:00.000000000 ") && lines[0].ends_with(", length 1500"),
            "{lines:?}"
        );
        assert!(lines[1].starts_with("02:24:00.000000001 ") && lines.len() == 2, "{lines:?}");
    }
    let mut child = command(&["capture", "-r", "-", "-w", out])
        .stdin(std::fs::File::open(&from).unwrap())
        .spawn()
        .unwrap();
    assert_eq!((child.wait().unwrap().code(), records(&to)), (Some(0), expected));
    let ended = run(&["capture", "-r", file, "-w", file]);
    assert!(ended.error(2).contains("name another one after -w"), "{ended:?}");
    assert_eq!(records(&from).len(), 5);
}

#[test]
fn what_users_of_tcpdump_type_does_what_they_mean() {
    let from = support::file("habits.pcap");
    write(&from, 9);
    let file = from.to_str().unwrap();
    for (words, captured) in [
        (&["-nr", file][..], 9),
        (&["-nn", "-c", "1", "-r", file], 1),
        (&["-nr", file, "udp"], 5),
        (&["-nr", file, "-c", "3", "udp", "dst", "port", "7"], 3),
        (&["-nr", file, "not", "udp"], 4),
    ] {
        let ended = run(&[&["capture"], words].concat());
        assert_eq!((ended.code, ended.stdout.lines().count()), (Some(0), captured), "{words:?}: {ended:?}");
    }
    let ended = run(&["capture", "-nr", file, "-c", "1"]);
    assert!(ended.stderr.contains("1 frame captured, 60 bytes"), "{ended:?}");
    let ended = run(&["capture", "-ni", "null:", "-c", "1"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let to = support::file("habits-out.pcap");
    for (snaplen, len) in [("0", 60), ("20", 20)] {
        let ended = run(&["capture", "-nr", file, "-s", snaplen, "-w", to.to_str().unwrap()]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(records(&to).iter().all(|r| r.2 == len), "-s {snaplen}");
    }
}

#[test]
fn frames_of_another_link_type_are_refused() {
    let from = support::file("linktype.pcap");
    write(&from, 1);
    let mut bytes = std::fs::read(&from).unwrap();
    bytes[20] = 101;
    std::fs::write(&from, bytes).unwrap();
    let ended = run(&["capture", "-r", from.to_str().unwrap()]);
    assert!(ended.error(1).contains("frames of link type 101, not Ethernet"), "{ended:?}");
}
