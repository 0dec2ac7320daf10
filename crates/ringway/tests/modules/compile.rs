//! Modules for tests.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ringway::switch::Module;

/// The module that comes with the header.
pub(crate) const EXAMPLE: &str = "../ringway-bpf/bpf/examples/balance.bpf.c";

/// Compiles a module as docs/modules.md says.
pub(crate) fn compile(source: &str) -> Module {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = format!("module{}-{}.o", std::process::id(), SERIAL.fetch_add(1, Relaxed));
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let status = Command::new("clang")
        .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-target", "bpf", "-mcpu=v3"])
        .arg(format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH))
        .arg("-I")
        .arg(here.join("../ringway-bpf/bpf/include"))
        .arg("-c")
        .arg(here.join(source))
        .arg("-o")
        .arg(&object)
        .status()
        .unwrap();
    assert!(status.success(), "{source}");
    Module::Object(object)
}
