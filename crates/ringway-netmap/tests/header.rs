//! `net/netmap.h`, `net/netmap_user.h` and `libnetmap.h` say what netmap's interface is, in C and in C++.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

const C: &[&str] = &["cc", "-x", "c"];
const CPP: &[&str] = &["c++", "-x", "c++"];

/// Compiles a program of `tests/c` with all warnings as errors.
fn compile(compiler: &[&str], standard: &str, name: &str) -> PathBuf {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("header");
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join(format!("{}-{name}{standard}", compiler[0]));
    let mut command = Command::new(compiler[0]);
    command
        .args(&compiler[1..])
        .args([standard, "-O2", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(home.join("include"));
    if name == "layout.c" {
        command.arg("-c");
    }
    let output = command.arg(home.join("tests/c").join(name)).arg("-o").arg(&program).output();
    let output = output.unwrap_or_else(|e| panic!("{}: {e}; `make setup` installs it", compiler[0]));
    assert!(output.status.success(), "{compiler:?} {standard}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

fn run(program: &Path) {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}: {}", program.display(), String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.ends_with(b"ok\n"));
}

#[test]
fn layout_in_c() {
    for standard in ["-std=c99", "-std=gnu99", "-std=c11", "-std=gnu17"] {
        compile(C, standard, "layout.c");
    }
}

#[test]
fn layout_in_cpp() {
    for standard in ["-std=c++11", "-std=c++17"] {
        compile(CPP, standard, "layout.c");
    }
}

/// Rings, slots and buffers are found, names are taken apart, frames go in and out.
#[test]
fn functions_in_c() {
    for standard in ["-std=c99", "-std=c11", "-std=gnu17"] {
        run(&compile(C, standard, "user.c"));
        run(&compile(C, standard, "libnetmap.c"));
    }
}

#[test]
fn functions_in_cpp() {
    for standard in ["-std=c++11", "-std=c++17"] {
        run(&compile(CPP, standard, "user.c"));
        run(&compile(CPP, standard, "libnetmap.c"));
    }
}
