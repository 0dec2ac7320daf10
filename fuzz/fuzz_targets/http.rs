//! Requests to the exporter: however one is cut into pieces, the answer is that to the whole, and it says how long it is. Without the
//! token nobody gets a document.
#![no_main]
#![allow(dead_code, reason = "tests are left out")]

#[path = "../../crates/ringway-watch/src/exporter/asked.rs"]
mod asked;
#[path = "../../crates/ringway-watch/src/exporter/door.rs"]
mod door;
#[path = "../../crates/ringway-watch/src/exporter/http.rs"]
mod http;

use door::{Door, Token};
use http::Answer;
use libfuzzer_sys::fuzz_target;
use ringway_fuzz::Input;

const TOKEN: &str = "0123456789abcdef";

fn locked() -> Door {
    Door::Token(Token::new(TOKEN).expect("a token"))
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let choice = input.u8();
    let (step, closed) = (usize::from(choice / 2) + 1, choice % 2 == 1);
    let door = if closed { locked() } else { Door::Names(["x", "h"].map(Into::into).into()) };
    let request = input.rest();
    let (mut seen, mut found) = (0, None);
    while found.is_none() && seen < request.len() {
        let now = request.len().min(seen + step);
        found = http::answer(&request[..now], seen, &door);
        assert_eq!(found, http::answer(&request[..now], 0, &door));
        seen = now;
    }
    let Some(answer) = found else { return assert!(request.len() < http::MAX_REQUEST) };
    let has_token = request.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes());
    let opened = matches!(answer, Answer::Page | Answer::Found(_) | Answer::NotFound | Answer::NotGet);
    assert!(!closed || !opened || has_token, "a stranger was let in");
    let sent = String::from_utf8(http::write(answer, |_| "# EOF\n".into())).expect("text");
    let (head, body) = sent.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 ") && head.contains(&format!("Content-Length: {}\r\n", body.len())));
});
