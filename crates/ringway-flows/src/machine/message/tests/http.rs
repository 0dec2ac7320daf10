//! Messages of HTTP, right and wrong.

use super::super::http::{Http, HttpRules};
use super::super::parse::Feed;
use super::super::{MatchState, Scratch, Verdict};
use super::parse;
use crate::code::Method;

/// Bytes behind the message, and of its body.
fn read(rules: HttpRules, text: &str, last: bool) -> Option<(&str, u64)> {
    parse::<_, Http>(&rules, text.as_bytes(), last).map(|(used, found)| (&text[used..], found[0]))
}

fn get(text: &str) -> Option<(&str, u64)> {
    read(HttpRules::request(Method::Get), text, false)
}

fn ok(text: &str) -> Option<(&str, u64)> {
    read(HttpRules::response(200, false), text, false)
}

#[test]
fn requests() {
    assert_eq!(
        get("GET /p/1?q=a%20b HTTP/1.1\r\nHost: 198.19.0.1\r\nAccept: */*\r\n\r\nGET"),
        Some(("GET", 0))
    );
    assert_eq!(get("GET / HTTP/1.0\r\n\r\n"), Some(("", 0)));
    let post = |text: &'static str| read(HttpRules::request(Method::Post), text, false);
    assert_eq!(
        post("POST /x HTTP/1.1\r\nhOST:a\r\nCONTENT-length:  5\t\r\n\r\nhelloPOST"),
        Some(("POST", 5))
    );
    assert_eq!(
        post("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
        Some(("", 2))
    );
    for (method, name) in [(Method::Head, "HEAD"), (Method::Put, "PUT")] {
        assert!(
            parse::<_, Http>(
                &HttpRules::request(method),
                format!("{name} / HTTP/1.0\r\n\r\n").as_bytes(),
                false
            )
            .is_some()
        );
    }
}

#[test]
fn requests_that_are_none() {
    for bad in [
        "POST / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET  HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.10\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET / HTTP/1.1\r\n: a\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nnothing\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\rb\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX\rY: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
        "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "\r\n",
        "GET\r\n",
    ] {
        assert_eq!(get(bad), None, "{bad}");
    }
}

#[test]
fn responses() {
    assert_eq!(ok("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!"), Some(("!", 5)));
    assert_eq!(ok("HTTP/1.0 200\r\nContent-Length: 0\r\n\r\n"), Some(("", 0)));
    assert_eq!(ok("HTTP/1.1 200 \r\nX:\r\nContent-Length: 1\r\n\r\nab"), Some(("b", 1)));
    let empty = |status, head, text| read(HttpRules::response(status, head), text, false);
    assert_eq!(empty(200, true, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nx"), Some(("x", 0)));
    assert_eq!(empty(304, false, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nx"), Some(("x", 0)));
    assert_eq!(empty(100, false, "HTTP/1.1 100 Continue\r\n\r\nx"), Some(("x", 0)));
    for bad in [
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 20\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.2 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/0.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
    ] {
        assert_eq!(ok(bad), None, "{bad}");
    }
}

#[test]
fn a_response_without_a_length_ends_with_its_connection() {
    let text = "HTTP/1.0 200 OK\r\nServer: x\r\n\r\nall of it";
    assert_eq!(ok(text), None);
    assert_eq!(read(HttpRules::response(200, false), text, true), Some(("", 9)));
    let short = "HTTP/1.0 200 OK\r\nContent-Length: 10\r\n\r\nall of it";
    assert_eq!(read(HttpRules::response(200, false), short, true), None);
}

#[test]
fn chunks() {
    let body = |text: &str| {
        let all = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{text}");
        ok(&all).map(|(rest, body)| (rest.to_owned(), body))
    };
    let done = |rest: &str, body| Some((rest.to_owned(), body));
    assert_eq!(body("5\r\nhello\r\n00A;x=\"y\"\r\n0123456789\r\n0\r\n\r\nrest"), done("rest", 15));
    assert_eq!(body("1 \t;a\r\nx\r\n0 \r\nExpires: never\r\nContent-Length: 7\r\n\r\n"), done("", 1));
    for bad in [
        "\r\n\r\n",
        "g\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5 5\r\nhello\r\n0\r\n\r\n",
        ";a\r\n",
        "0x5\r\nhello\r\n",
        "10000000000000000\r\n",
        "0\r\nbad\r\n\r\n",
        "0\r\n a: b\r\n\r\n",
        "-1\r\n",
        "1;\0\r\nx\r\n0\r\n\r\n",
        "1\r\nx\r\n0\r\n",
    ] {
        assert_eq!(body(bad), None, "{bad}");
    }
}

#[test]
fn a_head_has_a_limit() {
    let head = |len: usize| {
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(len - 32));
        assert_eq!(text.len(), len);
        get(&text).is_some()
    };
    assert!(head(8_192) && !head(8_193));
}

#[test]
fn each_part_has_its_own_limit() {
    let fill = |before: &str, after: &str| {
        before.to_owned() + &"x".repeat(8_192 - before.len() - after.len()) + after
    };
    let head = fill("HTTP/1.1 200 OK\r\nX: ", "\r\nTransfer-Encoding: chunked\r\n\r\n");
    let extended = fill("1;", "\r\n") + "x\r\n";
    let chunks = "1\r\nx\r\n".repeat(2_000);
    let trailers = fill("X: ", "\r\n\r\n");
    let text = [&head, &extended, &extended, &*chunks, "0\r\n", &trailers].concat();
    assert_eq!(ok(&text), Some(("", 2_002)));
    assert_eq!(ok(&[&head, "1;x", &extended[2..], "0\r\n\r\n"].concat()), None);
    assert_eq!(ok(&[&head, "0\r\nXX: ", &trailers[3..]].concat()), None);
}

#[test]
fn a_mismatch_is_at_the_first_byte_that_can_not_follow() {
    let used = |text: &str| {
        let (state, scratch) = (&mut MatchState::default(), &mut Scratch::default());
        let feed = Feed { state, scratch, bytes: text.as_bytes(), last: false };
        let (step, _) = feed.run::<Http, _>(&HttpRules::request(Method::Get));
        (step.used, step.verdict == Verdict::Mismatch)
    };
    assert_eq!(used("GET / HTTP/1.0x\r\n"), (14, true));
    assert_eq!(used("GET / HTTP/1.1\r\nHost: a\r\nX: \0"), (28, true));
    assert_eq!(used("GETS"), (3, true));
}
