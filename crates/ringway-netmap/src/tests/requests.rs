//! Requests as programs make them, right and wrong.

use proptest::prelude::*;

use super::program::{Program, option};
use super::{EFAULT, EINVAL, EMSGSIZE, EOPNOTSUPP};
use crate::memory::{CallerMemory, Errno};
use crate::options::OptionKind;
use crate::request::Request;

impl Program {
    fn ask(&mut self) -> Result<Request, Errno> {
        Request::copy_in(self, 0x100)
    }
}

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
    assert_eq!(statuses, [libc::EINVAL, libc::EOPNOTSUPP, libc::EINVAL, 77], "the fourth was not looked at");
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

#[test]
fn another_name_is_copied_back() {
    for (name, done, expected) in [
        (&b"vale0:p1"[..], Ok(()), &b"vale0:p1\0"[..]),
        (b"netmap0", Ok(()), b"netmap0\0after"),
        (b"vale0:p1", Err(EINVAL), b"netmap0\0after"),
    ] {
        let mut program = Program::with(14, 5, &[]);
        let mut request = program.ask().unwrap();
        request.name = name.to_vec();
        assert_eq!(request.finish(&mut program, done), done);
        let mut header = [0; 88];
        program.read(0x100, &mut header).unwrap();
        assert_eq!(header[8..8 + expected.len()], *expected);
        assert_eq!(
            (header[0], header[71] == 0),
            (14, name.len() == 8 && done.is_ok()),
            "all of the field, and no more"
        );
    }
}

#[test]
fn a_name_that_is_too_long_is_cut() {
    let mut program = Program::with(14, 5, &[]);
    let mut request = program.ask().unwrap();
    let options = program.0[&0x100][72..80].to_vec();
    request.name = vec![b'x'; 200];
    request.finish(&mut program, Ok(())).unwrap();
    let header = &program.0[&0x100];
    assert!(header[8..71].iter().all(|b| *b == b'x') && header[71] == 0 && header[72..80] == options);
}
