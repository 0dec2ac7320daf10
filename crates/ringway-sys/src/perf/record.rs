//! Records of events (`PERF_RECORD_*` of linux/perf_event.h), read from bytes that nobody vouches for.

/// What a sample has: address, thread, CPU and call chain.
pub(super) const SAMPLE_TYPE: u64 = IP | TID | TIME | CPU | CALLCHAIN;

const IP: u64 = 1;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const CALLCHAIN: u64 = 1 << 5;
const CPU: u64 = 1 << 7;

/// Call chains have at most so many addresses: above kernel.perf_event_max_stack no kernel writes them.
const LONGEST_CHAIN: u64 = 8192;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// Where a thread was.
    Sample(Sample),
    /// The ring had no room for so many records.
    Lost(u64),
    /// A process mapped a file, or memory, to execute it.
    Mapped(Mapped),
    /// A thread has a new name.
    Named {
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
        /// Its name.
        name: String,
        /// Whether it executes another program.
        exec: bool,
    },
    /// A process or thread was made.
    Forked {
        /// The new process.
        pid: u32,
        /// The process that made it.
        parent: u32,
    },
    /// The kernel has a new function, such as a program of eBPF.
    Function {
        /// Its first byte.
        address: u64,
        /// Its bytes.
        len: u32,
        /// Its name.
        name: String,
        /// Whether it went, and did not come.
        gone: bool,
    },
    /// The kernel samples less, since sampling took too much time.
    Throttled,
    /// A record of another type.
    Other(u32),
}

/// Where a thread was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The address.
    pub ip: u64,
    /// The process; 0 is the idle CPU.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// When, by the kernel's scheduler clock.
    pub time: u64,
    /// On which CPU.
    pub cpu: u32,
    /// The call chain from the sampled address up, with marks such as [`KERNEL`] and [`USER`].
    pub chain: Vec<u64>,
}

/// A mapping of a process that may execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    /// The process.
    pub pid: u32,
    /// Its first address.
    pub address: u64,
    /// Its bytes.
    pub len: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// Number of the file in its file system.
    pub inode: u64,
    /// The file.
    pub path: String,
}

/// In a chain: the addresses behind it are the kernel's.
pub const KERNEL: u64 = -128i64 as u64;
/// In a chain: the addresses behind it are the program's.
pub const USER: u64 = -512i64 as u64;
/// Chains have marks above this, and no addresses.
pub const MARKS: u64 = -4096i64 as u64;

/// The records in `bytes`. Ends early at a record whose length makes no sense; skips records that are too short for their type.
pub fn records(bytes: &[u8]) -> impl Iterator<Item = Record> + '_ {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        loop {
            let head = rest.get(..HEADER)?;
            let kind = u32::from_le_bytes(head[..4].try_into().ok()?);
            let misc = u16::from_le_bytes(head[4..6].try_into().ok()?);
            let len = usize::from(u16::from_le_bytes(head[6..8].try_into().ok()?));
            let body = rest.get(..len)?.get(HEADER..)?;
            rest = &rest[len..];
            if let Some(record) = record(kind, misc, &mut Fields(body)) {
                return Some(record);
            }
        }
    })
}

/// Bytes of `struct perf_event_header`.
const HEADER: usize = 8;
/// The process executes another program (`PERF_RECORD_MISC_COMM_EXEC`).
const EXEC: u16 = 1 << 13;

fn record(kind: u32, misc: u16, fields: &mut Fields<'_>) -> Option<Record> {
    Some(match kind {
        2 => {
            fields.u64()?; // the event's number
            Record::Lost(fields.u64()?)
        }
        13 => Record::Lost(fields.u64()?),
        3 => Record::Named {
            pid: fields.u32()?,
            tid: fields.u32()?,
            name: fields.text(),
            exec: misc & EXEC != 0,
        },
        5 => Record::Throttled,
        7 => Record::Forked { pid: fields.u32()?, parent: fields.u32()? },
        9 => Record::Sample(sample(fields)?),
        10 => Record::Mapped(mapped(fields)?),
        17 => {
            let (address, len) = (fields.u64()?, fields.u32()?);
            let (_kind, flags) = (fields.u16()?, fields.u16()?);
            Record::Function { address, len, name: fields.text(), gone: flags & 1 != 0 }
        }
        other => Record::Other(other),
    })
}

