//! The tests of Python: pytest over the module as cargo builds it, and a wheel that pip installs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs its arguments in a namespace of mounts with a BPF file system of its own: switches that a test makes go with it.
const APART: &str = "mount -t tmpfs -o mode=755 none /mnt && mkdir /mnt/bpf && mount -t bpf -o mode=755 none /mnt/bpf && \
                     RINGWAY_BPFFS=/mnt/bpf exec timeout 300 \"$@\"";

fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ringway-python").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a command to its end: whether it ended well, and what it printed.
fn ends(command: &mut Command) -> (bool, String) {
    let Ok(done) = command.stdin(Stdio::null()).output() else {
        return (false, format!("{command:?} does not start"));
    };
    let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    (done.status.success(), said)
}

/// Runs a command that must end well; what it printed.
fn must(command: &mut Command) -> String {
    let (well, said) = ends(command);
    assert!(well, "{command:?}\n{said}");
    said
}

/// A Python that has all these modules: Debian's, or the first of the path.
fn python(modules: &str) -> Option<&'static str> {
    let has = |python: &&str| ends(Command::new(*python).args(["-c", &format!("import {modules}")])).0;
    ["/usr/bin/python3", "python3"].into_iter().find(has)
}

/// The folder of the programs and libraries that cargo builds beside this test, with the module in it, as its sources are now.
fn built() -> PathBuf {
    let release: &[&str] = if cfg!(debug_assertions) { &[] } else { &["--release"] };
    let packages = ["build", "--quiet", "-p", env!("CARGO_PKG_NAME"), "-p", "ringway-cli"];
    must(Command::new(env!("CARGO")).args(packages).args(release));
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    deps.parent().unwrap().to_owned()
}

/// The package as a wheel has it.
fn package(built: &Path) -> PathBuf {
    let folder = scratch("package");
    let library = built.join("libringway_python.so");
    must(Command::new("cp").arg("-r").arg(home().join("python/ringway")).arg(&folder));
    must(Command::new("cp").arg(library).arg(folder.join("ringway/_native.abi3.so")));
    folder
}

#[test]
fn the_suite_of_pytest_passes() {
    let Some(python) = python("sys, numpy, pytest, scapy; sys.version_info >= (3, 11) or sys.exit(1)") else {
        eprintln!("SKIPPED: no Python 3.11 has numpy, pytest and scapy: run scripts/setup --test");
        return;
    };
    let built = built();
    let words = [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"];
    let apart = must(Command::new("id").arg("-u")).trim() == "0";
    let mut command = Command::new(if apart { "unshare" } else { "timeout" });
    let before: &[&str] = if apart { &["--mount", "sh", "-c", APART, "sh"] } else { &["300"] };
    command.args(before).args(words).arg(home().join("tests"));
    command.env("PYTHONPATH", package(&built)).env("RINGWAY_COMMAND", built.join("ringway"));
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    println!("{}", must(&mut command));
}

#[test]
fn pip_installs_the_module() {
    let folder = scratch("pip");
    let venv = folder.join("venv");
    let made = python("venv, numpy").is_some_and(|python| {
        ends(Command::new(python).args(["-m", "venv", "--system-site-packages"]).arg(&venv)).0
    });
    let pip = venv.join("bin/pip");
    if !made || !ends(Command::new(&pip).args(["install", "--quiet", "maturin>=1.7,<2"])).0 {
        eprintln!("SKIPPED: pip cannot get maturin here, so no wheel is made");
        return;
    }
    let path = format!("{}:{}", venv.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    let mut install = Command::new(&pip);
    install.args(["install", "--quiet", "--no-build-isolation", "--no-deps", "--config-settings"]);
    install.arg("build-args=--profile=dev").arg(".").current_dir(home().join("../..")).env("PATH", path);
    must(&mut install);
    let text =
        "import ringway; port = ringway.Port('loop:'); port.send(bytes(60)); print(len(port.receive()))";
    let mut command = Command::new(venv.join("bin/python"));
    assert_eq!(must(command.args(["-c", text]).current_dir(&folder)), "1\n");
}
