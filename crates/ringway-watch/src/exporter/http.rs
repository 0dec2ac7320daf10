//! As much of HTTP/1.1 (RFC 9112) as a few documents need: strict, without state, and no answer keeps a connection open.

use super::asked::Asked;
use super::door::{Client, Door, Entry};

/// Bytes of a request up to its empty line, at most.
pub(super) const MAX_REQUEST: usize = 8192;

/// The page has all that it needs in itself.
const PAGE: &str = include_str!("page.html");
/// It asks this server alone.
const ASKS_HERE: &str = "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
     connect-src 'self'; img-src data:; frame-ancestors 'none'\r\n";

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The page for people.
    Page,
    /// A document.
    Found(Asked),
    /// 400: not a request.
    Malformed,
    /// 401: without the token.
    Unauthorized,
    /// 404: there is no such document.
    NotFound,
    /// 405: something else than GET.
    NotGet,
    /// 421: by a name that is not the server's.
    Misdirected,
    /// 431: longer than [`MAX_REQUEST`].
    TooLong,
    /// 505: neither HTTP/1.0 nor HTTP/1.1.
    Version,
}

/// What to answer to the bytes received so far; `None` while the request is not whole. Of `bytes`, the first `seen` were
/// looked at before. `door` says whom to answer.
pub(super) fn answer(bytes: &[u8], seen: usize, door: &Door) -> Option<Answer> {
    let from = seen.saturating_sub(3);
    let end = bytes[from..].windows(4).position(|w| w == b"\r\n\r\n").map(|at| from + at);
    match end {
        Some(end) if end + 4 <= MAX_REQUEST => Some(parse(&bytes[..end], door)),
        _ if bytes.len() >= MAX_REQUEST => Some(Answer::TooLong),
        _ if lone_newline(bytes, seen) => Some(Answer::Malformed),
        _ => None,
    }
}

/// Whether a line ends without a carriage return: such a request would never be whole.
fn lone_newline(bytes: &[u8], seen: usize) -> bool {
    (seen..bytes.len()).any(|at| bytes[at] == b'\n' && (at == 0 || bytes[at - 1] != b'\r'))
}

/// The request line and the headers, without the empty line.
fn parse(head: &[u8], door: &Door) -> Answer {
    let Ok(head) = str::from_utf8(head) else { return Answer::Malformed };
    let mut lines = head.split("\r\n");
    // Also a lone carriage return or newline.
    if lines.clone().any(|line| line.contains(|c: char| c.is_control() && c != '\t')) {
        return Answer::Malformed;
    }
    let request: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let &[method, target, version] = &request[..] else { return Answer::Malformed };
    let Some(number) = version.strip_prefix("HTTP/") else { return Answer::Malformed };
    if !token(method) || target.is_empty() {
        return Answer::Malformed;
    }
    let Some(client) = client(lines) else { return Answer::Malformed };
    match (number, client.hosts.len()) {
        ("1.1", 1) | ("1.0", 0 | 1) => admit(method, target, &client, door),
        ("1.0" | "1.1", _) => Answer::Malformed,
        _ => Answer::Version,
    }
}

/// What the headers say; `None` for lines that are no headers.
fn client<'a>(lines: impl Iterator<Item = &'a str>) -> Option<Client<'a>> {
    let mut client = Client::default();
    for line in lines {
        let (name, value) = line.split_once(':').filter(|(name, _)| token(name))?;
        let value = value.trim_matches([' ', '\t']);
        if name.eq_ignore_ascii_case("host") {
            client.hosts.push(value);
        } else if name.eq_ignore_ascii_case("authorization") {
            client.authorizations.push(value);
        }
    }
    Some(client)
}

/// A token of RFC 9110, section 5.6.2.
fn token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Looks at the client before anything else: strangers learn not even which paths there are.
fn admit(method: &str, target: &str, client: &Client<'_>, door: &Door) -> Answer {
    // What is asked of a proxy names the host too.
    let (authority, path) = match target.strip_prefix("http://") {
        Some(rest) => match rest.find('/') {
            Some(at) => (Some(&rest[..at]), &rest[at..]),
            None => (Some(rest), "/"),
        },
        None => (None, target),
    };
    match door.entry(client, authority) {
        Entry::Open => route(method, path),
        Entry::NoToken => Answer::Unauthorized,
        Entry::OtherName => Answer::Misdirected,
    }
}

fn route(method: &str, path: &str) -> Answer {
    let path = path.split('?').next().unwrap_or_default();
    if method != "GET" {
        return Answer::NotGet;
    }
    if path == "/" {
        return Answer::Page;
    }
    Asked::ALL.into_iter().find(|asked| asked.path() == path).map_or(Answer::NotFound, Answer::Found)
}

