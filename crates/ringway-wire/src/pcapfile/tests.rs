//! Whole files: built by hand, drawn at random, damaged, and captured.

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::{env, fs};

use proptest::collection::vec;
use proptest::prelude::*;

use super::ByteOrder::{Big, Little};
use super::*;

/// A record that owns its bytes: time, original length, data.
type Owned = (u64, u32, Vec<u8>);

/// Numbers in a chosen byte order.
struct Bytes {
    order: ByteOrder,
    out: Vec<u8>,
}

impl Bytes {
    fn new(order: ByteOrder) -> Self {
        Self { order, out: Vec::new() }
    }

    fn u16(&mut self, number: u16) -> &mut Self {
        self.raw(&if self.order == Little { number.to_le_bytes() } else { number.to_be_bytes() })
    }

    fn u32(&mut self, number: u32) -> &mut Self {
        self.raw(&if self.order == Little { number.to_le_bytes() } else { number.to_be_bytes() })
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.out.extend_from_slice(bytes);
        self
    }

    fn padded(&mut self, bytes: &[u8]) -> &mut Self {
        self.raw(bytes);
        self.out.resize(self.out.len().next_multiple_of(4), 0);
        self
    }
}

/// A classic file; `unit_ns` is 1 or 1000.
fn classic(order: ByteOrder, unit_ns: u64, linktype: u32, records: &[Owned]) -> Vec<u8> {
    let mut file = Bytes::new(order);
    file.u32(if unit_ns == 1 { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }).u16(2).u16(4).raw(&[0; 8]);
    file.u32(65_535).u32(linktype);
    for (ts_ns, orig_len, data) in records {
        let fraction = (ts_ns % NS_PER_S / unit_ns) as u32;
        file.u32((ts_ns / NS_PER_S) as u32).u32(fraction).u32(data.len() as u32).u32(*orig_len).raw(data);
    }
    file.out
}

/// Where the first packet of an [`NgFile`] with one interface starts.
const NG_PACKET: usize = 28 + 44;

/// Blocks of a pcapng file.
struct NgFile(Bytes);

impl NgFile {
    /// A file with a section header.
    fn new(order: ByteOrder) -> Self {
        let mut file = Self(Bytes::new(order));
        file.section(order);
        file
    }

    fn section(&mut self, order: ByteOrder) -> &mut Self {
        self.0.order = order;
        self.block(0x0a0d_0d0a, |body| {
            body.u32(0x1a2b_3c4d).u16(1).u16(0).raw(&[0xff; 8]);
        })
    }

    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Bytes)) -> &mut Self {
        let mut inner = Bytes::new(self.0.order);
        body(&mut inner);
        let len = inner.out.len() as u32 + 12;
        self.0.u32(kind).u32(len).raw(&inner.out).u32(len);
        self
    }

    /// An interface with `if_tsresol`, after an option of odd length.
    fn interface(&mut self, linktype: u16, snaplen: u32, resolution: u8) -> &mut Self {
        self.block(1, |body| {
            body.u16(linktype).u16(0).u32(snaplen);
            body.u16(2).u16(5).padded(b"eth0x").u16(9).u16(1).padded(&[resolution]).u32(0);
        })
    }

    fn enhanced(&mut self, interface: u32, units: u64, orig_len: u32, data: &[u8]) -> &mut Self {
        self.block(6, |body| {
            body.u32(interface).u32((units >> 32) as u32).u32(units as u32);
            body.u32(data.len() as u32).u32(orig_len).padded(data);
            body.u16(1).u16(3).padded(b"abc").u32(0);
        })
    }

    fn old(&mut self, interface: u16, units: u64, orig_len: u32, data: &[u8]) -> &mut Self {
        self.block(2, |body| {
            body.u16(interface).u16(9).u32((units >> 32) as u32).u32(units as u32);
            body.u32(data.len() as u32).u32(orig_len).padded(data);
        })
    }

    fn simple(&mut self, orig_len: u32, data: &[u8]) -> &mut Self {
        self.block(3, |body| {
            body.u32(orig_len).padded(data);
        })
    }

    fn read(&self) -> Outcome {
        read(&self.0.out)
    }
}

