//! libbpf: kept quiet, its errors with their cures, and what they say of the kernel.

use std::sync::Once;

use super::capability::{Cap, cure_of_denial};
use super::environment::environment;
use crate::error::{Error, ErrorKind};

/// Cure of programs that call others, which the kernel's interpreter can't.
pub const JIT: &str = "switch the kernel's compiler of programs on: `sysctl -w net.core.bpf_jit_enable=1`";

/// Where the kernel tells its types, by which programs find fields of its structures.
pub const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Cure where it does not.
pub const NO_TYPES: &str =
    "use a kernel with CONFIG_DEBUG_INFO_BTF, with sysfs mounted: there is no /sys/kernel/btf/vmlinux";

/// Whether the kernel has type information (BTF), which Ringway's programs need.
pub fn tells_types() -> bool {
    std::path::Path::new(TYPES).exists()
}

/// Keeps libbpf from printing to stderr; its errors reach the user as Ringway's own. RINGWAY_LIBBPF_LOG keeps its log.
pub fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if environment("RINGWAY_LIBBPF_LOG").is_none() {
            libbpf_rs::set_print(None);
        }
    });
}

/// Turns libbpf's error into one line with a cure.
pub fn refused(port: &str, what: &str, e: &libbpf_rs::Error) -> Error {
    let kind = e.kind();
    let error = match kind_to_io(kind) {
        std::io::ErrorKind::Other if !tells_types() => Error::new(
            ErrorKind::Unsupported,
            port,
            format!("{what} failed: the kernel does not tell its types (BTF)"),
        ),
        std::io::ErrorKind::Other => Error::new(ErrorKind::Io, port, format!("{what} failed: {e}")),
        known => Error::io(port, format!("{what} failed"), known.into()),
    };
    match kind {
        libbpf_rs::ErrorKind::PermissionDenied => {
            error.with_kind(ErrorKind::Denied).cure(cure_of_denial(&[Cap::Bpf]))
        }
        _ => error.cure(cure()),
    }
}

fn kind_to_io(kind: libbpf_rs::ErrorKind) -> std::io::ErrorKind {
    match kind {
        libbpf_rs::ErrorKind::PermissionDenied => std::io::ErrorKind::PermissionDenied,
        libbpf_rs::ErrorKind::OutOfMemory => std::io::ErrorKind::OutOfMemory,
        libbpf_rs::ErrorKind::InvalidInput => std::io::ErrorKind::InvalidInput,
        libbpf_rs::ErrorKind::NotFound => std::io::ErrorKind::NotFound,
        libbpf_rs::ErrorKind::Unsupported => std::io::ErrorKind::Unsupported,
        _ => std::io::ErrorKind::Other,
    }
}

/// Whether the sysctl has the kernel interpret programs. Only the first network namespace shows it.
pub(super) fn jit_is_off() -> bool {
    std::fs::read_to_string("/proc/sys/net/core/bpf_jit_enable").is_ok_and(|s| s.trim() == "0")
}

/// What may help where the kernel refuses an object and says nothing of a program.
#[must_use]
pub fn cure() -> &'static str {
    if jit_is_off() {
        JIT
    } else if !tells_types() {
        NO_TYPES
    } else {
        "Ringway needs Linux 6.1 or later with BPF and its JIT; see `dmesg` for memory limits"
    }
}
