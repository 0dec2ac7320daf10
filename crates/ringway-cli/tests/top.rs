//! `ringway top` on a terminal of its own, and as text.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use ringway::switch::Switch;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use support::room::Room;
use support::{LIMIT, pipe, run, start, wait_open};

/// `ringway top` in a session of its own on a pseudo-terminal.
struct Top {
    child: Child,
    /// Our end of the terminal, and the one that `top` has.
    keyboard: Option<Arc<File>>,
    line: File,
    before: Termios,
    shown: Arc<Mutex<Vec<u8>>>,
    /// What was shown when a key was last pressed.
    seen: usize,
}

impl Top {
    fn start(columns: u16, rows: u16, args: &[&str]) -> Self {
        Self::start_under(&[], columns, rows, args)
    }

    /// The same with a command before it, such as env.
    fn start_under(prefix: &[&str], columns: u16, rows: u16, args: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let line = File::options().read(true).write(true).custom_flags(libc::O_NOCTTY).open(path).unwrap();
        resize(&master, columns, rows);
        let before = tcgetattr(&line).unwrap();
        let end = || line.try_clone().unwrap();
        let child = Command::new("setsid")
            .arg("--ctty")
            .args(prefix)
            .args([env!("CARGO_BIN_EXE_ringway"), "top"])
            .args(args)
            .env("RINGWAY_DIR", support::directory())
            .env("TERM", "xterm")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        rustix::io::ioctl_fionbio(&master, true).unwrap();
        let keyboard = Arc::new(File::from(master));
        let shown = Arc::new(Mutex::new(Vec::new()));
        read_all(Arc::downgrade(&keyboard), shown.clone());
        Self { child, keyboard: Some(keyboard), line, before, shown, seen: 0 }
    }

