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
    for name in ["ringway", "xsk", "probe", "vale_look"] {
        compile(&dir.join(format!("{name}.bpf.c")), &out.join(format!("{name}.bpf.o")), &[]);
    }
    // A user's module is linked to the last ones when a switch is made. Each object is built in the two forms of bpf/loop.h.
    for (decision, name) in ["bridge", "hub", "module"].iter().enumerate() {
        for source in ["vale", "vale_nic"] {
            for (form, suffix) in ["", "_old"].iter().enumerate() {
                let object = out.join(format!("{source}_{name}{suffix}.bpf.o"));
                let defined = [format!("-DDECISION={decision}"), format!("-DOLD_KERNEL={form}")];
                compile(&dir.join(format!("{source}.bpf.c")), &object, &defined);
                if *name != "module" {
                    without_lines(&object);
                }
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

/// Takes the numbers of source lines out of an object. The kernel would keep them with each program: 75 KiB. What the verifier says of
/// a user's module needs them.
fn without_lines(object: &Path) {
    let mut bytes = std::fs::read(object).expect("clang wrote it");
    let at = section(&bytes, b".BTF.ext").expect("clang -g makes the section");
    // struct btf_ext_header: magic, version, flags, hdr_len, then offset and length of functions and of lines.
    bytes[at + 20..at + 24].fill(0);
    std::fs::write(object, bytes).expect("clang wrote it");
}

/// Where a section of a 64-bit ELF file of this machine's byte order begins.
fn section(elf: &[u8], name: &[u8]) -> Option<usize> {
    let half = |at: usize| Some(u16::from_ne_bytes(elf.get(at..at + 2)?.try_into().ok()?) as usize);
    let word = |at: usize| Some(u32::from_ne_bytes(elf.get(at..at + 4)?.try_into().ok()?) as usize);
    let long = |at: usize| Some(u64::from_ne_bytes(elf.get(at..at + 8)?.try_into().ok()?) as usize);
    let (headers, size, count, names) = (long(0x28)?, half(0x3a)?, half(0x3c)?, half(0x3e)?);
    let names = long(headers + names * size + 24)?;
    (0..count).map(|n| headers + n * size).find_map(|header| {
        let found = elf.get(names + word(header)?..)?;
        (found.starts_with(name) && found.get(name.len()) == Some(&0)).then(|| long(header + 24))?
    })
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
