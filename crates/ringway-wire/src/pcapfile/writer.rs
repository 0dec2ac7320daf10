//! Writer of classic pcap files.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::classic::{FILE_HEADER, MAGIC_NANO, RECORD_HEADER, VERSION};
use super::{LINKTYPE_ETHERNET, MAX_RECORD, NS_PER_S, PcapError};

/// Bytes gathered before they are written out.
const BUFFER: usize = 64 * 1024;

/// Writes a classic pcap file: nanosecond times, link type Ethernet, little endian.
///
/// Records are gathered and written out 64 KiB at a time. Nothing is dropped on an error. A record
/// whose [`Self::write`] fails is not taken, and the records before it stay in memory. A later call
/// tries again where the last one stopped, so room made on a full disk heals the file.
///
/// End with [`Self::finish`]. Dropping the writer also writes out what it holds, but cannot report a failure.
/// See [`pcapfile`](super) for an example.
#[derive(Debug)]
pub struct Writer<W: Write = File> {
    name: String,
    out: W,
    snaplen: u32,
    /// Bytes not written out yet: whole records, after the rest of one that was cut by an error.
    pending: Vec<u8>,
}

impl Writer {
    /// Create or replace the file at `path`; at most `snaplen` bytes of each packet are kept.
    ///
    /// A `snaplen` of 0 or above [`MAX_RECORD`] means [`MAX_RECORD`].
    ///
    /// # Errors
    ///
    /// `Io` when the file cannot be created or its header not be written.
    pub fn create(path: impl AsRef<Path>, snaplen: u32) -> Result<Self, PcapError> {
        let name = path.as_ref().display().to_string();
        match File::create(path) {
            Ok(file) => Self::new(&name, file, snaplen),
            Err(source) => Err(PcapError::Io { file: name, call: "create", source }),
        }
    }
}

impl<W: Write> Writer<W> {
    /// Write to `out`, which errors call `name`. The file header is written out at once.
    ///
    /// # Errors
    ///
    /// `Io` when the header cannot be written.
    pub fn new(name: &str, out: W, snaplen: u32) -> Result<Self, PcapError> {
        let snaplen = match snaplen {
            0 => MAX_RECORD,
            _ => snaplen.min(MAX_RECORD),
        };
        let mut writer = Self { name: name.into(), out, snaplen, pending: Vec::with_capacity(BUFFER) };
        writer.put_file_header();
        writer.flush()?;
        Ok(writer)
    }

    /// Add a record: its time in nanoseconds since 1970, the packet's length on the wire, and its bytes.
    ///
    /// An `orig_len` below `data.len()` is written as `data.len()`.
    ///
    /// # Errors
    ///
    /// `TimeRange` for a time after 2106, `Io` when earlier records cannot be written out (disk full). The
    /// record was not taken and may be offered again.
    pub fn write(&mut self, ts_ns: u64, orig_len: u32, data: &[u8]) -> Result<(), PcapError> {
        let Ok(seconds) = u32::try_from(ts_ns / NS_PER_S) else {
            return Err(PcapError::TimeRange { file: self.name.clone(), ts_ns });
        };
        let nanoseconds = (ts_ns % NS_PER_S) as u32;
        let orig_len = orig_len.max(u32::try_from(data.len()).unwrap_or(u32::MAX));
        let kept = &data[..data.len().min(self.snaplen as usize)];
        if self.pending.len() + RECORD_HEADER + kept.len() > BUFFER {
            self.write_out()?;
        }
        for number in [seconds, nanoseconds, kept.len() as u32, orig_len] {
            self.pending.extend_from_slice(&number.to_le_bytes());
        }
        self.pending.extend_from_slice(kept);
        Ok(())
    }

    /// Write out all records taken so far.
    ///
    /// # Errors
    ///
    /// `Io`; what could not be written stays in memory.
    pub fn flush(&mut self) -> Result<(), PcapError> {
        self.write_out()?;
        self.out.flush().map_err(|source| self.failed(source))
    }

    /// Write out all records and close the file.
    ///
    /// # Errors
    ///
    /// `Io`; the file may then end inside a record.
    pub fn finish(mut self) -> Result<(), PcapError> {
        self.flush()
    }

