//! Requests as programs make them, right and wrong, from memory that is a few pieces at addresses.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::memory::{CallerMemory, Errno, Fault};
use crate::numbers::Kind;
use crate::options::OptionKind;
use crate::request::Request;

/// Memory of a program: what is not in a piece faults.
#[derive(Default)]
struct Program(BTreeMap<u64, Vec<u8>>);

impl Program {
    fn piece(&self, at: u64, len: usize) -> Result<(u64, usize), Fault> {
        let (begin, bytes) = self.0.range(..=at).next_back().ok_or(Fault)?;
        let from = (at - begin) as usize;
        (from + len <= bytes.len()).then_some((*begin, from)).ok_or(Fault)
    }

    /// A request with a body of its kind's size, and options of these numbers in a list.
    fn with(version: u16, kind: u16, options: &[u32]) -> Self {
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

    fn status(&self, k: u64) -> i32 {
        i32::from_ne_bytes(self.0[&(0x1000 + 0x100 * k)][12..16].try_into().unwrap())
    }

    fn ask(&mut self) -> Result<Request, Errno> {
        Request::copy_in(self, 0x100)
    }
}

fn option(next: u64, number: u32, len: usize) -> Vec<u8> {
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

const EINVAL: Errno = Errno(libc::EINVAL);
const EFAULT: Errno = Errno(libc::EFAULT);
const EMSGSIZE: Errno = Errno(libc::EMSGSIZE);
const EOPNOTSUPP: Errno = Errno(libc::EOPNOTSUPP);

#[test]
fn each_kind_has_its_body() {
    for number in 1..=15 {
        let mut program = Program::with(14, number, &[]);
        let request = program.ask().unwrap();
        assert_eq!((request.kind as u16, request.name.as_slice()), (number, &b"netmap0"[..]));
        assert!(request.body.iter().all(|b| *b == 0x55) && request.body.len() == request.kind.body_size());
        // A body where none belongs, and none where one does.
        let wrong = if request.body.is_empty() { 0x8000u64 } else { 0 };
        program.write(0x100 + 80, &wrong.to_ne_bytes()).unwrap();
        assert_eq!(program.ask().unwrap_err(), EINVAL, "{number}");
    }
}

#[test]
fn versions_kinds_and_reserved_bits_are_checked() {
    for (version, kind, expected) in [
        (13, 1, false),
        (14, 1, true),
        (15, 1, true),
        (16, 1, false),
        (0, 1, false),
        (14, 0, false),
        (14, 16, false),
    ] {
        let asked = Program::with(version, kind, &[]).ask();
        assert_eq!(asked.map(|_| ()), if expected { Ok(()) } else { Err(EINVAL) }, "{version} {kind}");
    }
    let mut program = Program::with(14, 1, &[]);
    program.write(0x104, &[0, 0, 0, 1]).unwrap();
    assert_eq!(program.ask().unwrap_err(), EINVAL);
}

#[test]
fn pointers_that_lead_nowhere_fault() {
    assert_eq!(Program::default().ask().unwrap_err(), EFAULT);
    for (at, pointer) in [(80, 0x8001u64), (80, u64::MAX), (72, 0x7000), (72, u64::MAX - 8)] {
        let mut program = Program::with(14, 1, &[]);
        program.write(0x100 + at, &pointer.to_ne_bytes()).unwrap();
        assert_eq!(program.ask().unwrap_err(), EFAULT, "{at} {pointer:#x}");
    }
}

#[test]
fn the_body_goes_back_only_when_the_request_was_done() {
    for (done, expected) in [(Ok(()), 1), (Err(Errno(libc::EBUSY)), 0x55)] {
        let mut program = Program::with(14, 1, &[]);
        let mut request = program.ask().unwrap();
        request.body.fill(1);
        assert_eq!(request.finish(&mut program, done), done);
        assert!(program.0[&0x8000].iter().all(|b| *b == expected));
    }
}

#[test]
fn an_option_that_nobody_takes_fails_the_request() {
    let mut program = Program::with(14, 1, &[5, 1234, 3]);
    let mut request = program.ask().unwrap();
    let offsets = request.options.take(OptionKind::Offsets).unwrap();
    assert_eq!(offsets.len(), 56);
    offsets[48] = 9;
    assert!(request.options.take(OptionKind::ExternalMemory).is_none());
    assert_eq!(request.options.all_taken(), Err(EOPNOTSUPP));
    assert_eq!(request.finish(&mut program, Ok(())), Err(EOPNOTSUPP));
    let statuses = [0, 1, 2].map(|k| program.status(k));
    assert_eq!(statuses, [0, libc::EOPNOTSUPP, libc::EOPNOTSUPP]);
    assert_eq!(program.0[&0x1000][48], 9, "what was taken goes back");

    let mut program = Program::with(14, 1, &[3]);
    let mut request = program.ask().unwrap();
    request.options.take(OptionKind::Csb).unwrap();
    request.options.refuse(OptionKind::Csb, EINVAL);
    assert_eq!(request.finish(&mut program, Err(EINVAL)), Err(EINVAL));
    assert_eq!(program.status(0), libc::EINVAL);
}

#[test]
fn twins_and_options_without_a_kind_are_refused() {
    let mut program = Program::with(14, 1, &[5, 3, 5, 1]);
    assert_eq!(program.ask().unwrap_err(), EINVAL);
    let statuses = [0, 1, 2, 3].map(|k| program.status(k));
    assert_eq!(
        statuses,
        [libc::EOPNOTSUPP, libc::EOPNOTSUPP, libc::EINVAL, 77],
        "the fourth was not looked at"
    );
    let mut program = Program::with(14, 1, &[0]);
    assert_eq!(program.ask().unwrap_err(), EINVAL);
    assert_eq!(program.status(0), libc::EINVAL);
    // Of a kind that nobody knows there may be two: the request fails for another reason.
    let mut program = Program::with(14, 1, &[99, 99]);
    assert_eq!(program.ask().unwrap().options.all_taken(), Err(EOPNOTSUPP));
}

#[test]
fn lists_have_an_end() {
    let mut program = Program::with(14, 1, &[99]);
    program.0.insert(0x1000, option(0x1000, 99, 24)); // the next one is this one
    assert_eq!(program.ask().unwrap_err(), EMSGSIZE);
    let mut program = Program::with(14, 1, &[2]);
    for size in [4096u64, u64::MAX, 1 << 40] {
        program.write(0x1010, &size.to_ne_bytes()).unwrap();
        assert_eq!(program.ask().unwrap_err(), EMSGSIZE, "{size}");
    }
    program.write(0x1010, &64u64.to_ne_bytes()).unwrap();
    let mut request = program.ask().unwrap();
    assert_eq!(request.options.take(OptionKind::KloopEventfds).unwrap().len(), 24 + 64);
}

proptest! {
    /// Whatever lies at whatever address: an answer, and none of it is left half noted.
    #[test]
    fn any_memory_gives_an_answer(
        pieces in proptest::collection::btree_map(0u64..0x400, proptest::collection::vec(prop_oneof![0u8..6, any::<u8>()], 0..200), 0..6),
        version in 13u16..17, kind in 0u16..18, options in 0u64..0x400, body in 0u64..0x400,
    ) {
        let mut program = Program::with(version, kind, &[]);
        program.write(0x100 + 72, &options.to_ne_bytes()).unwrap();
        program.write(0x100 + 80, &body.to_ne_bytes()).unwrap();
        let header = program.0.remove(&0x100).unwrap();
        program.0 = pieces.into_iter().map(|(at, bytes)| (at * 8, bytes)).collect();
        program.0.insert(0x10_0000, header);
        if let Ok(request) = Request::copy_in(&mut program, 0x10_0000) {
            prop_assert_eq!(request.body.len(), request.kind.body_size());
            let _ = request.finish(&mut program, Ok(()));
        }
    }
}
