//! Who gets documents: clients with a token, or clients that name the server by a name of its own.

use std::fmt;
use std::hint::black_box;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Whom the exporter answers.
#[derive(Debug, Clone)]
pub enum Door {
    /// Each client that names the server as an address, as `localhost`, or as one of these names.
    ///
    /// A web page of another site reaches a server on loopback by a name of that site, which its owner has resolve to 127.0.0.1 (DNS
    /// rebinding). The browser takes the answers for that site's own. It sends that name, which is none of these.
    Names(Vec<String>),
    /// Each client that has the token.
    Token(Token),
}

/// What the door makes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    Open,
    /// 401: not with the token.
    NoToken,
    /// 421: by a name that is not the server's.
    OtherName,
}

/// What the headers of a request say of its client.
#[derive(Debug, Default)]
pub(super) struct Client<'a> {
    /// Each header `Host`.
    pub(super) hosts: Vec<&'a str>,
    /// Each header `Authorization`.
    pub(super) authorizations: Vec<&'a str>,
}

impl Door {
    /// Whether a client is let in; `target` is the authority of a target that has one.
    pub(super) fn entry(&self, client: &Client<'_>, target: Option<&str>) -> Entry {
        match self {
            Self::Token(token) => match client.authorizations[..] {
                [one] if token.is_in(one) => Entry::Open,
                _ => Entry::NoToken,
            },
            Self::Names(names) => {
                let mut said = client.hosts.iter().copied().chain(target);
                match said.all(|authority| names_server(authority, names)) {
                    true => Entry::Open,
                    false => Entry::OtherName,
                }
            }
        }
    }
}

/// Whether `authority`, `HOST` or `HOST:PORT`, is an address, `localhost` or one of `names`.
fn names_server(authority: &str, names: &[String]) -> bool {
    if let Some(rest) = authority.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else { return false };
        return address.parse::<Ipv6Addr>().is_ok() && port.strip_prefix(':').map_or(port.is_empty(), digits);
    }
    let (name, port) = authority.split_once(':').unwrap_or((authority, ""));
    let is_name = |own: &str| own.eq_ignore_ascii_case(name);
    let own = is_name("localhost") || names.iter().any(|own| is_name(own));
    digits(port) && (own || name.parse::<Ipv4Addr>().is_ok())
}

fn digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

/// A secret that clients send as `Authorization: Bearer TOKEN` (RFC 6750).
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Characters of a token at least: a shorter one could be guessed.
    pub const SHORTEST: usize = 16;
    /// Characters at most: it has to fit into a request.
    pub const LONGEST: usize = 1024;

    /// A token, from text around which blanks and newlines do not count. `None` when it is too short, too long, or has other characters
    /// than visible ones of ASCII.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let token = text.trim();
        let good = (Self::SHORTEST..=Self::LONGEST).contains(&token.len());
        (good && token.bytes().all(|b| b.is_ascii_graphic())).then(|| Self(token.to_owned()))
    }

    /// Whether the value of a header `Authorization` has it.
    fn is_in(&self, authorization: &str) -> bool {
        let Some((scheme, given)) = authorization.split_once(' ') else { return false };
        scheme.eq_ignore_ascii_case("bearer") && same(self.0.as_bytes(), given.trim_matches(' ').as_bytes())
    }
}

