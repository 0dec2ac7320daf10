//! Runs programs with the system's libpcap and with this one, in a namespace with a pair of links.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "tests")]

pub(crate) mod hosts;
pub(crate) mod talk;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

use ringway_lab::{Lab, LabError};

/// How long any one program may take.
const LIMIT: Duration = Duration::from_secs(120);

/// The library as the sources are now: cargo does not build it for tests.
pub(crate) fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let release: &[&str] = if cfg!(debug_assertions) { &[] } else { &["--release"] };
        let build = ["build", "--quiet", "--package", env!("CARGO_PKG_NAME")];
        let built = Command::new(env!("CARGO")).args(build).args(release).status().unwrap();
        assert!(built.success());
        let deps = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        deps.parent().unwrap().join("libringway_preload.so")
    })
}

/// Which libpcap a program gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pcap<'a> {
    System,
    /// This one, with that map of names.
    Ringway(&'a str),
    /// This one, which serves interfaces under their own names by copies.
    Copies,
}

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A namespace with the links a0 and a1, each the other's far end; `None`, said loudly, without root.
pub(crate) fn lab() -> Option<Lab> {
    let lab = match Lab::new() {
        Err(LabError::NotRoot) => {
            eprintln!("SKIP: namespaces need root; run these tests with sudo");
            return None;
        }
        made => made.unwrap(),
    };
    lab.veth("a0", "a1").unwrap();
    Some(lab)
}

/// Whether the program is there; said loudly when not.
pub(crate) fn has(program: &str) -> bool {
    let dirs = std::env::var("PATH").unwrap_or_default();
    let there = dirs.split(':').any(|dir| Path::new(dir).join(program).exists());
    if !there {
        eprintln!("SKIP: there is no {program}; scripts/setup --test installs it");
    }
    there
}

