//! A bounded window that slides over a capture file.
//!
//! ```text
//! file:   [ read and forgotten | mark .. start .. end | not read yet ]
//! buffer:                            ^ data() ^
//! ```
//!
//! One buffer of [`CAPACITY`] bytes serves files of any size. A record is parsed only once it lies whole in
//! the window, so it is handed out as one slice without a copy of its own.

use std::fmt;
use std::io::{self, Read, Seek};

use super::PcapError;

/// Longest stretch that may be asked for at once: a packet block with generous options, in bytes.
pub(super) const MAX_BLOCK: u32 = 512 * 1024;

/// Bytes of buffer; twice the longest stretch, so that most refills move little.
const CAPACITY: usize = 2 * MAX_BLOCK as usize;

/// Bytes of the file in memory, and where they come from. Owned by one reader.
pub(super) struct Window {
    name: String,
    source: Source,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// File offset of `buffer[start]`.
    offset: u64,
    /// File offset where the current record starts; errors name it.
    mark: u64,
}

/// Where bytes come from.
pub(super) enum Source {
    /// Can be read again from its start.
    Seekable(Box<dyn ReadSeek + Send>),
    /// Can be read once.
    Stream(Box<dyn Read + Send>),
}

/// `Read` and `Seek` in one object.
pub(super) trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window")
            .field("name", &self.name)
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

impl Window {
    /// An empty window at the start of `source`.
    pub(super) fn new(name: String, source: Source) -> Self {
        Self { name, source, buffer: vec![0; CAPACITY], start: 0, end: 0, offset: 0, mark: 0 }
    }

    /// Start a record here; false when the file ends here.
    pub(super) fn begin(&mut self) -> Result<bool, PcapError> {
        self.mark = self.offset;
        Ok(self.fill(1)? > 0)
    }

    /// The next `len` bytes (at most [`MAX_BLOCK`]), not consumed; `Truncated` when the file has fewer.
    pub(super) fn need(&mut self, len: usize) -> Result<&[u8], PcapError> {
        let found = self.fill(len)?;
        if found < len {
            return Err(self.truncated(len as u64, found as u64));
        }
        Ok(&self.buffer[self.start..self.start + len])
    }

    /// Consume `len` bytes that [`Self::need`] has shown, and return them.
    pub(super) fn take(&mut self, len: usize) -> &[u8] {
        let from = self.start;
        self.consume(len);
        &self.buffer[from..self.start]
    }

    /// Consume `len` bytes of any number, reading them if they are not in the window.
    pub(super) fn skip(&mut self, len: u64) -> Result<(), PcapError> {
        let mut left = len;
        while left > 0 {
            let step = self.fill(1)?.min(usize::try_from(left).unwrap_or(usize::MAX));
            if step == 0 {
                return Err(self.truncated(left, 0));
            }
            self.consume(step);
            left -= step as u64;
        }
        Ok(())
    }

    /// Go back to the start of the file.
    pub(super) fn rewind(&mut self) -> Result<(), PcapError> {
        let Source::Seekable(source) = &mut self.source else {
            return Err(PcapError::NotRewindable { file: self.name.clone() });
        };
        source.rewind().map_err(|source| match source.kind() {
            io::ErrorKind::NotSeekable => PcapError::NotRewindable { file: self.name.clone() },
            _ => PcapError::Io { file: self.name.clone(), call: "rewind", source },
        })?;
        (self.start, self.end, self.offset, self.mark) = (0, 0, 0, 0);
        Ok(())
    }

    /// Name of the file, for errors.
    pub(super) fn name(&self) -> String {
        self.name.clone()
    }

    /// File offset of the current record, for errors.
    pub(super) fn mark(&self) -> u64 {
        self.mark
    }

    /// Error: the current block is wrong in itself.
    pub(super) fn bad_block(&self, why: &'static str) -> PcapError {
        PcapError::BadBlock { file: self.name(), offset: self.mark, why }
    }

    /// Error: the current record is longer than `limit`.
    pub(super) fn too_long(&self, len: u32, limit: u32) -> PcapError {
        PcapError::TooLong { file: self.name(), offset: self.mark, len, limit }
    }

    /// Error: after what was consumed of this record, `wanted` bytes are missing and `found` are there.
    fn truncated(&self, wanted: u64, found: u64) -> PcapError {
        let done = self.offset - self.mark;
        PcapError::Truncated {
            file: self.name(),
            offset: self.mark,
            wanted: done + wanted,
            found: done + found,
        }
    }

    fn consume(&mut self, len: usize) {
        debug_assert!(self.start + len <= self.end);
        self.start += len;
        self.offset += len as u64;
    }

    /// Read until the window holds `len` bytes or the file ends; returns how many it holds.
    fn fill(&mut self, len: usize) -> Result<usize, PcapError> {
        debug_assert!(len <= MAX_BLOCK as usize);
        if self.end - self.start < len {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        while self.end - self.start < len {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(PcapError::Io { file: self.name(), call: "read", source }),
            }
        }
        Ok(self.end - self.start)
    }
}

impl Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Seekable(source) => source.read(buffer),
            Self::Stream(source) => source.read(buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte per read, as a slow pipe may.
    struct Drip(u8);

    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0 == 5 {
                return Ok(0);
            }
            buffer[0] = self.0;
            self.0 += 1;
            Ok(1)
        }
    }

    fn drip() -> Window {
        Window::new("drip".into(), Source::Stream(Box::new(Drip(0))))
    }

    #[test]
    fn short_reads_are_joined() {
        let mut window = drip();
        assert!(window.begin().unwrap());
        assert_eq!(window.need(3).unwrap(), [0, 1, 2]);
        assert_eq!(window.take(3), [0, 1, 2]);
        assert_eq!(window.need(2).unwrap(), [3, 4]);
        window.skip(2).unwrap();
        assert!(!window.begin().unwrap());
    }

    #[test]
    fn truncation_counts_from_the_mark() {
        let mut window = drip();
        window.skip(1).unwrap();
        window.begin().unwrap();
        window.skip(2).unwrap();
        let error = window.need(9).unwrap_err();
        assert!(matches!(error, PcapError::Truncated { offset: 1, wanted: 11, found: 4, .. }), "{error:?}");
        let error = window.skip(9).unwrap_err();
        assert!(matches!(error, PcapError::Truncated { offset: 1, wanted: 11, found: 4, .. }), "{error:?}");
    }

    #[test]
    fn a_long_file_slides_through() {
        let file: Vec<u8> = (0..4 * CAPACITY).map(|i| (i % 251) as u8).collect();
        let mut window =
            Window::new("long".into(), Source::Seekable(Box::new(io::Cursor::new(file.clone()))));
        for round in 0..2 {
            let (mut at, step) = (0, 100_003 + round);
            while at + step <= file.len() {
                window.need(step).unwrap();
                assert_eq!(window.take(step), &file[at..at + step]);
                at += step;
            }
            window.skip((file.len() - at) as u64).unwrap();
            assert!(!window.begin().unwrap());
            window.rewind().unwrap();
        }
        assert_eq!(window.buffer.len(), CAPACITY);
    }

    #[test]
    fn a_stream_says_that_it_cannot_rewind() {
        let error = drip().rewind().unwrap_err();
        assert_eq!(
            error.to_string(),
            "drip: a stream cannot be read twice; copy it to a regular file to loop over it"
        );
    }
}
