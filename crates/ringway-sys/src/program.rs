//! Loading eBPF objects: which of two builds the kernel knows, and what its verifier says when it refuses one.

use std::sync::OnceLock;

use libbpf_rs::{Object, ObjectBuilder, OpenObject};
use ringway_bpf::{Builds, PROBE, Packed};

use super::bpf;
use super::libbpf::{JIT, jit_is_off, quiet, refused};
use crate::error::{Error, ErrorKind, Result};

pub use super::libbpf::cure;

/// Cure of a program that this kernel's verifier refuses, though Ringway is meant to run there.
const CURE: &str = "Ringway is made for the kernels of distributions from Linux 6.1 on; report this, with what the command prints \
                    under RINGWAY_LIBBPF_LOG=1";

/// The build for the running kernel.
#[must_use]
pub fn fitting(builds: Builds) -> Packed {
    if is_new() { builds.new } else { builds.old }
}

/// Whether the kernel takes the newer builds: it knows the instruction `may_goto`, and lets programs call global functions while
/// preemption is disabled. Tried once for a process.
fn is_new() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| load_probe("undisturbed").is_ok())
}

/// Loads one of the programs that try something.
pub fn load_probe(name: &str) -> libbpf_rs::Result<Object> {
    quiet();
    let mut open = ObjectBuilder::default().open_memory(&PROBE.unpack())?;
    for mut program in open.progs_mut() {
        let wanted = program.name() == name;
        program.set_autoload(wanted);
    }
    open.load()
}

/// Loads an object; `what` names it in errors: `the router's programs`.
///
/// # Errors
/// [`ErrorKind::Unsupported`] with the last lines of the verifier's log when the verifier refuses a program;
/// [`ErrorKind::Denied`] when the process may not load programs.
pub fn load(open: OpenObject, what: &str, on: &str) -> Result<Object> {
    bpf::load_object(open).map_err(|e| match e.said() {
        Some((program, log)) => {
            let what = format!("the kernel's verifier refuses the program {program}: {}", last_lines(log));
            Error::new(ErrorKind::Unsupported, on, what).cure(if needs_jit(log) { JIT } else { CURE })
        }
        None => refused(on, &format!("loading {what}"), &e.error),
    })
}

/// Whether it was for want of the kernel's compiler that the verifier refused a program.
pub fn needs_jit(log: &str) -> bool {
    log.contains("JIT") || jit_is_off()
}

/// The end of a verifier's log, where it says what it does not like, in one line.
pub fn last_lines(log: &str) -> String {
    let noise = ["processed ", "verification time", "stack depth", "max_"];
    let praise = |l: &str| l.ends_with("is safe for any args that match its prototype");
    let said = log
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty() && !praise(l) && !noise.iter().any(|n| l.starts_with(n)));
    let lines: Vec<&str> = said.collect();
    lines[lines.len().saturating_sub(3)..].join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_told_by_its_end() {
        let log = "0: (b7) r0 = 0\n; return head[200];\n1: (71) r0 = *(u8 *)(r1 +200)\ninvalid access to memory\n\
                   verification time 9 usec\nstack depth 0+0\nprocessed 2 insns (limit 1000000) max_states_per_insn 0\n\n";
        let said = "; return head[200]; / 1: (71) r0 = *(u8 *)(r1 +200) / invalid access to memory";
        assert_eq!(last_lines(log), said);
        let log = "Func#33 ('f') is safe for any args that match its prototype\ncallbacks are not allowed\n";
        assert_eq!(last_lines(log), "callbacks are not allowed");
        assert_eq!(last_lines(""), "");
    }

    #[test]
    fn programs_that_are_not_compiled_have_a_cure() {
        assert!(needs_jit("func#1 @20\ncallbacks are not allowed in non-JITed programs\n"));
        assert!(needs_jit("JIT does not support calling kernel function\n"));
        assert_eq!(needs_jit("invalid access to memory\n"), jit_is_off());
    }
}
