//! `ringway top` on a terminal of its own.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use super::LIMIT;
use super::room::Room;

/// `ringway top` in a session of its own on a pseudo-terminal.
pub(crate) struct Top {
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
    pub(crate) fn start(columns: u16, rows: u16, args: &[&str]) -> Self {
        Self::start_under(&[], columns, rows, args)
    }

    /// The same on the usual terminal, with a room's switches, routers and ports.
    pub(crate) fn start_in(room: &Room, args: &[&str]) -> Self {
        let vars = [("RINGWAY_DIR", "run"), ("RINGWAY_BPFFS", "bpf/ringway")];
        let vars = vars.map(|(name, at)| format!("{name}={}", room.path(at)));
        Self::start_under(&["env", &vars[0], &vars[1]], 80, 24, args)
    }

    /// The same with a command before it, such as env.
    pub(crate) fn start_under(prefix: &[&str], columns: u16, rows: u16, args: &[&str]) -> Self {
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
            .env("RINGWAY_DIR", super::directory())
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
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()[self.seen..]).into_owned()
    }

    /// Waits until `text` is written. Blanks between words are not, when they were there already.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let start = Instant::now();
        while !self.shown().contains(text) {
            assert!(start.elapsed() < LIMIT, "{text} not shown: {:?}", self.shown());
            assert!(self.child.try_wait().unwrap().is_none(), "ended: {:?}", self.shown());
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.seen = self.shown.lock().unwrap().len();
        self.terminal().write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.seen = self.shown.lock().unwrap().len();
        resize(self.terminal(), columns, rows);
    }

    /// Takes the terminal away.
    pub(crate) fn unplug(&mut self) {
        self.keyboard = None;
    }

    fn terminal(&self) -> &File {
        self.keyboard.as_ref().unwrap()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let kill = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
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
    pub(crate) fn end(mut self) -> Option<i32> {
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