/// What a file gave: records, then the error that ended it, if any.
#[derive(Debug)]
struct Outcome {
    records: Vec<Owned>,
    error: Option<PcapError>,
}

impl Outcome {
    fn message(&self) -> String {
        self.error.as_ref().map(PcapError::to_string).unwrap_or_default()
    }
}

fn drain(reader: &mut Reader) -> Outcome {
    let mut outcome = Outcome { records: Vec::new(), error: None };
    while let Some(record) = reader.next() {
        assert!(outcome.error.is_none(), "an error is the end");
        match record {
            Ok(record) => outcome.records.push((record.ts_ns, record.orig_len, record.data.to_vec())),
            Err(error) => outcome.error = Some(error),
        }
    }
    assert!(reader.next().is_none(), "the end stays");
    outcome
}

fn read(file: &[u8]) -> Outcome {
    match Reader::from_bytes(file) {
        Ok(mut reader) => drain(&mut reader),
        Err(error) => Outcome { records: Vec::new(), error: Some(error) },
    }
}

#[test]
fn classic_in_both_orders_and_units() {
    let records = vec![(1_700_000_000_123_456_000, 60, vec![1; 60]), (5, 1500, vec![2; 99]), (0, 0, vec![])];
    for (order, unit_ns) in [(Little, 1), (Little, 1000), (Big, 1), (Big, 1000)] {
        let mut reader = Reader::from_bytes(classic(order, unit_ns, 0x5400_0001, &records)).unwrap();
        assert_eq!(reader.linktype(), LINKTYPE_ETHERNET, "without the FCS bits");
        assert_eq!(reader.has_nanoseconds(), unit_ns == 1);
        for _ in 0..2 {
            let outcome = drain(&mut reader);
            assert!(outcome.error.is_none());
            let expected: Vec<_> =
                records.iter().map(|r| (r.0 / unit_ns * unit_ns, r.1, r.2.clone())).collect();
            assert_eq!(outcome.records, expected);
            reader.rewind().unwrap();
        }
    }
}

#[test]
fn pcapng_in_both_orders_with_all_packet_blocks() {
    for order in [Little, Big] {
        let mut file = NgFile::new(order);
        file.interface(1, 4, 6).interface(1, 0, 128 + 1).block(0xbad, |_| ());
        file.enhanced(0, 1_700_000_000_000_001, 60, &[1; 5]).simple(1500, &[2; 4]);
        file.old(1, 3, 7, &[3; 7]).simple(3, &[4; 3]);
        let outcome = file.read();
        assert!(outcome.error.is_none(), "{}", outcome.message());
        let expected: [Owned; 4] = [
            (1_700_000_000_000_001_000, 60, vec![1; 5]),
            (1_700_000_000_000_001_000, 1500, vec![2; 4]),
            (1_500_000_000, 7, vec![3; 7]),
            (1_500_000_000, 3, vec![4; 3]),
        ];
        assert_eq!(outcome.records, expected);
    }
}

#[test]
fn pcapng_tells_how_fine_its_times_are() {
    for (resolution, fine) in
        [(0, false), (6, false), (7, true), (9, true), (128 + 19, false), (128 + 20, true)]
    {
        let mut file = NgFile::new(Little);
        file.interface(1, 0, resolution).enhanced(0, 1, 60, &[1; 60]);
        let reader = Reader::from_bytes(file.0.out).unwrap();
        assert_eq!(reader.has_nanoseconds(), fine, "{resolution}");
    }
}

#[test]
fn pcapng_sections_change_order_and_forget_interfaces() {
    let mut file = NgFile::new(Big);
    file.interface(1, 0, 9).enhanced(0, 1, 1, &[1]);
    file.section(Little).interface(1, 0, 6).enhanced(0, 1, 1, &[2]);
    file.section(Big).enhanced(0, 1, 1, &[3]);
    let outcome = file.read();
    assert_eq!(outcome.records, [(1, 1, vec![1]), (1000, 1, vec![2])]);
    assert!(outcome.message().ends_with("names an interface that its section does not describe"));
}

