//! The toolbar of a capture: what it changes, and what it does not. Captures of interfaces need root, which a line says.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ringway_lab::Lab;
use ringway_lab::raw::RawSender;
use ringway_wire::pcapfile::Writer;

use super::bar::{
    BYTES, ERROR, FILTER, Heard, INITIALIZED, LOG, ODD, SET, SNAPLEN, STATUS, Toolbar, frame, message, reach,
    words,
};
use super::support::{command, file, spawn};

/// Frames of a file that is repeated.
const FRAMES: u32 = 500;

/// The words for a port that repeats the frames of a file, a millisecond apart.
fn repeated(test: &str) -> [String; 4] {
    let path = file(&format!("{test}.pcap"));
    let mut writer = Writer::create(&path, 0).unwrap();
    for number in 0..FRAMES {
        writer.write(u64::from(number) * 1_000_000, BYTES as u32, &frame(number)).unwrap();
    }
    writer.finish().unwrap();
    ["--extcap-interface", "ringway", "--port", &format!("pcap:{}@loop", path.display())].map(str::to_owned)
}

/// A capture of such a port, with more options.
fn begin(test: &str, options: &[&str], set: &[(u8, &str)]) -> Toolbar {
    let port = repeated(test);
    let port: Vec<&str> = port.iter().map(String::as_str).collect();
    Toolbar::begin(test, &[&port, options].concat(), set, command)
}

/// Fails unless all frames are there, then all odd ones, then all, with numbers below `count`.
fn assert_filter_on_and_off(frames: &[(u32, usize)], count: u32) {
    let steps: Vec<u32> = frames.windows(2).map(|w| (w[1].0 + count - w[0].0) % count).collect();
    let mut kinds = steps.clone();
    kinds.dedup();
    // A change behind an even number skips nothing.
    assert!(kinds == [1, 2, 1], "{kinds:?}: {frames:?}");
    let odd = steps.iter().zip(frames).filter(|(step, _)| **step == 2);
    assert!(odd.into_iter().all(|(_, frame)| frame.0 % 2 == 1));
}

#[test]
fn changes_hold_from_the_next_frame_and_lose_none() {
    let mut toolbar = begin("changes", &["--snaplen", "64"], &[]);
    toolbar.see(|frame| frame.1 == 64);
    let said = toolbar.said();
    for (control, value) in [(FILTER, ""), (SNAPLEN, "64")] {
        assert!(said.contains(&(control, SET, value.to_owned())), "{said:?}");
    }
    assert_eq!(toolbar.captured.bytes()[16..20], 262_144u32.to_le_bytes(), "the header allows all");
    toolbar.change(SNAPLEN, "0", STATUS, "whole frames");
    toolbar.see(|frame| frame.1 == BYTES);
    toolbar.change(FILTER, ODD, STATUS, ODD);
    toolbar.see(|frame| frame.0 % 2 == 1);
    toolbar.change(SNAPLEN, "20", STATUS, "20 bytes of each frame, filter");
    toolbar.see(|frame| frame.1 == 20);
    toolbar.change(FILTER, "", STATUS, "20 bytes of each frame");
    toolbar.see(|frame| frame.1 == 20);
    let frames = toolbar.frames();
    assert_filter_on_and_off(&frames, FRAMES);
    let mut kept: Vec<usize> = frames.iter().map(|frame| frame.1).collect();
    kept.dedup();
    assert_eq!(kept, [64, BYTES, 20]);
    let log: Vec<_> = toolbar.said().into_iter().filter(|m| m.0 == LOG && m.1 == 2).collect();
    assert_eq!(log.len(), 4, "a line for each change: {log:?}");
    toolbar.close();
}

