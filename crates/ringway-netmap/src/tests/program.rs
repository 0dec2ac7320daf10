//! Memory of a program, as a few pieces at addresses.

use std::collections::BTreeMap;

use crate::memory::{CallerMemory, Fault};
use crate::numbers::Kind;

/// Memory of a program: what is not in a piece faults.
#[derive(Default)]
pub(super) struct Program(pub(super) BTreeMap<u64, Vec<u8>>);

impl Program {
    fn piece(&self, at: u64, len: usize) -> Result<(u64, usize), Fault> {
        let (begin, bytes) = self.0.range(..=at).next_back().ok_or(Fault)?;
        let from = (at - begin) as usize;
        (from + len <= bytes.len()).then_some((*begin, from)).ok_or(Fault)
    }

    /// A request with a body of its kind's size, and options of these numbers in a list.
    pub(super) fn with(version: u16, kind: u16, options: &[u32]) -> Self {
        let size = Kind::of(kind).map_or(0, Kind::body_size);
        let mut header = Vec::new();
        header.extend(version.to_ne_bytes());
        header.extend(kind.to_ne_bytes());
        header.extend([0; 4]);
        header.extend(b"netmap0\0after");
        header.resize(72, 0xee);
        header.extend(if options.is_empty() { 0u64 } else { 0x1000 }.to_ne_bytes());
        header.extend(if size == 0 { 0u64 } else { 0x8000 }.to_ne_bytes());
        let mut program = Self::default();
        program.0.insert(0x100, header);
        program.0.insert(0x8000, vec![0x55; size]);
        for (k, number) in options.iter().enumerate() {
            let last = k + 1 == options.len();
            let next = if last { 0 } else { 0x1000 + 0x100 * (k as u64 + 1) };
            program.0.insert(0x1000 + 0x100 * k as u64, option(next, *number, 96));
        }
        program
    }

    pub(super) fn status(&self, k: u64) -> i32 {
        i32::from_ne_bytes(self.0[&(0x1000 + 0x100 * k)][12..16].try_into().unwrap())
    }
}

pub(super) fn option(next: u64, number: u32, len: usize) -> Vec<u8> {
    let mut bytes = next.to_ne_bytes().to_vec();
    bytes.extend(number.to_ne_bytes());
    bytes.extend(77u32.to_ne_bytes());
    bytes.resize(len, 0);
    bytes
}

impl CallerMemory for Program {
    fn read(&self, at: u64, out: &mut [u8]) -> Result<(), Fault> {
        let (piece, from) = self.piece(at, out.len())?;
        out.copy_from_slice(&self.0[&piece][from..from + out.len()]);
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Fault> {
        let (piece, from) = self.piece(at, bytes.len())?;
        self.0.get_mut(&piece).ok_or(Fault)?[from..from + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}