#[test]
fn pcapng_with_two_link_types_stops_at_the_second() {
    let mut file = NgFile::new(Little);
    file.interface(1, 0, 6).interface(101, 0, 6).enhanced(0, 0, 1, &[1]).enhanced(1, 0, 1, &[1]);
    let outcome = file.read();
    assert_eq!(outcome.records.len(), 1);
    assert!(outcome.message().contains("has link type 101, the file began with 1; split"), "{outcome:?}");
}

#[test]
fn pcapng_skips_a_block_larger_than_the_buffer() {
    let mut file = NgFile::new(Little);
    file.interface(1, 0, 6).block(77, |body| body.out.resize(5 << 20, 0xee)).enhanced(0, 1, 1, &[1]);
    assert_eq!(file.read().records.len(), 1);
    file.0.out[NG_PACKET + 4] += 4;
    assert!(file.read().message().contains("ends with a length that is not the one at its start"));
}

#[test]
fn pcapng_blocks_that_lie() {
    let lie = |edit: fn(&mut NgFile)| {
        let mut file = NgFile::new(Little);
        file.interface(1, 0, 6).enhanced(0, 0, 1, &[1]);
        edit(&mut file);
        let outcome = file.read();
        outcome.message()
    };
    assert!(lie(|f| f.0.out[4] = 29).contains("the block at byte 0 has an impossible length"));
    assert!(lie(|f| f.0.out[8] = 0).contains("is a section header without a byte order"));
    assert!(lie(|f| f.0.out[12] = 2).contains("format version 2.0 is not supported"));
    assert!(lie(|f| f.0.out.truncate(28)).contains("should describe an interface, but the file ends there"));
    assert!(lie(|f| f.0.out.truncate(40)).contains("truncated: the record at byte 28 needs 44 bytes"));
    assert!(lie(|f| f.0.out[28 + 18] = 99).contains("has an option that runs past its end"));
    assert!(lie(|f| f.0.out[NG_PACKET + 20] = 60).contains("holds a packet that runs past its end"));
    assert!(
        lie(|f| f.0.out[NG_PACKET + 22] = 9).contains("claims 589825 bytes, more than the limit of 262144")
    );
    assert!(lie(|f| f.0.out[NG_PACKET + 6] = 9).contains("bytes, more than the limit of 524288"));
    assert!(lie(|f| f.0.out[28] = 6).contains("holds a packet, but no interface is described before it"));
}

#[test]
fn pcapng_interfaces_are_limited() {
    let mut file = NgFile::new(Little);
    for _ in 0..65_537 {
        file.block(1, |body| {
            body.u32(1).u32(0);
        });
    }
    assert!(file.read().message().contains("describes one interface more than the limit"));
}

#[test]
fn a_cut_record_is_named_and_those_before_it_delivered() {
    let file = classic(Little, 1, 1, &[(1, 4, vec![1; 4]), (2, 4, vec![2; 4])]);
    for (end, wanted) in [(file.len() - 1, 20), (24 + 20 + 16, 20), (24 + 20 + 15, 16), (24 + 20 + 1, 16)] {
        let outcome = read(&file[..end]);
        assert_eq!(outcome.records.len(), 1);
        let expected = format!(
            "(memory): truncated: the record at byte 44 needs {wanted} bytes and the file has {} more",
            end - 44
        );
        assert_eq!(outcome.message(), expected);
    }
    assert_eq!(read(&file[..44]).message(), "", "cut between records");
}

#[test]
fn a_record_of_the_longest_length_passes_and_one_more_does_not() {
    let longest = vec![7; MAX_RECORD as usize];
    let mut file = classic(Big, 1, 1, &[(1, MAX_RECORD, longest.clone())]);
    assert_eq!(read(&file).records, [(1, MAX_RECORD, longest)]);
    file[24 + 11] = 1;
    let message = "(memory): the record at byte 24 claims 262145 bytes, more than the limit of 262144; \
                   the file is damaged from there on";
    assert_eq!(read(&file).message(), message);
}

