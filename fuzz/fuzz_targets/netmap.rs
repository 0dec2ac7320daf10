//! Requests of programs that were written for netmap: their memory is anything, and so are the pointers in it. A request is refused,
//! or copied in once and copied back to where it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringway_netmap::legacy::{Call, Legacy};
use ringway_netmap::memory::{CallerMemory, Errno, Fault};
use ringway_netmap::options::OptionKind;
use ringway_netmap::request::Request;

/// Memory that begins at address [`BASE`], and the bytes that were copied in.
struct Memory {
    bytes: Vec<u8>,
    read: std::cell::Cell<usize>,
}

const BASE: u64 = 0x1000;

/// Bytes of a request with its options, and as many again for the headers of options that were looked at.
const MOST: usize = 2 * 4096 + 88;

impl Memory {
    fn range(&self, at: u64, len: usize) -> Result<std::ops::Range<usize>, Fault> {
        let begin = at.checked_sub(BASE).and_then(|begin| usize::try_from(begin).ok()).ok_or(Fault)?;
        let end = begin.checked_add(len).filter(|end| *end <= self.bytes.len()).ok_or(Fault)?;
        Ok(begin..end)
    }
}

impl CallerMemory for Memory {
    fn read(&self, at: u64, out: &mut [u8]) -> Result<(), Fault> {
        out.copy_from_slice(&self.bytes[self.range(at, out.len())?]);
        self.read.set(self.read.get() + out.len());
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Fault> {
        let range = self.range(at, bytes.len())?;
        self.bytes[range].copy_from_slice(bytes);
        Ok(())
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut memory = Memory { bytes: bytes.to_vec(), read: 0.into() };
    if let Ok(mut request) = Request::copy_in(&mut memory, BASE) {
        assert!(memory.read.get() <= MOST, "{} bytes were read", memory.read.get());
        assert_eq!(request.body.len(), request.kind.body_size());
        let _ = request.options.take(OptionKind::Offsets);
        let _ = request.finish(&mut memory, Err(Errno(libc::EBUSY)));
    }
    for call in [Call::Register, Call::Info] {
        if let Ok(request) = Legacy::copy_in(&memory, BASE, call) {
            assert_eq!(request.body.len(), request.kind.body_size());
            let _ = request.finish(&mut memory, Ok(()));
        }
    }
});