#[test]
fn values_set_before_the_capture_hold_for_all_its_frames() {
    let wrong = (FILTER, "udp foo");
    let set = [wrong, (SNAPLEN, "30"), (FILTER, ODD), wrong];
    let toolbar = begin("before", &["--filter", "ether proto 0x88b5", "--snaplen", "64"], &set);
    toolbar.see(|_| true);
    assert!(toolbar.frames().iter().all(|(number, kept)| number % 2 == 1 && *kept == 30));
    let said = toolbar.said();
    assert_eq!(said.iter().filter(|m| m.1 == ERROR && m.2.contains("udp foo")).count(), 2, "{said:?}");
    let last = said.iter().rfind(|m| m.0 == FILTER && m.1 == SET);
    assert_eq!(last.map(|m| m.2.as_str()), Some(ODD), "the toolbar shows what holds");
    toolbar.close();
}

/// The capture filter holds beside the filter of the toolbar.
#[test]
fn wrong_values_change_nothing() {
    let mut toolbar = begin("wrong", &["--extcap-capture-filter", ODD], &[]);
    let goes_on = |toolbar: &Toolbar| toolbar.see(|(number, kept)| number % 2 == 1 && *kept == BYTES);
    goes_on(&toolbar);
    for (control, value) in
        [(FILTER, "udp foo"), (FILTER, "ether[17"), (SNAPLEN, "-1"), (SNAPLEN, "262145"), (SNAPLEN, "")]
    {
        toolbar.change(
            control,
            value,
            ERROR,
            "The capture goes on with whole frames, filter `ether[17] & 1 = 1`",
        );
    }
    goes_on(&toolbar);
    let mut hostile = vec![message(FILTER, SET, b"\xff\xfe"), message(FILTER, SET, &vec![b' '; 70_000])];
    // Unknown controls and commands, and messages that only the capture sends.
    hostile.extend((0..=255).map(|byte| message(byte, byte.max(2), b"udp")));
    let seen = toolbar.said().len();
    hostile.concat().chunks(1000).for_each(|piece| toolbar.send_whole(piece));
    toolbar.hear(ERROR, "no text in UTF-8", seen);
    toolbar.hear(ERROR, "70000 bytes", seen);
    toolbar.change(FILTER, "ether proto 0x88b5", STATUS, "and `ether proto 0x88b5`");
    // The last one of several holds, also where it is the one of before.
    let seen = toolbar.said().len();
    let both = ["tcp", "ether proto 0x88b5"].map(|filter| message(FILTER, SET, filter.as_bytes()));
    toolbar.send(&both.concat());
    toolbar.hear(STATUS, "and `ether proto 0x88b5`", seen);
    goes_on(&toolbar);
    toolbar.send(b"GET / HTTP/1.1\r\n");
    toolbar.send(&message(SNAPLEN, SET, b"20"));
    toolbar.until(|| toolbar.capture.said().contains("no messages"));
    goes_on(&toolbar);
    toolbar.close();
}

