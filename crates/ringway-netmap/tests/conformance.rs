//! Cases in C that know nothing but netmap's interface, run on the library in namespaces of their own. Needs root.
//!
//! `CONFORMANCE="pipe monitor"` runs the cases whose names begin so.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use ringway_lab::{Lab, LabError, TemporaryFolder};

/// How long all cases together may take, in seconds.
const LIMIT: &str = "1200";

fn scratch() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("conformance");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The library as the sources are now: cargo does not build it for tests.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let release: &[&str] = if cfg!(debug_assertions) { &[] } else { &["--release"] };
        let build = ["build", "--quiet", "--package", env!("CARGO_PKG_NAME")];
        assert!(Command::new(env!("CARGO")).args(build).args(release).status().unwrap().success());
        let deps = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        deps.parent().unwrap().join("libringway_netmap.so")
    })
}

/// Compiles all cases to one program, with the headers of this crate and all warnings as errors.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let home = Path::new(env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(home.join("tests/conformance")).unwrap().map(|e| e.unwrap().path());
        let sources = files.filter(|path| path.extension().is_some_and(|e| e == "c"));
        let program = scratch().join("conformance");
        let mut command = Command::new("cc");
        command.args([
            "-std=gnu17",
            "-D_GNU_SOURCE",
            "-O1",
            "-g",
            "-pthread",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-I",
        ]);
        command.arg(home.join("include")).args(sources).arg("-o").arg(&program);
        let done = command.output().unwrap_or_else(|e| panic!("cc: {e}; `make setup` installs it"));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        program
    })
}

/// A namespace with two pairs of links, one of one queue, the other of two; `None`, said loudly, without root.
fn lab() -> Option<Lab> {
    let lab = match Lab::new() {
        Err(LabError::NotRoot) => {
            eprintln!("SKIP: netmap's conformance needs root (namespaces, eBPF); run these tests with sudo");
            return None;
        }
        made => made.unwrap(),
    };
    lab.veth("cfa", "cfb").unwrap();
    let two = "numtxqueues 2 numrxqueues 2";
    lab.ip(&format!("link add cfm {two} type veth peer name cfn {two}")).unwrap();
    for link in ["cfa", "cfb", "cfm", "cfn"] {
        lab.ip(&format!("link set {link} up")).unwrap();
        lab.run_napi(link).unwrap();
    }
    Some(lab)
}

/// The program on the library, in the namespace, with folders and a BPF file system of its own.
fn run(lab: &Lab, names: &[&str]) -> String {
    const MOUNT: &str = "mount -t tmpfs -o mode=755 none /mnt && mkdir /mnt/bpf && mount -t bpf -o mode=755 none /mnt/bpf && \
                         export RINGWAY_BPFFS=/mnt/bpf LD_PRELOAD=\"$LIBRARY\" && exec \"$@\"";
    let folder = TemporaryFolder::create(&scratch()).unwrap();
    let mut command = Command::new("timeout");
    command.args([LIMIT, "nsenter", &format!("--net=/run/netns/{}", lab.name()), "--"]);
    command.args(["unshare", "--mount", "sh", "-c", MOUNT, "sh"]).arg(program()).args(names);
    command.env("RINGWAY_DIR", folder.path()).env("LIBRARY", library()).env("LC_ALL", "C");
    for (name, link) in [("CF_A", "cfa"), ("CF_B", "cfb"), ("CF_M", "cfm"), ("CF_N", "cfn")] {
        command.env(name, link);
    }
    let done = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().unwrap();
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// The cases without a library: what the suite itself needs is there, and each has a name of its own.
#[test]
fn cases_are_named() {
    let listed = Command::new(program()).arg("--list").output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    let mut names: Vec<&str> = text.lines().collect();
    assert!(names.len() >= 150, "{} cases", names.len());
    names.sort_unstable();
    assert!(names.windows(2).all(|two| two[0] != two[1]));
}

/// The message names each failed case, with the line and what is not so there.
#[test]
fn all_cases_hold() {
    let Some(lab) = lab() else { return };
    let wanted = std::env::var("CONFORMANCE").unwrap_or_default();
    let said = run(&lab, &wanted.split_whitespace().collect::<Vec<_>>());
    for skipped in said.lines().filter(|line| line.starts_with("skipped ")) {
        eprintln!("SKIP: {skipped}");
    }
    let failed: Vec<&str> = said.lines().filter(|line| line.starts_with("failed ")).collect();
    let last = said.lines().last().unwrap_or("nothing was said");
    assert!(failed.is_empty() && last.ends_with("skipped"), "{last}\n{}", failed.join("\n"));
}
