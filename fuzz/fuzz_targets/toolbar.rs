//! Messages from Wireshark's toolbar to a capture: in any pieces they are the same, and written again they are the bytes that came.
#![no_main]
#![allow(dead_code, reason = "tests are left out")]

#[path = "../../crates/ringway-cli/src/extcap/message.rs"]
mod message;

use libfuzzer_sys::fuzz_target;
use message::{MAX_PAYLOAD, Message, Parser, Payload, encode};
use ringway_fuzz::Input;

/// What is found in pieces, and whether all of it are messages.
fn found<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Message>, bool) {
    let (mut parser, mut all, mut fine) = (Parser::default(), Vec::new(), true);
    for piece in pieces {
        let fed = parser.feed(piece, |message| all.push(message));
        assert!(fine || fed.is_err(), "nothing follows what is no message");
        fine = fed.is_ok();
    }
    (all, fine)
}

/// Bytes as they are, or with long payloads, which the fuzzer does not make.
fn stream(input: &mut Input<'_>) -> Vec<u8> {
    if input.u8() & 1 == 0 {
        return input.rest().to_vec();
    }
    let mut bytes = Vec::new();
    while !input.is_empty() {
        let (kind, head) = (input.u8(), [b'T', input.u8() & 3, input.u8(), input.u8()]);
        let len = u32::from_be_bytes([0, head[1], head[2], head[3]]) as usize;
        bytes.extend(head);
        bytes.extend(input.short());
        bytes.resize(bytes.len() + if kind & 1 == 0 { len } else { 0 }, kind);
    }
    bytes
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let step = usize::from(input.u8()) + 1;
    let bytes = stream(&mut input);
    let whole = found(std::iter::once(&*bytes));
    assert_eq!(found(bytes.chunks(step)), whole);
    let mut rest = &bytes[..];
    for message in &whole.0 {
        let len = match &message.payload {
            Payload::TooLong(len) => {
                assert!(*len > MAX_PAYLOAD);
                *len
            }
            Payload::Bytes(bytes) => {
                assert!(bytes.len() <= MAX_PAYLOAD);
                if let Ok(text) = str::from_utf8(bytes) {
                    assert!(rest.starts_with(&encode(message.control, message.command, text)));
                }
                bytes.len()
            }
        };
        rest = &rest[6 + len..];
    }
    if whole.1 {
        assert!(
            rest.len() < 6 || rest.len() < 4 + u32::from_be_bytes([0, rest[1], rest[2], rest[3]]) as usize
        );
    } else {
        assert!(rest[0] != b'T' || rest[1..4] < [0, 0, 2][..]);
    }
});
