//! Wireshark's toolbar as a test drives it: it opens and writes the FIFOs of a capture in the order in which Wireshark does.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ringway_wire::pcapfile::Reader;

use super::support::{LIMIT, Running, file, spawn};

/// Controls, and commands.
pub(super) const FILTER: u8 = 0;
pub(super) const SNAPLEN: u8 = 1;
pub(super) const LOG: u8 = 2;
pub(super) const INITIALIZED: u8 = 0;
pub(super) const SET: u8 = 1;
pub(super) const STATUS: u8 = 6;
pub(super) const ERROR: u8 = 9;

/// Bytes of a frame.
pub(super) const BYTES: usize = 100;

/// A frame with its number.
pub(super) fn frame(number: u32) -> Vec<u8> {
    let mut frame = [&[2; 12][..], &[0x88, 0xb5], &number.to_be_bytes()].concat();
    frame.resize(BYTES, 7);
    frame
}

/// Frames with odd numbers.
pub(super) const ODD: &str = "ether[17] & 1 = 1";

/// What a thread has read from a FIFO so far.
#[derive(Clone, Default)]
pub(super) struct Heard {
    all: Arc<Mutex<Vec<u8>>>,
    /// Ends the thread after the next bytes.
    pub(super) enough: Arc<AtomicBool>,
}

impl Heard {
    pub(super) fn listen(fifo: PathBuf) -> Self {
        let all = Self::default();
        let heard = all.clone();
        thread::spawn(move || {
            let (mut from, mut bytes) = (File::open(fifo).unwrap(), [0; 4096]);
            while let Ok(len @ 1..) = from.read(&mut bytes) {
                heard.all.lock().unwrap().extend_from_slice(&bytes[..len]);
                if heard.enough.load(Relaxed) {
                    return;
                }
            }
        });
        all
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.all.lock().unwrap().clone()
    }
}

/// A capture, and its toolbar.
pub(super) struct Toolbar {
    pub(super) capture: Running,
    to: File,
    pub(super) said: Heard,
    pub(super) captured: Heard,
}

fn fifo(name: &str) -> PathBuf {
    let path = file(name);
    let _ = fs::remove_file(&path);
    assert!(Command::new("mkfifo").args(["-m", "600"]).arg(&path).status().unwrap().success());
    path
}

/// The words of a capture with a toolbar, and its FIFOs: of frames, to the capture, and to the toolbar.
pub(super) fn words(test: &str, of: &[&str]) -> (Vec<String>, [PathBuf; 3]) {
    let fifos = ["fifo", "in", "out"].map(|end| fifo(&format!("{test}.{end}")));
    let mut words: Vec<String> = ["extcap", "--capture"].iter().chain(of).map(|w| (*w).to_owned()).collect();
    for (option, fifo) in ["--fifo", "--extcap-control-in", "--extcap-control-out"].iter().zip(&fifos) {
        words.extend([(*option).to_owned(), fifo.to_str().unwrap().to_owned()]);
    }
    (words, fifos)
}

/// Opens the FIFO to a capture, which has to have it open, or soon.
pub(super) fn reach(fifo: &Path, capture: &mut Running) -> File {
    let start = Instant::now();
    loop {
        match OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(fifo) {
            Ok(to) => return to,
            Err(e) => assert_eq!(e.raw_os_error(), Some(libc::ENXIO)),
        }
        assert!(capture.running() && start.elapsed() < LIMIT, "nobody reads {}", fifo.display());
        thread::sleep(Duration::from_millis(5));
    }
}

pub(super) fn message(control: u8, command: u8, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() + 2).to_be_bytes();
    [&[b'T', len[5], len[6], len[7], control, command], payload].concat()
}

impl Toolbar {
    /// Starts a capture. `set` are the values that a user changed before.
    pub(super) fn begin(
        test: &str,
        of: &[&str],
        set: &[(u8, &str)],
        run: impl Fn(&[&str]) -> Command,
    ) -> Self {
        let (words, [frames, to, from]) = words(test, of);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut capture = spawn(&mut run(&words));
        let (captured, said) = (Heard::listen(frames), Heard::listen(from));
        let to = reach(&to, &mut capture);
        let mut toolbar = Self { capture, to, said, captured };
        set.iter().for_each(|(control, value)| toolbar.set(*control, value));
        toolbar.send(&message(0, INITIALIZED, b""));
        toolbar
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.to.write_all(bytes).unwrap();
    }

    /// The same, when there is room: the FIFO does not wait.
    pub(super) fn send_whole(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.to.write(rest) {
                Ok(len) => rest = &rest[len..],
                Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock),
            }
        }
    }

    pub(super) fn set(&mut self, control: u8, value: &str) {
        self.send(&message(control, SET, value.as_bytes()));
    }

    /// What the toolbar got: control, command, text.
    pub(super) fn said(&self) -> Vec<(u8, u8, String)> {
        let bytes = self.said.bytes();
        let (mut rest, mut all) = (&bytes[..], Vec::new());
        while let [b'T', a, b, c, control, command, more @ ..] = rest {
            let len = u32::from_be_bytes([0, *a, *b, *c]) as usize - 2;
            let Some(text) = more.get(..len) else { break };
            all.push((*control, *command, String::from_utf8(text.to_vec()).unwrap()));
            rest = &more[len..];
        }
        all
    }

    /// Waits for a message that has such a text, after the first `seen`.
    pub(super) fn hear(&self, command: u8, text: &str, seen: usize) {
        self.until(|| self.said().iter().skip(seen).any(|m| m.1 == command && m.2.contains(text)));
    }

    /// Sends a value, and waits for what the toolbar gets to show.
    pub(super) fn change(&mut self, control: u8, value: &str, command: u8, text: &str) {
        let seen = self.said().len();
        self.set(control, value);
        self.hear(command, text, seen);
    }

    /// The frames so far: number, bytes kept. All have the length that they were sent with.
    pub(super) fn frames(&self) -> Vec<(u32, usize)> {
        let Ok(mut reader) = Reader::from_bytes(self.captured.bytes()) else { return Vec::new() };
        let mut all = Vec::new();
        while let Some(Ok(record)) = reader.next() {
            if record.data[12..14] == [0x88, 0xb5] {
                assert_eq!(record.orig_len as usize, BYTES);
                let number = record.data[14..18].try_into().unwrap();
                all.push((u32::from_be_bytes(number), record.data.len()));
            }
        }
        all
    }

    /// Waits until there are more frames, and the last hundred are as they should be.
    pub(super) fn see(&self, fine: impl Fn(&(u32, usize)) -> bool) {
        let seen = self.frames().len();
        self.until(|| {
            let frames = self.frames();
            frames.len() > seen + 100 && frames[frames.len() - 100..].iter().all(&fine)
        });
    }

    pub(super) fn until(&self, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < LIMIT, "{:?} {}", self.said(), self.capture.said());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Closes the FIFO to the capture, which ends it.
    pub(super) fn close(self) {
        drop(self.to);
        let ended = self.capture.end();
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:?}");
    }
}
