//! Runs the real binary, with a time limit and killed when a test ends early.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "tests")]

pub(crate) mod confined;
pub(crate) mod openmetrics;
pub(crate) mod room;
pub(crate) mod schema;
pub(crate) mod top;

use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Once};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long any one run may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

/// A running `ringway`.
pub(crate) struct Running {
    child: Child,
    stdout: Option<Reader>,
    stderr: Option<Reader>,
}

/// What a program has said so far, and who reads it.
struct Reader(Arc<Mutex<Vec<u8>>>, JoinHandle<()>);

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The command with its own place for ports and none for switches, so that tests do not see each other's or the machine's.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringway"));
    command.args(args).env("RINGWAY_DIR", directory()).env("RINGWAY_BPFFS", directory().join("switches"));
    command.stdin(Stdio::null());
    command
}

/// The place of this test program. The first call removes the places of programs that have ended.
pub(crate) fn directory() -> PathBuf {
    static CLEANED: Once = Once::new();
    let all = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ringway-tests");
    CLEANED.call_once(|| {
        for dir in std::fs::read_dir(&all).into_iter().flatten().flatten() {
            if !PathBuf::from("/proc").join(dir.file_name()).exists() {
                let _ = std::fs::remove_dir_all(dir.path());
            }
        }
    });
    all.join(std::process::id().to_string())
}

/// Starts `ringway` with `args`.
pub(crate) fn start(args: &[&str]) -> Running {
    spawn(&mut command(args))
}

/// Starts a command that may have been changed.
pub(crate) fn spawn(command: &mut Command) -> Running {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stdout = Some(Reader::of(child.stdout.take().unwrap()));
    let stderr = Some(Reader::of(child.stderr.take().unwrap()));
    Running { child, stdout, stderr }
}

/// Runs `ringway` with `args` to its end.
pub(crate) fn run(args: &[&str]) -> Ended {
    start(args).end()
}

impl Reader {
    fn of(mut from: impl Read + Send + 'static) -> Self {
        let said = Arc::<Mutex<Vec<u8>>>::default();
        let all = said.clone();
        let thread = thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                match from.read(&mut bytes) {
                    Ok(0) => return,
                    Ok(n) => all.lock().unwrap().extend_from_slice(&bytes[..n]),
                    Err(e) => assert_eq!(e.kind(), ErrorKind::Interrupted, "{e}"),
                }
            }
        });
        Self(said, thread)
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }

    /// All of it, when its program has ended.
    fn whole(self) -> String {
        self.1.join().unwrap();
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Sends a signal, as Ctrl-C does.
    pub(crate) fn signal(&self, signal: libc::c_int) {
        // SAFETY: a plain system call; the child has not been waited for, so its number is still its own.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    /// Waits for the end.
    pub(crate) fn end(mut self) -> Ended {
        let start = Instant::now();
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            if start.elapsed() > LIMIT {
                self.child.kill().unwrap();
                self.child.wait().unwrap();
                let out = self.stdout.take().unwrap().whole();
                let err = self.stderr.take().unwrap().whole();
                panic!("still running after {LIMIT:?}; it said:\n{out}{err}");
            }
            thread::sleep(Duration::from_millis(2));
        };
        let text = |reader: Option<Reader>| reader.unwrap().whole();
        Ended { code, stdout: text(self.stdout.take()), stderr: text(self.stderr.take()) }
    }

    /// Ends it as Ctrl-C does: at once, but on a busy machine.
    pub(crate) fn interrupt(self) -> Ended {
        let start = Instant::now();
        self.signal(libc::SIGINT);
        let ended = self.end();
        assert!(start.elapsed() < Duration::from_secs(30), "{:?} after the signal", start.elapsed());
        ended
    }

    /// What it has said so far.
    pub(crate) fn said(&self) -> String {
        [&self.stdout, &self.stderr].map(|r| r.as_ref().unwrap().so_far()).concat()
    }

    /// Waits until it has said `text` so many times.
    pub(crate) fn wait_said(&self, text: &str, times: usize) {
        let start = Instant::now();
        loop {
            let said = self.said();
            if said.matches(text).count() >= times {
                return;
            }
            assert!(start.elapsed() < LIMIT, "{text} was not said: {said}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// It stands idle: in one of some periods of 2 s it uses less than 3 % of a processor. In the first one it may still be starting.
    pub(crate) fn assert_idle(&self) {
        let shares = (0..10).map(|_| {
            let (before, start) = (self.cpu(), Instant::now());
            thread::sleep(Duration::from_secs(2));
            (self.cpu() - before).as_secs_f64() / start.elapsed().as_secs_f64()
        });
        let mut busy = Vec::new();
        for share in shares {
            if share < 0.03 {
                return;
            }
            busy.push(share);
        }
        panic!("never idle: {busy:.2?} of a processor");
    }

    /// CPU time used so far.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let after_name = stat.rsplit_once(')').unwrap().1;
        let ticks = |n: usize| after_name.split_whitespace().nth(n).unwrap().parse::<u32>().unwrap();
        // utime and stime are fields 14 and 15, the name is field 2; 100 ticks a second (proc_pid_stat(5)).
        Duration::from_millis(10) * (ticks(11) + ticks(12))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The one JSON object on standard output of a successful run.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The one line on standard error of a failed run.
    pub(crate) fn error(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stderr.starts_with("ringway: ") && is_numbered(&self.stderr), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        &self.stderr
    }
}

/// Whether the last line ends with the number of an error: `[E0102]`.
pub(crate) fn is_numbered(said: &str) -> bool {
    let number = said.strip_suffix("]\n").and_then(|said| said.rsplit_once(" [E"));
    number.is_some_and(|(_, digits)| digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// The commands below the one that has this help, but for `help`.
pub(crate) fn subcommands(help: &str) -> Vec<String> {
    let listed =
        help.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
    // Below a name its text may go on.
    let lines = listed.lines().filter(|line| !line.starts_with("   "));
    let names = lines.filter_map(|line| line.split_whitespace().next()).filter(|&name| name != "help");
    names.map(str::to_owned).collect()
}

/// The two ends of a pipe that no other test uses.
pub(crate) fn pipe() -> (String, String) {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let n = SERIAL.fetch_add(1, Relaxed);
    (format!("pipe:test{n}{{1"), format!("pipe:test{n}}}1"))
}

/// A file that no other test uses.
pub(crate) fn file(name: &str) -> PathBuf {
    std::fs::create_dir_all(directory()).unwrap();
    directory().join(name)
}

/// Waits until `port` is open in another process.
pub(crate) fn wait_open(port: &str) {
    let start = Instant::now();
    while run(&["stats", port]).code != Some(0) {
        assert!(start.elapsed() < LIMIT, "{port} was never opened");
        thread::sleep(Duration::from_millis(5));
    }
}
