//! Requests of older programs.

use proptest::prelude::*;

use super::program::Program;
use super::{EFAULT, EINVAL, EOPNOTSUPP};
use crate::legacy::{Call, Legacy, SIZE};
use crate::memory::{CallerMemory, Errno};
use crate::numbers::{Kind, flag};

/// Where the request is.
const AT: u64 = 0x100;

fn program(name: &[u8], version: u32, fields: &[(usize, &[u8])]) -> Program {
    let mut bytes = [0; SIZE];
    bytes[..name.len()].copy_from_slice(name);
    bytes[16..20].copy_from_slice(&version.to_ne_bytes());
    for (at, value) in fields {
        bytes[*at..at + value.len()].copy_from_slice(value);
    }
    let mut program = Program::default();
    program.0.insert(AT, bytes.to_vec());
    program
}

/// Name, mode, ring and flags of a registration with these words in `nr_ringid` and `nr_flags`.
fn register(ringid: u16, flags: u32) -> (String, u32, u16, u64) {
    let asked = program(b"eth0", 14, &[(40, &ringid.to_ne_bytes()), (52, &flags.to_ne_bytes())]);
    let Legacy { kind, name, body, .. } = Legacy::copy_in(&asked, AT, Call::Register).unwrap();
    assert_eq!(kind, Kind::Register);
    let mode = u32::from_ne_bytes(body[36..40].try_into().unwrap());
    let ring = u16::from_ne_bytes(body[34..36].try_into().unwrap());
    (String::from_utf8(name).unwrap(), mode, ring, u64::from_ne_bytes(body[48..56].try_into().unwrap()))
}

#[test]
fn the_mode_is_in_the_flags_or_in_the_number_of_the_ring() {
    let eth0 = "eth0".to_owned();
    let both = flag::NO_TX_POLL | flag::DO_RX_POLL;
    for (ringid, flags, expected) in [
        (0, 0, (eth0.clone(), 1, 0, 0)),
        (0x4003, 0, (eth0.clone(), 4, 3, 0)),
        (0x2000, 0, (eth0.clone(), 2, 0, 0)),
        (0x9000, 0, (eth0.clone(), 1, 0, both)),
        (0x4003, 3, (eth0.clone(), 3, 3, 0)),
        (1, 8 | 0x800, (eth0.clone(), 8, 1, flag::EXCLUSIVE)),
        (7, 5, ("eth0{7".into(), 1, 0, 0)),
        (4095, 6 | 0x2000, ("eth0}4095".into(), 1, 0, flag::RX_RINGS_ONLY)),
    ] {
        assert_eq!(register(ringid, flags), expected, "{ringid:#x} {flags:#x}");
    }
    let asked = program(b"eth0", 14, &[(52, &9u32.to_ne_bytes())]);
    assert_eq!(Legacy::copy_in(&asked, AT, Call::Register).unwrap_err(), EINVAL, "there is no mode 9");
}

#[test]
fn all_versions_from_14_are_accepted() {
    for (version, ok) in
        [(0, false), (11, false), (13, false), (14, true), (15, true), (16, true), (u32::MAX, true)]
    {
        let asked = Legacy::copy_in(&program(b"eth0", version, &[]), AT, Call::Register);
        assert_eq!(asked.map(|_| ()), if ok { Ok(()) } else { Err(EINVAL) }, "{version}");
    }
    assert_eq!(Legacy::copy_in(&Program::default(), AT, Call::Register).unwrap_err(), EFAULT);
}

#[test]
fn commands_are_the_newer_requests() {
    let kinds = [
        (0, Ok(Kind::Register)),
        (1, Ok(Kind::ValeAttach)),
        (2, Ok(Kind::ValeDetach)),
        (3, Err(EINVAL)),
        (4, Ok(Kind::ValeList)),
        (5, Ok(Kind::PortHdrSet)),
        (6, Ok(Kind::ValeNewif)),
        (7, Ok(Kind::ValeDelif)),
        (8, Err(EOPNOTSUPP)),
        (9, Err(EOPNOTSUPP)),
        (10, Ok(Kind::ValePollingEnable)),
        (11, Ok(Kind::ValePollingDisable)),
        (12, Ok(Kind::PortHdrGet)),
        (13, Err(EINVAL)),
    ];
    for (command, expected) in kinds {
        let asked = Legacy::copy_in(&program(b"vale0:eth0", 14, &[(42, &[command, 0])]), AT, Call::Register);
        if let Ok(asked) = &asked {
            assert_eq!(asked.body.len(), asked.kind.body_size());
            assert_eq!(asked.name, b"vale0:eth0");
        }
        assert_eq!(asked.map(|asked| asked.kind), expected, "{command}");
    }
    // The host's rings go with an interface when the program says so.
    for (arg, mode) in [(0, 1), (1, 3)] {
        let asked = Legacy::copy_in(
            &program(b"vale0:eth0", 14, &[(42, &[1, 0]), (44, &[arg, 0])]),
            AT,
            Call::Register,
        )
        .unwrap();
        assert_eq!(asked.body[36..40], [mode, 0, 0, 0]);
    }
}

