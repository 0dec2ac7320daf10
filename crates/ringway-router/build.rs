//! Compiles the eBPF programs of routers with clang.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs, in the two ways that packets come.
const SOURCES: [&str; 2] = ["router", "router_tc"];

/// What they are made of.
const PARTS: [&str; 15] = [
    "router.bpf.c",
    "router_tc.bpf.c",
    "router.h",
    "router_by_tc.h",
    "router_by_xdp.h",
    "router_fib.h",
    "router_frame.h",
    "router_hop.h",
    "router_packet.h",
    "router_sum.h",
    "router_taken.h",
    "bounds.h",
    "loop.h",
    "netdev.h",
    "sum.h",
];

fn main() {
    let dir = PathBuf::from(env("CARGO_MANIFEST_DIR")).join("../../bpf");
    for part in PARTS {
        println!("cargo::rerun-if-changed={}", dir.join(part).display());
    }
    for source in SOURCES {
        compile(&dir, source, "", "-DOLD_KERNEL=0");
        compile(&dir, source, "_old", "-DOLD_KERNEL=1");
    }
}

/// Each loop in one of the forms of bpf/loop.h.
fn compile(dir: &Path, source: &str, suffix: &str, form: &str) {
    let status = Command::new("clang")
        .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-target", "bpf", "-mcpu=v3"])
        // Debian keeps asm/types.h in the directory of the host's architecture.
        .arg(format!("-I/usr/include/{}-linux-gnu", env("CARGO_CFG_TARGET_ARCH")))
        .arg(form)
        .arg("-c")
        .arg(dir.join(format!("{source}.bpf.c")))
        .arg("-o")
        .arg(PathBuf::from(env("OUT_DIR")).join(format!("{source}{suffix}.bpf.o")))
        .status();
    match status {
        Ok(s) if s.success() => {}
        Ok(s) => panic!("clang failed on {source}.bpf.c: {s}; `make setup` installs what it needs"),
        Err(e) => panic!("clang can't be run: {e}; `make setup` installs it"),
    }
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