#[test]
fn other_files_are_refused_by_name() {
    let gzip = "(memory): neither pcap nor pcapng (starts with 1f 8b 08 00); if it is compressed, decompress it first";
    assert_eq!(read(&[0x1f, 0x8b, 8, 0, 0]).message(), gzip);
    assert!(
        read(&[0x34, 0xcd, 0xb2, 0xa1]).message().contains("\"modified\" (kuznetzov) pcap is not supported")
    );
    assert!(
        read(&[0xa1, 0xb2, 0xcd, 0x34]).message().contains("\"modified\" (kuznetzov) pcap is not supported")
    );
    assert!(read(&[]).message().contains("truncated: the record at byte 0 needs 4 bytes and the file has 0"));
    let mut old = classic(Little, 1000, 1, &[]);
    old[6] = 3;
    assert!(read(&old).message().contains("format version 2.3 is not supported; convert it: tcpdump"));
    assert!(
        Reader::open("/nonexistent.pcap")
            .unwrap_err()
            .to_string()
            .starts_with("/nonexistent.pcap: cannot open: ")
    );
    assert!(Reader::open("/").unwrap_err().to_string().starts_with("/: cannot read: "));
}

#[test]
fn a_stream_is_read_once_and_may_be_longer_than_memory_allows() {
    const ROUNDS: u64 = 40_000;
    let header = classic(Little, 1, 1, &[]);
    let record = classic(Little, 1, 1, &[(9, 1000, vec![5; 1000])]).split_off(24);
    let len = record.len() as u64 * ROUNDS;
    let mut reader =
        Reader::from_read("pipe", Cursor::new(header).chain(Repeat(record, 0).take(len))).unwrap();
    assert!(matches!(reader.rewind(), Err(PcapError::NotRewindable { .. })));
    let mut count = 0;
    while let Some(found) = reader.next() {
        assert_eq!(found.unwrap(), Record { ts_ns: 9, orig_len: 1000, data: &[5; 1000] });
        count += 1;
    }
    assert_eq!(count, ROUNDS);
}

/// The same bytes over and over.
struct Repeat(Vec<u8>, usize);

impl Read for Repeat {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let from = &self.0[self.1..];
        let len = from.len().min(buffer.len());
        buffer[..len].copy_from_slice(&from[..len]);
        self.1 = (self.1 + len) % self.0.len();
        Ok(len)
    }
}

/// Records as a capture may hold them; `orig_len` not below the data.
fn records() -> impl Strategy<Value = Vec<Owned>> {
    let times = 0..=u64::from(u32::MAX) * NS_PER_S;
    vec(
        (times, 0..=u32::MAX, vec(any::<u8>(), 0..300)).prop_map(|(t, o, d)| (t, o.max(d.len() as u32), d)),
        0..20,
    )
}

