//! What the connections of each story carry, beside what a decoder read from them.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;
use std::sync::LazyLock;

use ringway_flows::base::hash::PeerKey;
use ringway_flows::content::table::{Contents, LEN};
use ringway_flows::run::stories;

use crate::cases::SEED;
use crate::tshark;

/// The bytes that `random(n)` takes a part of. Purpose 5 of a seed is such contents.
static CONTENTS: LazyLock<Contents> = LazyLock::new(|| Contents::new(PeerKey::new(SEED, 5).hash([0])));

/// The streams of a capture.
pub(crate) struct Script {
    pub(crate) name: String,
    pub(crate) streams: Vec<Stream>,
}

/// What goes over a connection.
pub(crate) struct Stream {
    /// Its transport and its number, as the decoder counts: `tcp 0`.
    pub(crate) of: String,
    /// Messages, and whether the end that did not send first sends them.
    messages: Vec<(bool, Vec<Part>)>,
}

#[derive(Debug)]
enum Part {
    Bytes(Vec<u8>),
    /// So many bytes of the seed's table.
    Random(usize),
    /// So many bytes of a kind, and the name by which they are known.
    Any(fn(u8) -> bool, usize, String),
    /// A decimal number.
    Number,
    /// An address of an end, with commas instead of dots.
    Address {
        is_server: bool,
        commas: bool,
    },
}

/// The bytes that names stand for.
type Known = BTreeMap<String, Vec<u8>>;

/// All scripts, in their order.
pub(crate) fn all() -> Vec<Script> {
    let text = include_str!("scripts.txt");
    text.split("\n=== ").skip(1).map(Script::parse).collect()
}

impl Script {
    fn parse(text: &str) -> Self {
        let mut lines = text.lines().filter(|line| !line.is_empty());
        let mut script = Self { name: lines.next().unwrap().to_owned(), streams: Vec::new() };
        for line in lines {
            match line.split_at(2) {
                (way @ ("> " | "< "), message) => {
                    script.streams.last_mut().unwrap().messages.push((way == "< ", parts(message)));
                }
                _ => script.streams.push(Stream { of: line.to_owned(), messages: Vec::new() }),
            }
        }
        script
    }

    /// Compares all streams.
    pub(crate) fn check(&self, read: &[tshark::Stream]) -> Result<(), String> {
        let mut known = Known::new();
        for stream in &self.streams {
            let of = &stream.of;
            let read = read.iter().find(|read| read.of == *of).ok_or_else(|| format!("no stream {of}"))?;
            stream.check(read, &mut known).map_err(|why| format!("{of}: {why}"))?;
        }
        Ok(())
    }
}

impl Stream {
    fn check(&self, read: &tshark::Stream, known: &mut Known) -> Result<(), String> {
        // Segments of TCP are no messages; datagrams are.
        let joins = self.of.starts_with("tcp");
        let mut payloads: Vec<(bool, Vec<u8>)> = Vec::new();
        for (way, bytes) in &read.payloads {
            match payloads.last_mut() {
                Some((last, all)) if joins && last == way => all.extend(bytes),
                _ => payloads.push((*way, bytes.clone())),
            }
        }
        for (at, ((way, parts), (found_way, found))) in self.messages.iter().zip(&payloads).enumerate() {
            let mut rest = &found[..];
            let result = parts.iter().try_for_each(|part| {
                let len = part.matches(rest, &read.hosts, known)?;
                rest = &rest[len..];
                Ok::<_, String>(())
            });
            let done =
                result.and_then(|()| if rest.is_empty() { Ok(()) } else { Err("more bytes".to_owned()) });
            done.map_err(|why| format!("message {at}: {why}, in {:.300}", found.escape_ascii().to_string()))?;
            if way != found_way {
                return Err(format!("message {at} comes from the other end"));
            }
        }
        if payloads.len() != self.messages.len() {
            return Err(format!("{} messages instead of {}", payloads.len(), self.messages.len()));
        }
        Ok(())
    }
}

