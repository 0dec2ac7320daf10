//! Builds and installs the library once, compiles programs against it and runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use ringway_lab::{Lab, LabError};

/// How long a program may take, in seconds.
const LIMIT: &str = "120";

/// This crate.
pub(crate) fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("ringway-c")
}

/// Runs a command that must end well; what it printed.
pub(crate) fn must(command: &mut Command) -> String {
    let done = command.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{command:?}: {}\n{said}", done.status);
    String::from_utf8(done.stdout).unwrap()
}

/// Where the library is installed: `lib`, `include`. It is as the sources are now, for cargo does not build it for tests.
pub(crate) fn installed() -> &'static Path {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let release: &[&str] = if cfg!(debug_assertions) { &[] } else { &["--release"] };
        let build = ["build", "--quiet", "--package", env!("CARGO_PKG_NAME")];
        must(Command::new(env!("CARGO")).args(build).args(release));
        let deps = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let archive = deps.parent().unwrap().join("libringway_c.a");
        let (linked, prefix) = (scratch().join("linked"), scratch().join("prefix"));
        let script = home().join("c-library");
        must(Command::new(&script).arg("link").arg(archive).arg(&linked));
        must(Command::new(&script).arg("install").arg(&linked).arg(&prefix));
        prefix
    })
}

/// The shared library.
pub(crate) fn library() -> PathBuf {
    installed().join("lib/libringway.so")
}

/// Flags of pkg-config, as a user's makefile has them.
fn flags() -> Vec<String> {
    let path = installed().join("lib/pkgconfig");
    let mut ask = Command::new("pkg-config");
    let text = must(ask.args(["--cflags", "--libs", "ringway"]).env("PKG_CONFIG_PATH", path));
    text.split_whitespace().map(str::to_owned).collect()
}

/// Compiles a program of one file, with all warnings as errors.
pub(crate) fn compile(source: &Path) -> PathBuf {
    let program = scratch().join("programs").join(source.file_stem().unwrap());
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    let cpp = source.extension().is_some_and(|e| e == "cpp");
    let (compiler, standard) = if cpp { ("c++", "-std=c++17") } else { ("cc", "-std=c99") };
    let mut command = Command::new(compiler);
    command.args([standard, "-D_POSIX_C_SOURCE=200809L", "-O2", "-pthread", "-Wall", "-Wextra", "-Werror"]);
    command.arg(source).args(flags()).arg(format!("-Wl,-rpath,{}/lib", installed().display()));
    must(command.arg("-o").arg(&program));
    program
}

/// A command for a program, which ends it after a while.
pub(crate) fn command(program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.arg(LIMIT).arg(program).args(args).stdin(Stdio::null());
    command
}

/// Runs a program to its end; what it printed.
pub(crate) fn run(program: &Path, args: &[&str]) -> String {
    must(&mut command(program, args))
}

/// The same with a BPF file system of its own: what it pins there goes with it, however it ends. Needs root.
pub(crate) fn run_apart(program: &Path, args: &[&str]) -> String {
    const MOUNT: &str = "mount -t tmpfs -o mode=755 none /mnt && mkdir /mnt/bpf && mount -t bpf -o mode=755 none /mnt/bpf && \
                         RINGWAY_BPFFS=/mnt/bpf exec timeout \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", MOUNT, "sh", LIMIT]).arg(program).args(args);
    must(command.stdin(Stdio::null()))
}

/// The same for one that fails.
pub(crate) fn refused(program: &Path, args: &[&str]) -> Output {
    let done = command(program, args).output().unwrap();
    assert!(!done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    done
}

/// A namespace of its own; `None`, said loudly, without root.
pub(crate) fn lab() -> Option<Lab> {
    match Lab::new() {
        Err(LabError::NotRoot) => {
            eprintln!("SKIP: namespaces and switches need root; run these tests with sudo");
            None
        }
        made => Some(made.unwrap()),
    }
}