    /// What was shown since a key was last pressed.
    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()[self.seen..]).into_owned()
    }

    /// Waits until `text` is written. Blanks between words are not, when they were there already.
    fn wait_for(&mut self, text: &str) {
        let start = Instant::now();
        while !self.shown().contains(text) {
            assert!(start.elapsed() < LIMIT, "{text} not shown: {:?}", self.shown());
            assert!(self.child.try_wait().unwrap().is_none(), "ended: {:?}", self.shown());
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn press(&mut self, keys: &str) {
        self.seen = self.shown.lock().unwrap().len();
        self.terminal().write_all(keys.as_bytes()).unwrap();
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        self.seen = self.shown.lock().unwrap().len();
        resize(self.terminal(), columns, rows);
    }

    fn terminal(&self) -> &File {
        self.keyboard.as_ref().unwrap()
    }

    fn signal(&self, signal: &str) {
        let kill = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
    }

    fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < LIMIT, "does not end: {:?}", self.shown());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for the end; the terminal must be as it was. Returns the exit code.
    fn end(mut self) -> Option<i32> {
        let status = self.wait();
        let after = tcgetattr(&self.line).unwrap();
        let modes = |t: &Termios| (t.input_modes, t.output_modes, t.local_modes, t.control_modes);
        assert_eq!(modes(&after), modes(&self.before), "modes of the terminal");
        self.seen = 0;
        self.wait_for_last("\x1b[?1049l", "\x1b[?1049h", "the alternate screen was not left");
        self.wait_for_last("\x1b[?25h", "\x1b[?25l", "the cursor is hidden");
        status.code()
    }

    /// Waits until `on` has been written after the last `off`, which was.
    fn wait_for_last(&self, on: &str, off: &str, what: &str) {
        let start = Instant::now();
        loop {
            let shown = self.shown();
            assert!(shown.contains(off), "{off:?} not written: {shown:?}");
            if shown.rfind(on) > shown.rfind(off) {
                return;
            }
            assert!(start.elapsed() < LIMIT, "{what}: {shown:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resize(terminal: impl AsFd, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

/// Reads for as long as somebody else has the terminal.
fn read_all(from: Weak<File>, into: Arc<Mutex<Vec<u8>>>) {
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Some(terminal) = from.upgrade() {
            match (&*terminal).read(&mut bytes) {
                Ok(n) => into.lock().unwrap().extend_from_slice(&bytes[..n]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    drop(terminal);
                    thread::sleep(Duration::from_millis(2));
                }
                Err(_) => return,
            }
        }
    });
}

#[test]
fn q_quits_and_gives_the_terminal_back() {
    let (_, b) = pipe();
    let running = start(&["pkt-gen", "-i", &b, "-f", "rx"]);
    wait_open(&b);
    let mut top = Top::start(80, 24, &["--interval", "100"]);
    top.wait_for(&b);
    top.press("?");
    top.wait_for("COLUMNS");
    // Only what changes is drawn: of the list that comes back, perhaps no name as a whole.
    top.press("\x1b");
    top.press("q");
    assert_eq!(top.end(), Some(0));
    running.interrupt();
}

#[test]
fn ctrl_c_and_sigterm_give_the_terminal_back() {
    let mut top = Top::start(80, 24, &[]);
    top.wait_for("DROP/s");
    top.press("\x03");
    assert_eq!(top.end(), Some(0));
    for signal in ["-TERM", "-INT"] {
        let mut top = Top::start(80, 24, &["-i", "60000"]);
        top.wait_for("DROP/s");
        top.press("p");
        top.wait_for("PAUSED");
        top.signal(signal);
        assert_eq!(top.end(), Some(0), "{signal}");
    }
}

#[test]
fn a_terminal_that_goes_away_ends_it() {
    for (prefix, interval) in [(&[][..], "60000"), (&["env", "--ignore-signal=HUP"][..], "200")] {
        let mut top = Top::start_under(prefix, 80, 24, &["-i", interval]);
        top.wait_for("DROP/s");
        top.keyboard = None;
        let status = top.wait();
        assert!(status.signal() == Some(libc::SIGHUP) || status.code() == Some(1), "{status:?}");
    }
}

#[test]
fn it_follows_the_size_of_the_terminal() {
    let running = start(&["pkt-gen", "-i", "null:", "-f", "tx", "-R", "1k", "-T", "100"]);
    wait_open("null:");
    let mut top = Top::start(40, 10, &["--interval", "100"]);
    top.wait_for("null:");
    assert!(!top.shown().contains("RXwire"), "{:?}", top.shown());
    top.resize(120, 30);
    top.wait_for("RXwire");
    top.wait_for("TXwire");
    for (columns, rows) in [(1, 1), (300, 2), (5, 80), (0, 0)] {
        top.resize(columns, rows);
        thread::sleep(Duration::from_millis(150));
    }
    top.resize(80, 24);
    top.wait_for("RXwire");
    top.press("q");
    assert_eq!(top.end(), Some(0));
    running.interrupt();
}

#[test]
fn a_killed_owner_disappears() {
    let (_, b) = pipe();
    let running = start(&["pkt-gen", "-i", &b, "-f", "rx"]);
    wait_open(&b);
    let mut top = Top::start(80, 24, &["--interval", "100"]);
    top.wait_for(&b);
    running.signal(libc::SIGKILL);
    running.end();
    top.wait_for("closed:");
    top.press("q");
    assert_eq!(top.end(), Some(0));
    assert!(!run(&["stats"]).stdout.contains(&b));
}

#[test]
fn a_key_switches_stages_on_and_off() {
    let Some(room) = Room::new() else { return };
    assert_eq!(room.run(&["switch", "add", "vale0"]).code, Some(0));
    assert_eq!(room.run(&["switch", "port", "add", "vale0:a"]).code, Some(0));
    let _sender = room.start(&["pkt-gen", "-i", "vale0:a", "-f", "tx", "-R", "10k"]);
    room.wait_open("vale0", "a");
    ringway::pinned::set_root(room.path("bpf/ringway")).unwrap();
    let watched = || Switch::open("vale0").unwrap().watched_ports();
    let vars = [("RINGWAY_DIR", "run"), ("RINGWAY_BPFFS", "bpf/ringway")];
    let vars = vars.map(|(name, at)| format!("{name}={}", room.path(at)));
    let mut top = Top::start_under(&["env", &vars[0], &vars[1]], 80, 24, &["--interval", "100"]);
    top.wait_for("vale0:a");
    assert_eq!(watched(), 0);
    top.press("c");
    for text in ["switch=vale0", "STAGE", "decide", "deliver", "share"] {
        top.wait_for(text);
    }
    assert_eq!(watched(), 1);
    top.press("c");
    room.until(|| watched() == 0);
    top.press("c");
    room.until(|| watched() == 1);
    top.press("q");
    assert_eq!(top.end(), Some(0));
    room.until(|| watched() == 0);
}

#[test]
fn once_prints_rates_rings_and_drops() {
    let running = start(&["pkt-gen", "-i", "null:77", "-f", "tx", "-R", "10k", "-T", "100"]);
    wait_open("null:77");
    let begin = Instant::now();
    let ended = loop {
        let ended = run(&["top", "--once", "--interval", "500"]);
        let row = ended.stdout.lines().find(|l| l.starts_with("null:77 "));
        let fast = row.and_then(|r| r.split_whitespace().nth(5)).is_some_and(|cell| cell.ends_with('k'));
        // the sender may have stood still
        if fast || begin.elapsed() > LIMIT {
            break ended;
        }
    };
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let row = ended.stdout.lines().find(|l| l.starts_with("null:77 ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((cells.len(), cells[1], cells[2]), (13, running.pid().to_string().as_str(), "0"), "{row}");
    assert!(cells[5].ends_with('k'), "about 10k frames a second: {row}");
    assert!(ended.stdout.contains("\nrx0 ") && ended.stdout.contains("\ntx0 "), "{ended:?}");
    assert!(!ended.stdout.contains('\x1b'), "{ended:?}");
    running.interrupt();
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let ended = run(&["top"]);
    assert!(ended.error(1).contains("top needs a terminal; use ringway top --once"), "{}", ended.stderr);
    assert!(run(&["top", "--interval", "5"]).error(2).contains("'--interval"));
}
