//! What only the targets in `fuzz/` reach: parsers that are private otherwise.
#![allow(missing_docs, reason = "no part of the library")]

use std::sync::Arc;

use ringway_sys::mmap::Mmap;

use crate::OpenPort;
use crate::entry::HEADER;
use crate::listed::parse;

/// The port that a file of the run directory describes, without what its map in the kernel counts.
pub fn registered(file: &[u8]) -> Option<OpenPort> {
    if file.len() < HEADER {
        return None;
    }
    let mem = Mmap::anonymous(file.len()).ok()?;
    mem.write(0, file);
    parse(&Arc::new(mem), file.len(), 0, &[])
}
