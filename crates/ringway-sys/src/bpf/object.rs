//! Programs, loaded.

use std::io;
use std::mem::size_of;
use std::os::fd::{FromRawFd, OwnedFd};

use libbpf_rs::{AsRawLibbpf, OpenObject};
use libbpf_sys as bpf;

use super::errno::check;

/// An object that was not loaded.
#[derive(Debug)]
pub struct Unloaded {
    /// What libbpf says.
    pub error: libbpf_rs::Error,
    /// A program and what the verifier said of it, when it refused one.
    refused: Option<(String, String)>,
}

impl Unloaded {
    /// The program that the verifier refused, and its log.
    pub fn said(&self) -> Option<(&str, &str)> {
        self.refused.as_ref().map(|(program, log)| (&program[..], &log[..]))
    }
}

/// Loads an object. RINGWAY_LIBBPF_LOG has libbpf print what the verifier says.
pub fn load_object(mut object: OpenObject) -> Result<libbpf_rs::Object, Unloaded> {
    // Zeroed memory of this size costs nothing until it is written; the longest log has its end in it.
    const LOG: usize = 16 << 20;
    let printed = crate::environment::environment("RINGWAY_LIBBPF_LOG").is_some();
    let mut logs = Vec::new();
    for program in object.progs_mut().filter(|p| p.autoload()) {
        let name = program.name().to_string_lossy().into_owned();
        let mut log = vec![0u8; LOG];
        if !printed {
            // SAFETY: the program lives in `object`; libbpf writes to the buffer only while it loads, which ends before the
            // buffer does.
            unsafe {
                bpf::bpf_program__set_log_buf(
                    program.as_libbpf_object().as_ptr(),
                    log.as_mut_ptr().cast(),
                    LOG as _,
                )
            };
        }
        logs.push((name, log));
    }
    object.load().map_err(|error| {
        let said = |(name, log): (String, Vec<u8>)| {
            let len = log.iter().position(|&b| b == 0).unwrap_or(LOG);
            (len > 0).then(|| (name, String::from_utf8_lossy(&log[..len]).into_owned()))
        };
        // The last one that has a log is the one that was refused: libbpf loads one after the other.
        let mut refused = logs.into_iter().filter_map(said).next_back();
        if printed && error.kind() != libbpf_rs::ErrorKind::NotFound && crate::is_root() {
            refused = refused.or_else(|| Some(("(see above)".into(), "its log is on standard error".into())));
        }
        Unloaded { error, refused }
    })
}

/// `BPF_F_XDP_HAS_FRAGS` of linux/bpf.h: the program knows frames in several buffers.
pub const XDP_HAS_FRAGS: u32 = 1 << 5;

/// Loads a program made here, called `ringway_take`.
pub fn load(
    kind: bpf::bpf_prog_type,
    attach: bpf::bpf_attach_type,
    flags: u32,
    code: &[bpf::bpf_insn],
) -> io::Result<OwnedFd> {
    let mut opts = bpf::bpf_prog_load_opts {
        sz: size_of::<bpf::bpf_prog_load_opts>() as _,
        expected_attach_type: attach,
        prog_flags: flags,
        ..Default::default()
    };
    let (name, license) = (c"ringway_take".as_ptr(), c"Dual BSD/GPL".as_ptr());
    // SAFETY: all pointers are to NUL-terminated constants or to locals that live across the call; `code` carries its
    // length, `opts` its size. What the instructions may do is for the kernel's verifier to decide.
    let fd =
        check(unsafe { bpf::bpf_prog_load(kind, name, license, code.as_ptr(), code.len() as _, &mut opts) })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
