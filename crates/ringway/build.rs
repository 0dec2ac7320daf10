//! Compiles the eBPF programs in `bpf/` with clang.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let dir = PathBuf::from(env("CARGO_MANIFEST_DIR")).join("../../bpf");
    let out = PathBuf::from(env("OUT_DIR"));
    for source in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
        // Those of routers are of another crate.
        if !source.file_name().as_encoded_bytes().starts_with(b"router") {
            println!("cargo::rerun-if-changed={}", source.path().display());
        }
    }
    for name in ["ringway", "xsk", "probe"] {
        compile(&dir.join(format!("{name}.bpf.c")), &out.join(format!("{name}.bpf.o")), &[]);
    }
    // A user's module is linked to the last ones when a switch is made. Each object is built in the two forms of bpf/loop.h.
    for (decision, name) in ["bridge", "hub", "module"].iter().enumerate() {
        for source in ["vale", "vale_nic"] {
            for (form, suffix) in ["", "_old"].iter().enumerate() {
                let object = out.join(format!("{source}_{name}{suffix}.bpf.o"));
                let defined = [format!("-DDECISION={decision}"), format!("-DOLD_KERNEL={form}")];
                compile(&dir.join(format!("{source}.bpf.c")), &object, &defined);
            }
        }
    }
}

fn compile(source: &Path, object: &Path, more: &[String]) {
    let status = Command::new("clang")
        .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-target", "bpf", "-mcpu=v3"])
        // Debian keeps asm/types.h in the directory of the host's architecture.
        .arg(format!("-I/usr/include/{}-linux-gnu", env("CARGO_CFG_TARGET_ARCH")))
        .args(more)
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(object)
        .status();
    match status {
        Ok(s) if s.success() => {}
        Ok(s) => panic!("clang failed on {}: {s}; `make setup` installs what it needs", source.display()),
        Err(e) => panic!("clang can't be run: {e}; `make setup` installs it"),
    }
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
