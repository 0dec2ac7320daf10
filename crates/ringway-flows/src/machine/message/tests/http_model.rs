//! HTTP against a reader that has the whole message, splits it into lines, and looks at each with the standard library.

use proptest::prelude::*;

use super::super::http::{Http, HttpRules};
use super::super::start::First;
use super::parse;
use crate::code::{MAX_HEAD, Method};

/// Lines up to the empty one, and what is behind it. `None` if they are too long, not complete or malformed.
fn lines(bytes: &[u8]) -> Option<(Vec<&[u8]>, &[u8])> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    let (line, rest) = (&bytes[..end], &bytes[end + 2..]);
    if line.iter().any(|byte| b"\r\n".contains(byte)) {
        return None;
    }
    if line.is_empty() {
        return Some((Vec::new(), rest));
    }
    let (mut all, rest) = lines(rest)?;
    all.insert(0, line);
    Some((all, rest))
}

/// Headers with names in lower case, and values without spaces around them.
fn headers<'a>(lines: &[&'a [u8]]) -> Option<Vec<(String, &'a [u8])>> {
    let header = |line: &&'a [u8]| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let (name, value) = (str::from_utf8(&line[..colon]).ok()?, line[colon + 1..].trim_ascii());
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let text = line[colon + 1..].iter().all(|&byte| byte == b'\t' || (byte >= 32 && byte != 127));
        (!name.is_empty() && name.chars().all(token) && text).then(|| (name.to_ascii_lowercase(), value))
    };
    lines.iter().map(header).collect()
}

/// The only header of this name. `Err` if there are several.
fn only<'a>(headers: &[(String, &'a [u8])], name: &str) -> Result<Option<&'a [u8]>, ()> {
    let mut found = headers.iter().filter(|(other, _)| other == name).map(|(_, value)| *value);
    let first = found.next();
    if found.next().is_some() { Err(()) } else { Ok(first) }
}

/// The version of a first line that fits.
fn first_line(rules: &HttpRules, line: &[u8]) -> Option<String> {
    let line: String = line.iter().map(|&byte| char::from(byte)).collect();
    let version = match rules.first {
        First::Request(method) => {
            let (name, rest) = line.split_once(' ')?;
            let (target, version) = rest.split_once(' ')?;
            let graphic = !target.is_empty() && target.chars().all(|c| c.is_ascii_graphic());
            (name.as_bytes() == method && graphic).then_some(version)
        }
        First::Response(status) => {
            let (version, rest) = line.split_once(' ')?;
            let (number, reason) = rest.split_once(' ').unwrap_or((rest, ""));
            let text = reason.chars().all(|c| c == '\t' || (c >= ' ' && c != '\x7f'));
            (number == status.to_string() && text).then_some(version)
        }
    }?;
    ["HTTP/1.0", "HTTP/1.1"].contains(&version).then(|| version.to_owned())
}

/// Bytes of the chunks, and what is behind them.
fn chunks(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    let line = &bytes[..end];
    if end + 2 > MAX_HEAD as usize || line.iter().any(|&byte| byte == 127 || (byte < 32 && byte != b'\t')) {
        return None;
    }
    let size = line.split(|&byte| byte == b';').next()?;
    let size = str::from_utf8(size).ok()?.trim_end_matches([' ', '\t']);
    let size = size.chars().all(|c| c.is_ascii_hexdigit()).then(|| u64::from_str_radix(size, 16).ok())??;
    let rest = &bytes[end + 2..];
    if size == 0 {
        let (trailers, behind) = lines(rest)?;
        headers(&trailers)?;
        return (rest.len() - behind.len() <= MAX_HEAD as usize).then_some((0, behind));
    }
    let rest = rest.get(usize::try_from(size).ok()?..)?.strip_prefix(b"\r\n")?;
    let (more, rest) = chunks(rest)?;
    Some((size + more, rest))
}

/// How many bytes the message has, and how many its body, if it is complete and right.
fn slow(rules: &HttpRules, bytes: &[u8], last: bool) -> Option<(usize, [u64; 2])> {
    let (all, rest) = lines(bytes)?;
    let (first, others) = all.split_first()?;
    let version = first_line(rules, first)?;
    let headers = headers(others)?;
    let length = only(&headers, "content-length").ok()?;
    let encoding = only(&headers, "transfer-encoding").ok()?;
    let host = only(&headers, "host").ok()?;
    if bytes.len() - rest.len() > MAX_HEAD as usize {
        return None;
    }
    let number = |text: &[u8]| {
        let digits = text.iter().all(u8::is_ascii_digit);
        digits.then(|| str::from_utf8(text).ok()?.parse().ok())?
    };
    let length: Option<u64> = length.map(|text| number(text).ok_or(())).transpose().ok()?;
    if encoding
        .is_some_and(|e| !e.eq_ignore_ascii_case(b"chunked") || version == "HTTP/1.0" || length.is_some())
    {
        return None;
    }
    let request = matches!(rules.first, First::Request(_));
    if request && version == "HTTP/1.1" && host.is_none() {
        return None;
    }
    let empty = match rules.first {
        First::Request(_) => length.is_none() && encoding.is_none(),
        First::Response(status) => rules.head || [100, 204, 304].contains(&status),
    };
    let (body, rest) = match (length, encoding) {
        _ if empty => (0, rest),
        (Some(length), _) => (length, rest.get(usize::try_from(length).ok()?..)?),
        (None, Some(_)) => chunks(rest)?,
        (None, None) => (rest.len() as u64, last.then_some(&rest[rest.len()..])?),
    };
    Some((bytes.len() - rest.len(), [body, 0]))
}