/// A valid file of either format.
fn valid_file() -> impl Strategy<Value = Vec<u8>> {
    (records(), any::<bool>(), any::<bool>(), any::<u8>()).prop_map(|(records, big, ng, resolution)| {
        let order = if big { Big } else { Little };
        if !ng {
            return classic(order, 1, 1, &records);
        }
        let mut file = NgFile::new(order);
        file.interface(1, 0, resolution);
        for (ts_ns, orig_len, data) in &records {
            match ts_ns % 4 {
                0 => file.old(0, *ts_ns, *orig_len, data),
                1 => file.simple(*orig_len, data),
                2 => file.block(5, |body| body.out.resize(data.len() & !3, 1)),
                _ => file.enhanced(0, *ts_ns, *orig_len, data),
            };
        }
        file.0.out
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(records in records(), snaplen in 1u32..400) {
        let mut file = Vec::new();
        let mut writer = Writer::new("t", &mut file, snaplen).unwrap();
        for (ts_ns, orig_len, data) in &records {
            writer.write(*ts_ns, *orig_len, data).unwrap();
        }
        writer.finish().unwrap();
        let outcome = read(&file);
        prop_assert!(outcome.error.is_none());
        let cut = |(t, o, mut d): Owned| { d.truncate(snaplen as usize); (t, o, d) };
        prop_assert_eq!(outcome.records, records.into_iter().map(cut).collect::<Vec<_>>());
    }

    #[test]
    fn valid_files_are_read_to_their_end(file in valid_file()) {
        prop_assert_eq!(read(&file).message(), "");
    }

    #[test]
    fn every_cut_of_a_valid_file_ends(file in valid_file(), cut in any::<prop::sample::Index>()) {
        let (all, some) = (read(&file), read(&file[..cut.index(file.len())]));
        prop_assert_eq!(&all.records[..some.records.len()], &some.records[..]);
    }

    #[test]
    fn damaged_files_never_panic(
        mut file in valid_file(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        early in any::<bool>(),
    ) {
        for (at, byte) in damage {
            let span = if early { file.len().min(80) } else { file.len() };
            file[at.index(span)] ^= byte;
        }
        let outcome = read(&file);
        prop_assert!(outcome.records.len() <= file.len() / 16);
    }

    #[test]
    fn random_bytes_never_panic(kind in 0usize..5, tail in vec(any::<u8>(), 0..400)) {
        let start = match kind {
            0 => Vec::new(),
            1 => classic(Little, 1000, 1, &[]),
            2 => classic(Big, 1, 1, &[]),
            3 => NgFile::new(Little).interface(1, 0, 6).0.out.clone(),
            _ => NgFile::new(Big).interface(1, 0, 6).0.out.clone(),
        };
        read(&[start, tail].concat());
    }
}

/// Captures in a folder of the shared data; empty, with a note, when it is not there.
fn captures(folder: &str) -> Vec<PathBuf> {
    let data = env::var_os("RINGWAY_DATA").map(PathBuf::from);
    let data = data.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"));
    let folder = data.join("pcap").join(folder);
    let Ok(entries) = fs::read_dir(&folder) else {
        eprintln!(
            "SKIP: NO CAPTURES IN {}; SET RINGWAY_DATA TO THE FOLDER THAT HOLDS pcap/",
            folder.display()
        );
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|e| e == "pcap")).collect()
}

/// Slow, obvious count of the whole records of a classic file; `None` for another format.
fn count(file: &[u8]) -> Option<usize> {
    let big = match file.get(..4)? {
        [0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d] => true,
        [0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1] => false,
        _ => return None,
    };
    let (mut at, mut records) = (24, 0);
    while let Some(&[a, b, c, d]) = file.get(at + 8..at + 12) {
        let len = if big { u32::from_be_bytes([a, b, c, d]) } else { u32::from_le_bytes([a, b, c, d]) };
        at += 16 + len as usize;
        if len > MAX_RECORD || at > file.len() {
            break;
        }
        records += 1;
    }
    Some(records)
}

#[test]
fn captures_are_read_to_their_end_or_a_named_error() {
    for path in [captures("real"), captures("hostile")].concat() {
        let mut reader = Reader::open(&path).unwrap();
        let outcome = drain(&mut reader);
        if let Some(error) = &outcome.error {
            eprintln!("{} records, then {error}", outcome.records.len());
            assert!(error.to_string().starts_with(&path.display().to_string()));
        }
        let file = fs::read(&path).unwrap();
        assert!(count(&file).is_none_or(|count| count == outcome.records.len()), "{}", path.display());
        reader.rewind().unwrap();
        assert_eq!(drain(&mut reader).records, outcome.records, "{}", path.display());
    }
}

#[test]
fn captures_survive_a_copy() {
    for path in captures("real") {
        let records = drain(&mut Reader::open(&path).unwrap()).records;
        let mut copy = Vec::new();
        let mut writer = Writer::new("copy", &mut copy, 0).unwrap();
        for (ts_ns, orig_len, data) in &records {
            writer.write(*ts_ns, *orig_len, data).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(read(&copy).records, records, "{}", path.display());
    }
}

#[test]
fn damaged_captures_never_panic() {
    for path in captures("hostile") {
        let file = fs::read(&path).unwrap();
        for at in 0..file.len().min(150) {
            let mut damaged = file.clone();
            damaged[at] ^= 0xff;
            read(&damaged);
        }
    }
}