/// The answer as it is sent. `document` writes one when it is needed.
pub(super) fn write(answer: Answer, document: impl FnOnce(Asked) -> String) -> Vec<u8> {
    let (status, more, body) = match answer {
        Answer::Page => return respond("200 OK", "text/html; charset=utf-8", ASKS_HERE, PAGE),
        Answer::Found(asked) => return respond("200 OK", asked.content(), "", &document(asked)),
        Answer::Malformed => ("400 Bad Request", "", "not a request\n"),
        Answer::Unauthorized => (
            "401 Unauthorized",
            "WWW-Authenticate: Bearer realm=\"ringway\"\r\n",
            "only clients with the token are answered: Authorization: Bearer TOKEN\n",
        ),
        Answer::NotFound => ("404 Not Found", "", "/, /metrics, /state.json and /history.json are here\n"),
        Answer::NotGet => ("405 Method Not Allowed", "Allow: GET\r\n", "only GET is answered\n"),
        Answer::Misdirected => (
            "421 Misdirected Request",
            "",
            "the exporter does not have the name in the header Host; --host NAME gives it one\n",
        ),
        Answer::TooLong => ("431 Request Header Fields Too Large", "", "8192 bytes are the limit\n"),
        Answer::Version => ("505 HTTP Version Not Supported", "", "only HTTP/1.0 and HTTP/1.1 are spoken\n"),
    };
    respond(status, "text/plain; charset=utf-8", more, body)
}