#[test]
fn a_question_binds_nothing() {
    let mut asking = program(b"eth0", 14, &[(46, &[1, 0])]);
    let mut asked = Legacy::copy_in(&asking, AT, Call::Info).unwrap();
    assert_eq!((asked.kind, asked.body.len(), asked.body[24]), (Kind::PortInfoGet, 32, 1));
    asked.body[..20].copy_from_slice(&[1, 2, 3, 4, 9, 9, 9, 9, 10, 0, 0, 0, 11, 0, 0, 0, 12, 0, 13, 0]);
    asked.body[24] = 2;
    asked.finish(&mut asking, Ok(())).unwrap();
    let bytes = &asking.0[&AT];
    assert_eq!(bytes[24..40], [1, 2, 3, 4, 10, 0, 0, 0, 11, 0, 0, 0, 12, 0, 13, 0]);
    assert_eq!(bytes[46], 2);
    let asked = Legacy::copy_in(&program(b"vale0", 14, &[(42, &[4, 0])]), AT, Call::Info).unwrap();
    assert_eq!(asked.kind, Kind::ValeList);
}

#[test]
fn the_answer_of_a_registration_goes_back() {
    let fields: [(usize, &[u8]); 4] =
        [(28, &[0, 4, 0, 0]), (36, &[2, 0]), (46, &[3, 0]), (48, &[100, 0, 0, 0])];
    let mut asking = program(b"eth0", 16, &fields);
    let mut asked = Legacy::copy_in(&asking, AT, Call::Register).unwrap();
    assert_eq!(
        (&asked.body[16..20], asked.body[24], asked.body[32], asked.body[40]),
        (&[0, 4, 0, 0][..], 2, 3, 100)
    );
    asked.body[..16].copy_from_slice(&[1, 2, 3, 4, 9, 9, 9, 9, 5, 6, 7, 8, 9, 9, 9, 9]);
    asked.body[16..28].copy_from_slice(&[10, 0, 0, 0, 11, 0, 0, 0, 12, 0, 13, 0]);
    asked.body[32] = 14;
    asked.body[40] = 15;
    asked.finish(&mut asking, Ok(())).unwrap();
    let bytes = &asking.0[&AT];
    assert_eq!(bytes[16..20], [14, 0, 0, 0], "the version of the system");
    assert_eq!(bytes[20..40], [1, 2, 3, 4, 5, 6, 7, 8, 10, 0, 0, 0, 11, 0, 0, 0, 12, 0, 13, 0]);
    assert_eq!((bytes[46], bytes[48]), (14, 15));

    let before = program(b"eth0", 16, &fields);
    let mut asking = program(b"eth0", 16, &fields);
    let asked = Legacy::copy_in(&asking, AT, Call::Register).unwrap();
    assert_eq!(asked.finish(&mut asking, Err(Errno(libc::EBUSY))), Err(Errno(libc::EBUSY)));
    assert_eq!(asking.0, before.0, "a request that failed changes nothing");
}

proptest! {
    #[test]
    fn any_bytes_give_an_answer(bytes in proptest::collection::vec(any::<u8>(), SIZE), version in 13u32..17, command in 0u8..14) {
        let mut program = Program::default();
        program.0.insert(AT, bytes);
        program.write(AT + 16, &version.to_ne_bytes()).unwrap();
        program.write(AT + 42, &[command, 0]).unwrap();
        if let Ok(asked) = Legacy::copy_in(&program, AT, Call::Register) {
            prop_assert!(!asked.name.contains(&0) && asked.body.len() == asked.kind.body_size());
            asked.finish(&mut program, Ok(())).unwrap();
        }
    }
}

#[test]
fn a_list_answers_with_a_name() {
    let mut asked =
        program(b"", 14, &[(42, &4u16.to_ne_bytes()), (44, &1u16.to_ne_bytes()), (46, &2u16.to_ne_bytes())]);
    let mut list = Legacy::copy_in(&asked, AT, Call::Info).unwrap();
    assert_eq!((list.kind, list.body.as_slice()), (Kind::ValeList, &[1, 0, 0, 0, 2, 0, 0, 0][..]));
    list.name = b"vale0:a-long-name".to_vec();
    list.finish(&mut asked, Ok(())).unwrap();
    assert_eq!(asked.0[&AT][..16], *b"vale0:a-long-na\0");
    // The number of a pipe stands in the newer name alone.
    let mut asked = program(b"eth0", 14, &[(40, &7u16.to_ne_bytes()), (52, &5u32.to_ne_bytes())]);
    let bind = Legacy::copy_in(&asked, AT, Call::Register).unwrap();
    bind.finish(&mut asked, Ok(())).unwrap();
    assert_eq!(asked.0[&AT][..6], *b"eth0\0\0");
}

#[test]
fn a_new_port_answers_with_what_it_has() {
    let mut asked = program(b"ve0", 14, &[(42, &6u16.to_ne_bytes())]);
    let mut made = Legacy::copy_in(&asked, AT, Call::Register).unwrap();
    assert_eq!(made.kind, Kind::ValeNewif);
    made.body = (1..=16).collect();
    made.finish(&mut asked, Ok(())).unwrap();
    let bytes = &asked.0[&AT];
    assert_eq!((&bytes[28..40], &bytes[46..48]), (&(1..=12).collect::<Vec<u8>>()[..], &[13, 14][..]));
}
