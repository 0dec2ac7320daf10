//! Requests to the exporter: however one is cut into pieces, the answer is that to the whole, and it says how long it is.
#![no_main]
#![allow(dead_code, reason = "tests are left out")]

#[path = "../../crates/ringway-watch/src/exporter/asked.rs"]
mod asked;
#[path = "../../crates/ringway-watch/src/exporter/http.rs"]
mod http;

use libfuzzer_sys::fuzz_target;
use ringway_fuzz::Input;

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let step = usize::from(input.u8()) + 1;
    let request = input.rest();
    let (mut seen, mut found) = (0, None);
    while found.is_none() && seen < request.len() {
        let now = request.len().min(seen + step);
        found = http::answer(&request[..now], seen);
        assert_eq!(found, http::answer(&request[..now], 0));
        seen = now;
    }
    let Some(answer) = found else { return assert!(request.len() < http::MAX_REQUEST) };
    let sent = String::from_utf8(http::write(answer, |_| "# EOF\n".into())).expect("text");
    let (head, body) = sent.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 ") && head.contains(&format!("Content-Length: {}\r\n", body.len())));
});