fn sample(fields: &mut Fields<'_>) -> Option<Sample> {
    let (ip, pid, tid, time, cpu) =
        (fields.u64()?, fields.u32()?, fields.u32()?, fields.u64()?, fields.u32()?);
    fields.u32()?; // reserved
    let len = fields.u64()?.min(LONGEST_CHAIN);
    let chain = (0..len).map_while(|_| fields.u64()).collect();
    Some(Sample { ip, pid, tid, time, cpu, chain })
}

fn mapped(fields: &mut Fields<'_>) -> Option<Mapped> {
    let (pid, _tid, address, len, offset) =
        (fields.u32()?, fields.u32()?, fields.u64()?, fields.u64()?, fields.u64()?);
    fields.u64()?; // the device
    let inode = fields.u64()?;
    fields.u64()?; // generation of the inode
    fields.u64()?; // protection and flags
    Some(Mapped { pid, address, len, offset, inode, path: fields.text() })
}

/// The bytes of a record that are not read yet.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }

    /// A text that ends with NUL, or with the record.
    fn text(&mut self) -> String {
        let end = self.0.iter().position(|&b| b == 0).unwrap_or(self.0.len());
        String::from_utf8_lossy(&self.0[..end]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes_of(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let len = (HEADER + body.len()) as u16;
        [&kind.to_le_bytes()[..], &misc.to_le_bytes(), &len.to_le_bytes(), body].concat()
    }

    fn sample_bytes(s: &Sample) -> Vec<u8> {
        let pids = u64::from(s.pid) | u64::from(s.tid) << 32;
        let words = [s.ip, pids, s.time, s.cpu.into(), s.chain.len() as u64];
        let words: Vec<u8> = words.iter().chain(&s.chain).flat_map(|w| w.to_ne_bytes()).collect();
        bytes_of(9, 0, &words)
    }

    #[test]
    fn records_are_read_as_the_kernel_writes_them() {
        let named = bytes_of(3, EXEC, b"\x07\0\0\0\x08\0\0\0ringway\0");
        let lost = bytes_of(2, 0, &[[1u8; 8], 5u64.to_ne_bytes()].concat());
        let found: Vec<_> = records(&[named, lost, bytes_of(77, 0, &[])].concat()).collect();
        let name = Record::Named { pid: 7, tid: 8, name: "ringway".into(), exec: true };
        assert_eq!(found, [name, Record::Lost(5), Record::Other(77)]);
    }

    #[test]
    fn a_chain_that_promises_too_much_ends_with_its_record() {
        let sample = Sample { ip: 1, pid: 2, tid: 3, time: 4, cpu: 5, chain: vec![KERNEL, 6, 7] };
        let mut bytes = sample_bytes(&sample);
        bytes[40..48].copy_from_slice(&u64::MAX.to_ne_bytes());
        assert_eq!(records(&bytes).collect::<Vec<_>>(), [Record::Sample(sample)]);
    }

    proptest! {
        #[test]
        fn samples_come_out_as_they_went_in(all in prop::collection::vec((any::<[u64; 2]>(), any::<[u32; 3]>(), prop::collection::vec(any::<u64>(), 0..40)), 0..20)) {
            let all: Vec<Sample> = all.into_iter().map(|([ip, time], [pid, tid, cpu], chain)| Sample { ip, pid, tid, time, cpu, chain }).collect();
            let bytes: Vec<u8> = all.iter().flat_map(sample_bytes).collect();
            let found: Vec<Record> = records(&bytes).collect();
            prop_assert_eq!(found, all.into_iter().map(Record::Sample).collect::<Vec<_>>());
        }

        #[test]
        fn any_bytes_give_a_bounded_number_of_records(bytes in prop::collection::vec(any::<u8>(), 0..600), kind in 0u8..20, len in 0u8..255) {
            let mut bytes = bytes;
            if bytes.len() > HEADER {
                bytes[..HEADER].copy_from_slice(&[kind, 0, 0, 0, 0, 0, len, 0]);
            }
            prop_assert!(records(&bytes).count() <= bytes.len() / HEADER);
        }
    }
}
