//! What a file of an open port may say.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use ringway_sys::mmap::Mmap;

use super::BLOCK;
use super::entry::{MAGIC, MAX_RINGS, at, put_text, text};
use super::listed::parse;

#[test]
fn more_rings_than_a_region_has_are_not_believed() {
    let len = at::HEADER + (MAX_RINGS as usize + 1) * BLOCK;
    let mem = Arc::new(Mmap::anonymous(len).unwrap());
    mem.u64(at::MAGIC).store(MAGIC, Relaxed);
    for (tx, rx, read) in [(1, 4095, true), (2, 4095, false), (u32::MAX, 2, false), (0, 0, true)] {
        mem.u32(at::TX_RINGS).store(tx, Relaxed);
        mem.u32(at::RX_RINGS).store(rx, Relaxed);
        assert_eq!(parse(&mem, len, 0, &[]).is_some(), read, "{tx} {rx}");
    }
}

#[test]
fn long_texts_are_cut_between_characters() {
    let mem = Mmap::anonymous(4096).unwrap();
    put_text(&mem, 0, 8, "abcdéfgh");
    assert_eq!(text(&mem, 0, 8), "abcdéf");
    put_text(&mem, 0, 8, "aaaaaaé");
    assert_eq!(text(&mem, 0, 8), "aaaaaa");
    put_text(&mem, 0, 8, "x");
    assert_eq!(text(&mem, 0, 8), "x");
}
