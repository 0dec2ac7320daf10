//! Questions to the process of a router, and how they come over its socket: as lines of JSON, in any pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringway_fuzz::Input;
use ringway_router::follow::Request;
use ringway_router::fuzz::asked;

/// Longest question in bytes, as the protocol has it.
const LINE: usize = 4096;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = serde_json::from_slice::<Request>(bytes) {
        let line = serde_json::to_vec(&request).expect("a question can be written");
        assert!(!line.contains(&b'\n'));
        let again: Request = serde_json::from_slice(&line).expect("and read");
        assert_eq!(again, request);
    }
    let mut input = Input::new(bytes);
    let mut pieces = Vec::new();
    while !input.is_empty() {
        pieces.push(if input.u8() & 1 == 0 { input.short() } else { input.long() });
    }
    let Ok((lines, goes_on)) = asked(&pieces) else { return };
    let all = pieces.concat();
    let expected: Vec<_> =
        all.split_inclusive(|b| *b == b'\n').filter(|line| line.ends_with(b"\n")).collect();
    assert!(lines.iter().zip(&expected).all(|(found, line)| found == line));
    assert!(lines.iter().all(|line| line.len() <= 2 * LINE + 1), "a line is bounded");
    if goes_on {
        assert_eq!(lines.len(), expected.len());
    } else {
        assert!(all.split(|b| *b == b'\n').any(|line| line.len() > LINE), "only long lines end it");
    }
});