fn respond(status: &str, content: &str, more: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
         {more}Connection: close\r\n\r\n"
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::exporter::door::Token;

    const METRICS: Answer = Answer::Found(Asked::Metrics);

    fn door() -> Door {
        Door::Names(["x", "h"].map(Into::into).into())
    }

    fn whole(request: &str) -> Option<Answer> {
        answer(request.as_bytes(), 0, &door())
    }

    #[test]
    fn requests_get_the_answer_that_fits() {
        for (request, expected) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", Some(METRICS)),
            ("GET /metrics HTTP/1.0\r\n\r\n", Some(METRICS)),
            ("GET /metrics?x=1 HTTP/1.1\r\nhOST:x\r\nAccept: a, b;q=0.5\r\nX:\r\n\r\nbody", Some(METRICS)),
            ("GET http://h:9/metrics HTTP/1.1\r\nHost: h:9\r\n\r\n", Some(METRICS)),
            ("GET http://h HTTP/1.1\r\nHost: h\r\n\r\n", Some(Answer::Page)),
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", Some(Answer::Page)),
            ("GET /state.json?1 HTTP/1.1\r\nHost: x\r\n\r\n", Some(Answer::Found(Asked::State))),
            ("GET /history.json HTTP/1.1\r\nHost: x\r\n\r\n", Some(Answer::Found(Asked::History))),
            ("GET /metrics/ HTTP/1.1\r\nHost: x\r\n\r\n", Some(Answer::NotFound)),
            ("GET /METRICS HTTP/1.1\r\nHost: x\r\n\r\n", Some(Answer::NotFound)),
            ("GET /../metrics HTTP/1.1\r\nHost: x\r\n\r\n", Some(Answer::NotFound)),
            ("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", Some(Answer::NotGet)),
            ("HEAD /metrics HTTP/1.0\r\n\r\n", Some(Answer::NotGet)),
            ("get /metrics HTTP/1.0\r\n\r\n", Some(Answer::NotGet)),
            ("GET /metrics HTTP/2.0\r\nHost: x\r\n\r\n", Some(Answer::Version)),
            ("GET /metrics HTTP/1.1\r\n\r\n", Some(Answer::Malformed)),
            ("GET /metrics HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Some(Answer::Malformed)),
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", Some(Answer::Malformed)),
            ("GET /metrics HTTP/1.1\r\nHost : x\r\n\r\n", Some(Answer::Malformed)),
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n: none\r\n\r\n", Some(Answer::Malformed)),
            ("GET /metrics HTTP/1.1\r\nHost: x\ry\r\n\r\n", Some(Answer::Malformed)),
            ("GET /metrics HTTP/1.1\r\nHost: x\0\r\n\r\n", Some(Answer::Malformed)),
            ("GET /metrics\n HTTP/1.0\r\n\r\n", Some(Answer::Malformed)),
            ("GET  /metrics HTTP/1.1\r\nHost: x\r\n\r\n", Some(Answer::Malformed)),
            ("GET /metrics\r\n\r\n", Some(Answer::Malformed)),
            ("G(T /metrics HTTP/1.0\r\n\r\n", Some(Answer::Malformed)),
            ("\r\n\r\n", Some(Answer::Malformed)),
            ("GET /metrics HTTP/1.0\n\n", Some(Answer::Malformed)),
            ("\u{16}\u{3}\u{1}\u{2}\r\n\r\n", Some(Answer::Malformed)),
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n", None),
            ("GET /metrics HTTP/1.0\r\n\r", None),
            ("", None),
        ] {
            assert_eq!(whole(request), expected, "{request:?}");
        }
    }

    #[test]
    fn strangers_learn_nothing() {
        let token = Token::new("0123456789abcdef").unwrap();
        let (door, right) = (Door::Token(token), "Authorization: Bearer 0123456789abcdef\r\n");
        let ask = |line: &str, headers: &str| {
            answer(format!("{line} HTTP/1.1\r\nHost: x\r\n{headers}\r\n").as_bytes(), 0, &door)
        };
        for (line, expected) in [
            ("GET /metrics", METRICS),
            ("GET /", Answer::Page),
            ("GET /none", Answer::NotFound),
            ("POST /metrics", Answer::NotGet),
            ("GET http://evil.example/metrics", METRICS),
        ] {
            assert_eq!(ask(line, right), Some(expected), "{line}");
            assert_eq!(ask(line, &right.to_lowercase()), Some(expected), "{line}");
            for wrong in ["", "X: Bearer 0123456789abcdef\r\n", &right.replace('f', "e"), &right.repeat(2)] {
                assert_eq!(ask(line, wrong), Some(Answer::Unauthorized), "{line} {wrong}");
            }
        }
        for request in [
            "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            "GET /none HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            "POST / HTTP/1.0\r\nHost: evil.example\r\n\r\n",
            "GET http://evil.example/metrics HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET http://x@evil.example HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET /metrics HTTP/1.1\r\nHost: x evil.example\r\n\r\n",
        ] {
            assert_eq!(whole(request), Some(Answer::Misdirected), "{request:?}");
        }
    }

    #[test]
    fn requests_are_short() {
        let of = |len: usize| {
            let (start, end) = ("GET /metrics HTTP/1.0\r\nX: ", "\r\n\r\n");
            format!("{start}{}{end}", "x".repeat(len - start.len() - end.len()))
        };
        assert_eq!(whole(&of(MAX_REQUEST)), Some(METRICS));
        assert_eq!(whole(&of(MAX_REQUEST + 1)), Some(Answer::TooLong));
        assert_eq!(whole(&"x".repeat(MAX_REQUEST)), Some(Answer::TooLong));
        assert_eq!(whole(&"x".repeat(MAX_REQUEST - 1)), None);
    }

    #[test]
    fn answers_say_how_long_they_are() {
        let text = |answer| String::from_utf8(write(answer, |_| "# EOF\n".into())).unwrap();
        let page = "HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n\
                    Content-Length: 6\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n# EOF\n";
        assert_eq!(text(METRICS), page);
        assert!(text(Answer::NotGet).contains("\r\nAllow: GET\r\n"));
        assert!(text(Answer::Unauthorized).contains("\r\nWWW-Authenticate: Bearer realm=\"ringway\"\r\n"));
        let refusals =
            [Answer::Malformed, Answer::NotFound, Answer::NotGet, Answer::TooLong, Answer::Version];
        for answer in refusals.into_iter().chain([Answer::Unauthorized, Answer::Misdirected]) {
            let text = text(answer);
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
        }
    }

    proptest! {
        /// However a request is cut into pieces, the answer is that to the whole, as soon as it can be known.
        #[test]
        fn pieces_change_nothing(bytes in "(GET /metrics HTTP/1.[01]|[a-z ]{0,9})\r?\n([a-zA-Z: ]{0,9}\r?\n){0,5}\r\n.{0,5}",
                                 cuts in prop::collection::vec(0usize..90, 0..6)) {
            let bytes = bytes.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.push(bytes.len());
            cuts.sort_unstable();
            let (mut seen, mut found) = (0, None);
            for cut in cuts {
                found = answer(&bytes[..cut], seen, &door());
                prop_assert_eq!(found, answer(&bytes[..cut], 0, &door()), "{} {}", seen, cut);
                if found.is_some() {
                    break;
                }
                seen = cut;
            }
            prop_assert!(found.is_some(), "all these requests are whole");
        }

        #[test]
        fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..200), seen in 0usize..200) {
            let _ = answer(&bytes, seen.min(bytes.len()), &door());
        }
    }
}
