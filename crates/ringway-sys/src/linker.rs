//! Joins eBPF objects to one (libbpf's static linker).

use std::io::{self, Read, Seek};
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use libbpf_sys as bpf;

use super::bpf::check;
use super::fd::scratch;

/// A linker, freed with this value.
struct Linker(NonNull<bpf::bpf_linker>);

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: `bpf_linker__new_fd` made it, and nothing uses it any more.
        unsafe { bpf::bpf_linker__free(self.0.as_ptr()) }
    }
}

/// Joins objects: symbols that one lacks are taken from the others.
pub fn link(objects: &[&[u8]]) -> io::Result<Vec<u8>> {
    let mut out = scratch(c"ringway-link")?;
    // SAFETY: an open descriptor, which outlives the linker; no options.
    let linker = unsafe { bpf::bpf_linker__new_fd(out.as_raw_fd(), std::ptr::null_mut()) };
    let linker = NonNull::new(linker).map(Linker).ok_or_else(io::Error::last_os_error)?;
    for object in objects {
        let (bytes, len) = (object.as_ptr().cast_mut().cast(), object.len() as _);
        // SAFETY: libbpf reads `len` bytes, which it copies.
        check(unsafe { bpf::bpf_linker__add_buf(linker.0.as_ptr(), bytes, len, std::ptr::null()) })?;
    }
    // SAFETY: the linker lives.
    check(unsafe { bpf::bpf_linker__finalize(linker.0.as_ptr()) })?;
    drop(linker);
    let mut linked = Vec::new();
    out.rewind()?;
    out.read_to_end(&mut linked)?;
    Ok(linked)
}