/// Nobody reads it in a log.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Whether both are equal. The time tells whether the lengths differ, and else nothing: each byte is looked at, and no branch depends on
/// one. [`black_box`] keeps the compiler from leaving the loop early. This is what the crate `subtle` does for slices, with its licence
/// and its code for other types.
fn same(secret: &[u8], given: &[u8]) -> bool {
    if secret.len() != given.len() {
        return false;
    }
    let differ = secret.iter().zip(given).fold(0, |differ, (a, b)| black_box(differ | (a ^ b)));
    black_box(differ) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn with_token(values: &[&str]) -> Entry {
        let client = Client { hosts: vec!["evil.example"], authorizations: values.to_vec() };
        Door::Token(Token::new(SECRET).unwrap()).entry(&client, None)
    }

    #[test]
    fn the_whole_token_opens_and_nothing_else() {
        let bearer = |token: &str| format!("Bearer {token}");
        for good in [bearer(SECRET), format!("bEARER   {SECRET} ")] {
            assert_eq!(with_token(&[&good]), Entry::Open, "{good}");
        }
        for bad in [
            String::new(),
            SECRET.to_owned(),
            "Bearer".to_owned(),
            bearer(""),
            bearer(&SECRET[..31]),
            bearer(&format!("{SECRET}0")),
            bearer(&SECRET.replace("f0", "f1")),
            bearer(&SECRET.to_uppercase()),
            bearer(&format!("{SECRET} {SECRET}")),
            format!("Bearer\t{SECRET}"),
            format!("Basic {SECRET}"),
            format!("Bearer{SECRET}"),
        ] {
            assert_eq!(with_token(&[&bad]), Entry::NoToken, "{bad}");
        }
        assert_eq!(with_token(&[]), Entry::NoToken);
        let good = bearer(SECRET);
        assert_eq!(with_token(&[&good, &good]), Entry::NoToken, "one header, not two");
    }

    #[test]
    fn each_byte_of_a_token_counts() {
        let secret = SECRET.as_bytes();
        assert!(same(secret, secret) && same(b"", b""));
        for at in 0..secret.len() {
            for bit in 0..8 {
                let mut given = secret.to_vec();
                given[at] ^= 1 << bit;
                assert!(!same(secret, &given), "byte {at}, bit {bit}");
            }
            assert!(!same(secret, &secret[..at]) && !same(&secret[..at], secret));
        }
    }

    #[test]
    fn tokens_are_words_of_some_length() {
        assert!(Token::new(&format!(" {SECRET}\r\n")).unwrap().is_in(&format!("Bearer {SECRET}")));
        let of = |len| Token::new(&"x".repeat(len)).is_some();
        assert_eq!([15, 16, 1024, 1025].map(of), [false, true, true, false]);
        for bad in ["", "\n", "0123456789 abcdef", "0123456789abcde\u{e9}", "0123456789abcdef\nmore"] {
            assert!(Token::new(bad).is_none(), "{bad:?}");
        }
        assert!(!format!("{:?}", Token::new(SECRET)).contains("0123"));
    }

    #[test]
    fn pages_of_other_sites_have_other_names() {
        let names = ["router1".to_owned(), "r.example".to_owned()];
        for good in [
            "localhost",
            "LOCALHOST:9788",
            "127.0.0.1",
            "127.0.0.1:9788",
            "192.0.2.7:1",
            "[::1]",
            "[2001:db8::7]:9788",
            "router1:9788",
            "R.Example",
        ] {
            assert!(names_server(good, &names), "{good}");
        }
        for bad in [
            "",
            ":9788",
            "evil.example",
            "evil.example:9788",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "localhost@evil.example",
            "evil.example:localhost",
            "user@127.0.0.1",
            "127.0.0.1:9788.evil.example",
            "[::1].evil.example",
            "[::1",
            "[evil]",
            "::1",
            "127.1",
            "router1.evil.example",
        ] {
            assert!(!names_server(bad, &names), "{bad}");
        }
    }

    #[test]
    fn header_and_target_both_name_the_server() {
        let door = Door::Names(Vec::new());
        let entry = |host: Option<&'static str>, target| {
            let hosts = host.into_iter().collect();
            door.entry(&Client { hosts, authorizations: Vec::new() }, target)
        };
        assert_eq!(entry(Some("localhost"), None), Entry::Open);
        assert_eq!(entry(None, None), Entry::Open, "HTTP/1.0, which no browser speaks");
        assert_eq!(entry(Some("localhost"), Some("127.0.0.1:9788")), Entry::Open);
        for (host, target) in [
            (Some("evil.example"), None),
            (Some("evil.example"), Some("localhost")),
            (Some("localhost"), Some("evil.example")),
            (None, Some("evil.example")),
        ] {
            assert_eq!(entry(host, target), Entry::OtherName, "{host:?} {target:?}");
        }
    }
}
