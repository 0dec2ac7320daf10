//! Capture files, classic and pcapng. However the file comes, in one piece or in many, its records are the same; what was read
//! can be written, and is read again as it was.
#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use ringway_fuzz::{Input, one_line};
use ringway_wire::pcapfile::{MAX_RECORD, Reader, Writer};

/// Time, length on the wire, bytes.
type Records = Vec<(u64, u32, Vec<u8>)>;

/// Gives away a few bytes at a time.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    step: usize,
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = out.len().min(self.step).min(self.bytes.len() - self.at);
        out[..n].copy_from_slice(&self.bytes[self.at..self.at + n]);
        self.at += n;
        self.step = self.step % 97 + 1;
        Ok(n)
    }
}

/// All records, and what ended them.
fn records(reader: &mut Reader, len: usize) -> (Records, Option<String>) {
    let (mut all, mut total) = (Records::new(), 0);
    while let Some(next) = reader.next() {
        match next {
            Ok(record) => {
                total += record.data.len();
                assert!(
                    record.data.len() <= MAX_RECORD as usize && total <= len,
                    "more bytes than the file has"
                );
                all.push((record.ts_ns, record.orig_len, record.data.to_vec()));
            }
            Err(e) => {
                one_line(&e.to_string());
                assert!(reader.next().is_none(), "an error ends the reading");
                return (all, Some(e.to_string()));
            }
        }
    }
    (all, None)
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let step = usize::from(input.u8() % 97) + 1;
    let file = input.rest().to_vec();
    let pieces = Pieces { bytes: file.clone(), at: 0, step };
    let mut whole = match (Reader::from_bytes(file.clone()), Reader::from_read("(memory)", pieces)) {
        (Ok(mut whole), Ok(mut pieces)) => {
            assert_eq!(whole.linktype(), pieces.linktype());
            let all = records(&mut whole, file.len());
            assert_eq!(all, records(&mut pieces, file.len()));
            if all.0.is_empty() {
                return;
            }
            whole
        }
        (Err(a), Err(b)) => {
            one_line(&a.to_string());
            return assert_eq!(a.to_string(), b.to_string());
        }
        (a, b) => panic!("{:?} and {:?}", a.err(), b.err()),
    };
    whole.rewind().expect("a file in memory can be read twice");
    let (first, _) = records(&mut whole, file.len());

    let mut copy = Vec::new();
    let mut writer = Writer::new("copy", &mut copy, MAX_RECORD).expect("memory takes all");
    let written: Vec<_> =
        first.iter().filter(|(ts, orig, data)| writer.write(*ts, *orig, data).is_ok()).collect();
    assert!(first.iter().all(|r| written.contains(&r) || r.0 / 1_000_000_000 > u32::MAX.into()));
    writer.finish().expect("memory takes all");
    let mut again = Reader::from_bytes(copy).expect("what was written can be read");
    let (again, end) = records(&mut again, usize::MAX);
    assert_eq!(end, None);
    assert_eq!(again.len(), written.len());
    for ((ts, orig, data), (ts2, orig2, data2)) in written.iter().zip(&again) {
        assert_eq!((ts, data), (ts2, data2));
        assert_eq!(*orig2, (*orig).max(data.len() as u32));
    }
});