/// A capture waits for nobody who does not read, and ends with the reader of its messages.
#[test]
fn the_reader_of_messages_ends_the_capture() {
    let mut toolbar = begin("reader", &[], &[]);
    toolbar.see(|_| true);
    toolbar.said.enough.store(true, Relaxed);
    toolbar.set(SNAPLEN, "20");
    let ended = toolbar.capture.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// Wireshark opens the FIFO to the capture at some time, and waits for ever if nobody has the other end.
#[test]
fn a_capture_that_fails_waits_for_the_toolbar() {
    for (test, of) in [
        ("no-port", &["--extcap-interface", "ringway"][..]),
        ("no-filter", &["--extcap-interface", "ringway", "--port", "null:", "--filter", "udp foo"]),
    ] {
        let (words, [frames, to, _]) = words(test, of);
        let mut capture = spawn(&mut command(&words.iter().map(String::as_str).collect::<Vec<_>>()));
        let captured = Heard::listen(frames);
        while captured.bytes().len() < 24 {
            assert!(capture.running(), "{}", capture.said());
        }
        let mut to = reach(&to, &mut capture);
        to.write_all(&message(0, INITIALIZED, b"")).unwrap();
        let ended = capture.end();
        assert!(ended.error(2).contains(if test == "no-port" { "no port is named" } else { "udp foo" }));
    }
}

#[test]
fn only_fifos_of_the_user_are_taken() {
    let refused = |test: &str, end: usize, change: &dyn Fn(&Path), what: &str| {
        let (words, fifos) = words(test, &["--extcap-interface", "ringway", "--port", "null:"]);
        change(&fifos[end]);
        let ended = spawn(&mut command(&words.iter().map(String::as_str).collect::<Vec<_>>())).end();
        assert!(ended.error(1).contains(what), "{ended:?}");
    };
    let moved = |path: &Path| path.with_extension("moved");
    for end in [1, 2] {
        let test = |name: &str| format!("{name}{end}");
        refused(
            &test("plain"),
            end,
            &|path| fs::remove_file(path).and_then(|()| fs::write(path, "")).unwrap(),
            "no FIFO",
        );
        refused(&test("gone"), end, &|path| fs::remove_file(path).unwrap(), "opening the FIFO failed");
        refused(
            &test("open"),
            end,
            &|path| {
                fs::set_permissions(path, PermissionsExt::from_mode(0o622)).unwrap();
            },
            "mode 0622",
        );
        let link = |path: &Path| {
            fs::rename(path, moved(path)).unwrap();
            symlink(moved(path), path).unwrap();
        };
        refused(&test("link"), end, &link, if end == 1 { "opening the FIFO failed" } else { "no FIFO" });
        if ringway_lab::is_root() {
            refused(
                &test("other"),
                end,
                &|path| chown(path, Some(65534), None).unwrap(),
                "belongs to user 65534",
            );
        }
    }
    let alone =
        command(&["extcap", "--extcap-interface", "ringway", "--extcap-control-in", "x"]).output().unwrap();
    assert_eq!(alone.status.code(), Some(2));
}

/// Numbered frames come to interface `a0` of a namespace, a millisecond apart, while the guard lives.
struct Sending(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl Sending {
    fn begin(lab: &Lab) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let sender = RawSender::open(lab, "a1").unwrap();
        let stopped = stop.clone();
        let send = move || {
            for number in (0..).take_while(|_| !stopped.load(Relaxed)) {
                sender.send(&frame(number)).unwrap();
                thread::sleep(Duration::from_millis(1));
            }
        };
        Self(stop, Some(thread::spawn(send)))
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
        let ended = self.1.take().map(JoinHandle::join);
        assert!(thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

fn in_namespace(lab: &Lab, words: &[&str]) -> Command {
    let ringway = command(words);
    let mut command = Command::new("ip");
    command.args(["netns", "exec", lab.name()]).arg(ringway.get_program()).args(ringway.get_args());
    command.envs(ringway.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

#[test]
fn a_filter_of_an_interface_goes_on_and_off_and_lost_frames_are_shown() {
    if !ringway_lab::is_root() {
        eprintln!("SKIP: copies of an interface need root; run these tests with sudo");
        return;
    }
    let lab = Lab::new().unwrap();
    lab.veth("a0", "a1").unwrap();
    let sending = Sending::begin(&lab);
    let of = ["--extcap-interface", "ringway:a0"];
    let mut toolbar = Toolbar::begin("veth", &of, &[], |words| in_namespace(&lab, words));
    toolbar.see(|_| true);
    toolbar.change(FILTER, ODD, STATUS, ODD);
    toolbar.see(|frame| frame.0 % 2 == 1);
    toolbar.change(FILTER, "", STATUS, "whole frames");
    toolbar.see(|_| true);
    assert_filter_on_and_off(&toolbar.frames(), 1 << 30);
    let seen = toolbar.said().len();
    toolbar.capture.signal(libc::SIGSTOP);
    let flood = RawSender::open(&lab, "a1").unwrap();
    (0..20_000).for_each(|_| flood.send(&[2; 60]).unwrap());
    toolbar.capture.signal(libc::SIGCONT);
    toolbar.hear(STATUS, "frames lost: ", seen);
    toolbar.close();
    drop(sending);
}