fn rules() -> impl Strategy<Value = HttpRules> {
    let method = prop::sample::select(vec![Method::Get, Method::Head, Method::Post, Method::Put]);
    let status = prop::sample::select(vec![100, 200, 204, 304, 404]);
    prop_oneof![
        method.prop_map(HttpRules::request),
        (status, any::<bool>()).prop_map(|(status, head)| HttpRules::response(status, head)),
    ]
}

/// One of these texts, the first ones more often.
fn one(texts: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop_oneof![3 => Just(texts[0]), 1 => prop::sample::select(texts)]
}

fn first(rules: HttpRules) -> impl Strategy<Value = String> {
    let version = || one(&["HTTP/1.1", "HTTP/1.0", "HTTP/1.2", "http/1.1", "HTTP/1.", "HTTP/1.11", ""]);
    let gap = || one(&[" ", "", "  ", "\t"]);
    let request = (
        one(&["GET", "POST", "get"]),
        gap(),
        one(&["/", "/a?b=c", "*", "", "/a b", "/\u{e9}"]),
        gap(),
        version(),
    );
    let status = one(&["200", "204", "304", "100", "404", "20", "2000", "x"]);
    let response = (version(), gap(), status, one(&[" OK", "", " ", " Not Found", "OK", " a\tb", " \u{7f}"]));
    let right = match rules.first {
        First::Request(method) => format!("{} / HTTP/1.1", String::from_utf8_lossy(method)),
        First::Response(status) => format!("HTTP/1.1 {status} OK"),
    };
    prop_oneof![
        1 => request.prop_map(|(a, b, c, d, e)| [a, b, c, d, e].concat()),
        1 => response.prop_map(|(a, b, c, d)| [a, b, c, d].concat()),
        4 => Just(right),
    ]
}

fn header() -> impl Strategy<Value = String> {
    let name = one(&[
        "Host",
        "Content-Length",
        "content-LENGTH",
        "Transfer-Encoding",
        "X",
        "Content-Lengt",
        "Content-Lengths",
        " Host",
        "H ost",
        "",
        "Host ",
    ]);
    let value = one(&[
        "5",
        "0",
        "chunked",
        "Chunked ",
        "gzip",
        "",
        "a b",
        "5 5",
        "007",
        "99999999999999999999",
        "+5",
        "\t12\t",
        "\u{1}",
    ]);
    let colon = one(&[":", ": ", ":", ":\t ", ""]);
    (name, colon, value).prop_map(|(name, colon, value)| [name, colon, value].concat())
}

fn usual() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "Host: a",
        "Content-Length: 5",
        "Transfer-Encoding: chunked",
        "Accept: */*",
        "X-Y:",
    ])
    .prop_map(String::from)
}

fn body() -> impl Strategy<Value = String> {
    let chunk = (
        one(&["5", "05", "5;a=b", "5 ;c", "5 x", "", "0x5", "6"]),
        one(&["hello", "hell", "a\r\nbc"]),
        one(&["\r\n", "\n", ""]),
    );
    let chunk = chunk.prop_map(|(size, data, end)| format!("{size}\r\n{data}{end}"));
    let end =
        one(&["0\r\n\r\n", "0\r\nA: b\r\n\r\n", "00;x\r\n\r\n", "0\r\n", "0\r\nbad\r\n\r\n", "0\r\n\n"]);
    let chunked = (prop::collection::vec(chunk, 0..3), end).prop_map(|(chunks, end)| chunks.concat() + end);
    prop_oneof![chunked, "[ -~]{0,12}"]
}

/// Rules, and a message that is often right.
fn message() -> impl Strategy<Value = (HttpRules, Vec<u8>)> {
    let usual = prop::collection::vec(usual(), 0..3).prop_map(|mut headers| {
        headers.dedup();
        headers
    });
    let headers = prop_oneof![3 => usual, 1 => prop::collection::vec(header(), 0..4)];
    let end = || prop_oneof![12 => Just("\r\n"), 1 => one(&["\n", "\r", "\r\r\n"])];
    let first = rules().prop_flat_map(|rules| (Just(rules), first(rules)));
    let parts = (first, end(), headers, end(), body(), "[A-Z]{0,3}");
    parts.prop_map(|((rules, first), end, headers, last, body, rest)| {
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        (rules, [&first, end, &headers, last, &body, &rest].concat().into_bytes())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn agrees_with_the_model((rules, message) in message(), last: bool, change: Option<(prop::sample::Index, u8)>) {
        let mut message = message;
        if let Some((at, byte)) = change {
            *at.get_mut(&mut message) = byte;
        }
        prop_assert_eq!(parse::<_, Http>(&rules, &message, last), slow(&rules, &message, last));
    }
}

#[test]
fn messages_of_the_model_are_often_right() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let mut right = 0;
    for _ in 0..20_000 {
        let drawn = message().new_tree(&mut runner).map(|tree| tree.current());
        right += usize::from(drawn.is_ok_and(|(rules, message)| slow(&rules, &message, true).is_some()));
    }
    assert!(right > 3_000, "{right} of 20000");
}