impl Part {
    /// How many bytes at the beginning of `bytes` are this part.
    fn matches(&self, bytes: &[u8], hosts: &[String; 2], known: &mut Known) -> Result<usize, String> {
        let begins = |with: &[u8]| match bytes.starts_with(with) {
            true => Ok(with.len()),
            false => Err(format!("no {}", with.escape_ascii())),
        };
        let first = |len: usize| bytes.get(..len).ok_or_else(|| format!("fewer than {len} bytes"));
        match self {
            Self::Bytes(all) => begins(all),
            Self::Random(len) => {
                let found = first(*len)?;
                let is_there = (0..LEN as u64).any(|at| CONTENTS.matches(at, found));
                if is_there { Ok(*len) } else { Err(format!("{len} bytes that are not in the table")) }
            }
            Self::Any(kind, len, name) => {
                let found = first(*len)?;
                if !found.iter().all(|byte| kind(*byte)) {
                    return Err("bytes of another kind".to_owned());
                }
                match known.get(name) {
                    Some(known) => begins(known),
                    None => {
                        let old =
                            if name.is_empty() { None } else { known.insert(name.clone(), found.into()) };
                        assert!(old.is_none());
                        Ok(*len)
                    }
                }
            }
            Self::Number => match bytes.iter().take_while(|byte| byte.is_ascii_digit()).count() {
                0 => Err("no number".to_owned()),
                digits => Ok(digits),
            },
            Self::Address { is_server, commas } => {
                let host = &hosts[usize::from(*is_server)];
                begins(if *commas { host.replace('.', ",") } else { host.clone() }.as_bytes())
            }
        }
    }
}

/// The parts of a message.
fn parts(message: &str) -> Vec<Part> {
    let (mut parts, mut chars) = (Vec::new(), message.chars().peekable());
    while let Some(next) = chars.peek() {
        if *next == '{' {
            let inside: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
            parts.push(in_braces(&inside));
        } else {
            parts.push(Part::Bytes(bytes(&mut chars)));
        }
    }
    parts
}

fn in_braces(inside: &str) -> Part {
    if let Some((text, len)) = inside.strip_prefix('"').and_then(|rest| rest.rsplit_once("\" ")) {
        let text = bytes(&mut text.chars().peekable());
        return Part::Bytes(text.into_iter().cycle().take(len.parse().unwrap()).collect());
    }
    let mut words = inside.split(' ');
    let (what, more, name) = (words.next().unwrap(), words.next(), words.next().unwrap_or_default());
    let len = || more.unwrap().parse().unwrap();
    let any = |kind| Part::Any(kind, len(), name.to_owned());
    match what {
        "random" => Part::Random(len()),
        "hex" => any(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')),
        "word" => any(|byte| byte.is_ascii_lowercase()),
        "bytes" => any(|_| true),
        "dec" => Part::Number,
        "client" | "client," | "server" | "server," => {
            Part::Address { is_server: what.starts_with("server"), commas: what.ends_with(',') }
        }
        "file" => Part::Bytes(stories::read(more.unwrap()).unwrap()),
        _ => panic!("{{{inside}}} is nothing that a script has"),
    }
}

/// Bytes up to a brace: `\r`, `\n`, `\xNN` in hexadecimal and `\N` of one digit stand for one.
fn bytes(chars: &mut Peekable<Chars<'_>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(c) = chars.next_if(|c| *c != '{') {
        bytes.push(match c {
            '\\' => match chars.next().unwrap() {
                'r' => b'\r',
                'n' => b'\n',
                'x' => {
                    let digits: String = chars.by_ref().take(2).collect();
                    u8::from_str_radix(&digits, 16).unwrap()
                }
                digit => digit.to_digit(10).unwrap() as u8,
            },
            c => u8::try_from(c).unwrap(),
        });
    }
    bytes
}

#[test]
fn a_script_notices_other_bytes() {
    let all = all();
    let script = all.iter().find(|script| script.name == "dns-lookup").unwrap();
    let names = ["abcdefgh", "abcdefgx"].map(|name| format!("\u{8}{name}\u{7}example\0\0\u{1}\0\u{1}"));
    let ask = |name: &str| [b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0", name.as_bytes()].concat();
    let answer = |name: &str| {
        let end = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc6\x13\0\x09";
        [b"\x12\x34\x81\x80\0\x01\0\x01\0\0\0\0", name.as_bytes(), end].concat()
    };
    let stream = |payloads| tshark::Stream { of: "udp 0".to_owned(), hosts: Default::default(), payloads };
    let good = stream(vec![(false, ask(&names[0])), (true, answer(&names[0]))]);
    assert_eq!(script.check(&[good]), Ok(()));
    for (wrong, why) in [
        (vec![(false, ask(&names[0]))], "1 messages instead of 2"),
        (vec![(false, ask(&names[0])), (true, answer(&names[1]))], "message 1: no abcdefgh"),
        (vec![(false, ask(&names[0])), (false, answer(&names[0]))], "from the other end"),
        (
            vec![(false, [ask(&names[0]), vec![0]].concat()), (true, answer(&names[0]))],
            "message 0: more bytes",
        ),
    ] {
        let said = script.check(&[stream(wrong)]).unwrap_err();
        assert!(said.contains(why), "{said}");
    }
}