    fn put_file_header(&mut self) {
        let mut put = |bytes: &[u8]| self.pending.extend_from_slice(bytes);
        put(&MAGIC_NANO.to_le_bytes());
        put(&VERSION.0.to_le_bytes());
        put(&VERSION.1.to_le_bytes());
        put(&[0; 8]);
        put(&self.snaplen.to_le_bytes());
        put(&LINKTYPE_ETHERNET.to_le_bytes());
        debug_assert_eq!(self.pending.len(), FILE_HEADER);
    }

    /// Hand `pending` to `out`; on an error forget just what it took.
    fn write_out(&mut self) -> Result<(), PcapError> {
        let mut done = 0;
        let mut result = Ok(());
        while done < self.pending.len() && result.is_ok() {
            match self.out.write(&self.pending[done..]) {
                Ok(0) => result = Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => result = Err(error),
            }
        }
        self.pending.drain(..done);
        result.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> PcapError {
        PcapError::Io { file: self.name.clone(), call: "write", source }
    }
}

impl<W: Write> Drop for Writer<W> {
    fn drop(&mut self) {
        // Nobody is left to tell; `finish` is the way to hear of a failure.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reader;
    use super::*;

    /// A disk with room for so many bytes, and what is on it.
    #[derive(Default)]
    struct Disk {
        room: usize,
        bytes: Vec<u8>,
    }

    impl Write for &mut Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.room).min(1000);
            if taken == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.room -= taken;
            self.bytes.extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn bytes_of_a_file() {
        let mut file = Vec::new();
        let mut writer = Writer::new("t", &mut file, 2).unwrap();
        writer.write(3_000_000_004, 9, &[7, 8, 9]).unwrap();
        writer.finish().unwrap();
        let header = [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0];
        let record = [3, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 7, 8];
        assert_eq!(file, [&header[..], &record[..]].concat());
    }

    #[test]
    fn snaplen_is_kept_in_range_and_orig_len_above_the_data() {
        let mut file = Vec::new();
        let mut writer = Writer::new("t", &mut file, 0).unwrap();
        writer.write(0, 0, &vec![1; MAX_RECORD as usize + 5]).unwrap();
        drop(writer);
        let mut reader = Reader::from_bytes(file).unwrap();
        let record = reader.next().unwrap().unwrap();
        assert_eq!((record.data.len(), record.orig_len), (MAX_RECORD as usize, MAX_RECORD + 5));
    }

    #[test]
    fn times_after_2106_are_refused() {
        let mut writer = Writer::new("t", io::sink(), 0).unwrap();
        writer.write(u64::from(u32::MAX) * NS_PER_S + 999_999_999, 1, &[0]).unwrap();
        let error = writer.write((u64::from(u32::MAX) + 1) * NS_PER_S, 1, &[0]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "t: time 4294967296000000000 ns is after 2106 and does not fit a pcap record"
        );
    }

    #[test]
    fn a_full_disk_is_an_error_and_room_heals_the_file() {
        let mut disk = Disk { room: 100_000, ..Disk::default() };
        let mut taken = 0u64;
        let mut writer = Writer::new("t", &mut disk, 0).unwrap();
        let error = loop {
            match writer.write(taken, 1000, &[taken as u8; 1000]) {
                Ok(()) => taken += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(&error, PcapError::Io { call: "write", source, .. }
            if source.kind() == io::ErrorKind::StorageFull));
        assert!(writer.flush().is_err(), "still full");
        writer.out.room = usize::MAX;
        writer.write(taken, 1000, &[taken as u8; 1000]).unwrap();
        writer.finish().unwrap();

        let mut reader = Reader::from_bytes(disk.bytes).unwrap();
        for i in 0..=taken {
            let record = reader.next().unwrap().unwrap();
            assert_eq!((record.ts_ns, record.data), (i, &[i as u8; 1000][..]));
        }
        assert!(reader.next().is_none());
    }

    #[test]
    fn dev_full_is_reported_when_the_file_is_created() {
        let error = Writer::create("/dev/full", 0).unwrap_err();
        assert!(error.to_string().starts_with("/dev/full: cannot write: No space left"), "{error}");
        let error = Writer::create("/nonexistent/x.pcap", 0).unwrap_err();
        assert!(error.to_string().starts_with("/nonexistent/x.pcap: cannot create: "), "{error}");
    }
}