/// A program with one of the two libraries, in the namespace if there is one.
pub(crate) fn command(lab: Option<&Lab>, pcap: Pcap<'_>, args: &[&str]) -> Command {
    let mut command = match lab {
        Some(lab) => {
            // Not by `ip netns exec`: it hides the file system that switches are in.
            let mut command = Command::new("nsenter");
            command.arg(format!("--net=/run/netns/{}", lab.name())).args(["--", "env"]);
            command
        }
        None => Command::new("env"),
    };
    let setting = match pcap {
        Pcap::System => None,
        Pcap::Ringway(map) => Some(format!("RINGWAY_MAP={map}")),
        Pcap::Copies => Some("RINGWAY_COPY=1".to_owned()),
    };
    if let Some(setting) = setting {
        command.arg(format!("LD_PRELOAD={}", library().display())).arg(setting);
    }
    command.args(args).env("RINGWAY_DIR", directory()).env("LC_ALL", "C").env("TZ", "UTC");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a program to its end.
pub(crate) fn run(lab: Option<&Lab>, pcap: Pcap<'_>, args: &[&str]) -> Ended {
    end(command(lab, pcap, args).spawn().unwrap())
}

/// Waits for the end of a program.
pub(crate) fn end(mut child: Child) -> Ended {
    let [out, err] = [reader(child.stdout.take().unwrap()), reader(child.stderr.take().unwrap())];
    let start = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if start.elapsed() > LIMIT {
            let doing = doing(child.id());
            child.kill().unwrap();
            child.wait().unwrap();
            let said = format!("{}{}", out.join().unwrap(), err.join().unwrap());
            panic!("still running after {LIMIT:?}:\n{doing}it said:\n{said}");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    Ended { code, stdout: out.join().unwrap(), stderr: err.join().unwrap() }
}

/// What a process is and what each of its threads does, for a message.
fn doing(process: u32) -> String {
    let read = |path: &str| std::fs::read_to_string(format!("/proc/{process}/{path}")).unwrap_or_default();
    let mut text = read("cmdline").replace('\0', " ") + "\n";
    for task in std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        let task = format!("task/{}", task.file_name().display());
        for file in ["stat", "syscall", "stack"] {
            text += &format!("{task}/{file}: {}\n", read(&format!("{task}/{file}")).trim_end());
        }
        let children = read(&format!("{task}/children"));
        children.split_whitespace().filter_map(|c| c.parse().ok()).for_each(|c| text += &doing(c));
    }
    text
}

/// Whether a process, with all its threads and children, waits for something. Who only has no processor does not.
fn waits(process: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    tasks.map(|t| t.path()).all(|task| {
        let read = |file: &str| std::fs::read_to_string(task.join(file)).unwrap_or_default();
        let runs = read("stat").rsplit(") ").next().is_some_and(|s| s.starts_with(['R', 'D']));
        !runs && read("children").split_whitespace().all(|c| c.parse().is_ok_and(waits))
    })
}

/// Time on processors that a process had, in hundredths of a second.
fn ticks(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    after_name.split(' ').skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum()
}

/// Waits until a program did next to nothing for `long`: it has done all that it can for now. One that looks each 10 ms whether there is
/// more is often found waiting for a processor on a busy machine.
pub(crate) fn rest(process: u32, long: Duration) {
    const ENOUGH: u32 = 20;
    let start = Instant::now();
    while start.elapsed() < LIMIT / 2 {
        let (begin, before, mut found_waiting) = (Instant::now(), ticks(process), 0);
        while begin.elapsed() < long {
            std::thread::sleep(Duration::from_millis(10));
            found_waiting += u32::from(waits(process));
        }
        let used = Duration::from_millis(10 * ticks(process).saturating_sub(before));
        if found_waiting >= ENOUGH && used <= long / 10 {
            return;
        }
    }
}

/// Ends a program by a signal once it has read all: the kernel keeps packets back for twice libpcap's timeout, half a second here.
pub(crate) fn stop(child: Child, signal: &str) -> Ended {
    let process = child.id();
    let ended = std::thread::spawn(move || end(child)); // it must not wait for who reads what it says
    rest(process, Duration::from_secs(2));
    run(None, Pcap::System, &["kill", signal, &process.to_string()]);
    ended.join().unwrap()
}

fn reader(mut from: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        from.read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// A place for files of this test program. The first call removes the places of programs that have ended.
pub(crate) fn directory() -> PathBuf {
    static CLEANED: Once = Once::new();
    let all = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ringway-pcap-tests");
    CLEANED.call_once(|| {
        for dir in std::fs::read_dir(&all).into_iter().flatten().flatten() {
            if !PathBuf::from("/proc").join(dir.file_name()).exists() {
                let _ = std::fs::remove_dir_all(dir.path());
            }
        }
    });
    let dir = all.join(std::process::id().to_string());
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// Compiles a program of `tests/c` against the system's pcap.h.
pub(crate) fn compile(name: &str) -> PathBuf {
    let source = format!("{}/tests/c/{name}.c", env!("CARGO_MANIFEST_DIR"));
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let program = directory().join(format!("{name}-{}", NUMBER.fetch_add(1, Relaxed)));
    let done = Command::new("cc")
        .args([
            "-Wall",
            "-Wextra",
            "-Werror",
            "-o",
            program.to_str().unwrap(),
            &source,
            "-lpcap",
            "-lpthread",
        ])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

/// The captures that tests may use, in `$RINGWAY_DATA/pcap` or `shared/data/pcap` beside the workspace; `None`, said loudly, where there are none.
pub(crate) fn captures(kind: &str) -> Option<Vec<PathBuf>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("RINGWAY_DATA").map_or(beside, PathBuf::from);
    let dir = data.join("pcap").join(kind);
    let Ok(entries) = std::fs::read_dir(&dir) else {
        eprintln!("SKIP: no captures in {}; set RINGWAY_DATA", dir.display());
        return None;
    };
    let mut all: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
    all.sort();
    Some(all)
}
