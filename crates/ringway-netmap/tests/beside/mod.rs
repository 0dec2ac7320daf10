//! Programs of `tests/c` on the library that serves `/dev/netmap`, in a namespace with a pair of links.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ringway_lab::program::{Program, Signs};
use ringway_lab::{Lab, LabError, TemporaryFolder};

/// How long anything may take, on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The programs say so on standard error.
const SIGNS: Signs = Signs { ready: |line| line == "ready", complaint: |line| line.starts_with("ringway") };

/// The library as the sources are now: cargo does not build it for tests.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let release: &[&str] = if cfg!(debug_assertions) { &[] } else { &["--release"] };
        let build = ["build", "--quiet", "--package", env!("CARGO_PKG_NAME")];
        let built = Command::new(env!("CARGO")).args(build).args(release).status().unwrap();
        assert!(built.success());
        let deps = env::current_exe().unwrap().parent().unwrap().to_owned();
        deps.parent().unwrap().join("libringway_netmap.so")
    })
}

/// Compiles a program of `tests/c`. Tests that run at once may compile the same one: it appears whole.
pub(crate) fn compile(name: &str) -> PathBuf {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("netmap-{name}"));
    let own = program.with_extension(format!("{}-{}", process::id(), SERIAL.fetch_add(1, Relaxed)));
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu17", "-O2", "-pthread", "-Wall", "-Wextra", "-Werror", "-I"]).arg(home.join("include"));
    let output = cc.arg(home.join(format!("tests/c/{name}.c"))).arg("-o").arg(&own).output();
    let output = output.unwrap_or_else(|e| panic!("cc: {e}; `make setup` installs it"));
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    fs::rename(&own, &program).unwrap();
    program
}

/// A namespace with the links a0 and a1, each the other's far end, and a run directory.
pub(crate) struct Bed {
    pub(crate) lab: Lab,
    run: TemporaryFolder,
}

impl Bed {
    /// `None`, said loudly, without root or the library.
    pub(crate) fn new() -> Option<Self> {
        let lab = match Lab::new() {
            Err(LabError::NotRoot) => {
                eprintln!("SKIP: namespaces need root; run these tests with sudo");
                return None;
            }
            made => made.unwrap(),
        };
        lab.veth("a0", "a1").unwrap();
        lab.run_napi("a0").unwrap(); // takes the frames that a port on a1 sends
        Some(Self { lab, run: TemporaryFolder::create(&env::temp_dir()).unwrap() })
    }

    /// A program with the library in it.
    pub(crate) fn command(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).env("LD_PRELOAD", library()).env("RINGWAY_DIR", self.run.path());
        command
    }

    /// The same in a mount namespace with BPF file systems of its own: switches that it makes go away with it.
    pub(crate) fn apart(&self, program: &Path, words: &[&str]) -> Command {
        let bpf = self.run.path().join("bpf");
        fs::create_dir_all(&bpf).unwrap();
        let script = "mount -t bpf -o mode=0755 bpf \"$1\" && shift && LD_PRELOAD=\"$1\" && export LD_PRELOAD && shift && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh"]).args([&bpf, library(), program]).args(words);
        command.env("RINGWAY_BPFFS", bpf.join("ringway")).env("RINGWAY_DIR", self.run.path());
        command
    }

    /// Starts one, and waits until it has bound its ports.
    pub(crate) fn start(&self, command: Command) -> Program {
        Program::start("program", command, Some(self.lab.name()), SIGNS).unwrap()
    }

    /// Starts one that may end, or be killed, before that.
    pub(crate) fn launch(&self, command: Command) -> Program {
        Program::launch("program", command, Some(self.lab.name()), SIGNS).unwrap()
    }

    /// Waits until nothing is left of a1's users, and of the folders of their regions.
    pub(crate) fn nothing_stays(&self) {
        let start = Instant::now();
        while !self.left().is_empty() {
            assert!(start.elapsed() < LIMIT, "left: {:#?}", self.left());
            sleep(Duration::from_millis(20));
        }
    }

    fn left(&self) -> Vec<String> {
        let show = ["-n", self.lab.name(), "-d", "link", "show", "a1"];
        let link = Command::new("ip").args(show).output().unwrap();
        let link = String::from_utf8(link.stdout).unwrap();
        let attached = |line: &&str| line.contains("prog/xdp") || line.contains("promiscuity 1");
        let mut left: Vec<_> = link.lines().filter(attached).map(str::to_owned).collect();
        files(&self.run.path().join("netmap"), &mut left);
        left
    }
}

/// All files below a folder that may not be there, but for the lock under which regions are made.
fn files(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => files(&entry.path(), found),
            false if entry.file_name() != "lock" => found.push(entry.path().display().to_string()),
            false => {}
        }
    }
}

/// Waits for the end of a program that ends by itself; its lines.
pub(crate) fn finish(mut program: Program) -> Vec<String> {
    program.hear_out();
    ended(program)
}

/// Ends a program; its lines.
pub(crate) fn stop(mut program: Program) -> Vec<String> {
    program.terminate().unwrap();
    ended(program)
}

fn ended(mut program: Program) -> Vec<String> {
    let status = program.reap().unwrap();
    assert!(status.success(), "{status}: {:?}, {:?}", program.complaint(), program.output());
    program.output().to_vec()
}

/// The number behind a word in a line of words and numbers.
pub(crate) fn number(line: &str, word: &str) -> Option<u64> {
    let mut words = line.split_whitespace().skip_while(|w| *w != word);
    words.next()?;
    words.next()?.parse().ok()
}

/// A frame of a flow, with its number in it, as `tests/c/bind.h` has them.
pub(crate) fn frame(flow: u32, number: u32) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..14].copy_from_slice(&[3, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5]);
    frame[14..18].copy_from_slice(&flow.to_ne_bytes());
    frame[18..22].copy_from_slice(&number.to_ne_bytes());
    frame
}

/// How many times something is tried: as the variable says, else the default.
pub(crate) fn times(variable: &str, default: u64) -> u64 {
    env::var(variable).map_or(default, |value| value.parse().unwrap())
}
