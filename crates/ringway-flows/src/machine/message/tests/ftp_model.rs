//! Replies of FTP against a reader that has all lines.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use super::super::ftp::{Reply, ReplyRules, Seek};
use super::parse;

/// The lines of a reply with their CR LF taken off, the last one last, and the bytes that they have.
fn lines(code: u16, text: &str) -> Option<(Vec<&str>, usize)> {
    let code = code.to_string();
    let mut lines = Vec::new();
    let mut used = 0;
    loop {
        let line = text[used..].split_inclusive('\n').next()?.strip_suffix("\r\n")?;
        if line.contains('\r') {
            return None;
        }
        used += line.len() + 2;
        let behind = line.strip_prefix(&code);
        if lines.is_empty()
            && !behind.is_some_and(|behind| behind.is_empty() || behind.starts_with([' ', '-']))
        {
            return None;
        }
        lines.push(line);
        if behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(' ')) {
            return Some((lines, used));
        }
    }
}

/// The first six numbers of one to three digits and below 256 with commas in between, without a digit on either side.
fn host_port(text: &str) -> Option<[u8; 6]> {
    let runs: Vec<&str> = text.split(|c: char| !c.is_ascii_digit() && c != ',').collect();
    for run in runs {
        let numbers: Vec<Option<u8>> =
            run.split(',').map(|n| if n.len() > 3 { None } else { n.parse().ok() }).collect();
        if let Some(six) = numbers.windows(6).find(|six| six.iter().all(Option::is_some)) {
            return Some(std::array::from_fn(|i| six[i].unwrap()));
        }
    }
    None
}

/// The port of the first `(DDDportD)`.
fn extended(text: &str) -> Option<u64> {
    text.match_indices('(').find_map(|(at, _)| {
        let rest = &text[at + 1..];
        let delimiter = rest.chars().next().filter(|c| c.is_ascii_punctuation() && *c != '(')?;
        let rest = rest.strip_prefix(&delimiter.to_string().repeat(3))?;
        let (port, rest) = rest.split_once(delimiter)?;
        let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        (digits && rest.starts_with(')')).then(|| port.parse().ok())?.filter(|&port| port <= 65_535)
    })
}

fn slow(rules: &ReplyRules, text: &str) -> Option<(usize, [u64; 2])> {
    let (lines, used) = lines(rules.code, text)?;
    let last = lines.last().and_then(|line| line.get(4..)).unwrap_or("");
    let port = match rules.seek {
        Seek::Nothing => return Some((used, [0; 2])),
        Seek::HostPort(sender) => {
            let [a, b, c, d, high, low] = host_port(last)?;
            (sender == IpAddr::from([a, b, c, d])).then(|| u64::from(high) << 8 | u64::from(low))?
        }
        Seek::Extended => extended(last)?,
    };
    (port != 0).then_some((used, [port, 0]))
}

fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        2 => "[ -~]{0,6}".prop_map(String::from),
        2 => Just("(1,2,3,4,5,6)".to_owned()),
        2 => Just("(|||21|)".to_owned()),
        1 => prop::sample::select(vec!["1,2,3,4,5,6,7", "256,1,2,3,4,5,6", "1,2,3,4,5", "01,2,3,4,5,06", "1,2,3,4,0,0", ",", "12,", "0001,2,3,4,5,6"]).prop_map(String::from),
        1 => prop::sample::select(vec!["(|||65536|)", "(!!!7!)", "(|||7|", "(((|||8|)", "(|||0|)", "(||", "|9|)"]).prop_map(String::from),
        1 => "[0-9,]{0,16}",
        1 => "[(|0-9)]{0,10}",
    ];
    prop::collection::vec(word, 0..4).prop_map(|words| words.concat())
}

fn reply() -> impl Strategy<Value = String> {
    let start =
        prop::sample::select(vec!["227-", "227 ", "227", "22", " 227 ", "", "228 ", "2277", "227x", "227 "]);
    let end = prop_oneof![8 => Just("\r\n"), 1 => prop::sample::select(vec!["\n", "\r", "\r\r\n", ""])];
    prop::collection::vec((start, text(), end), 1..5)
        .prop_map(|lines| lines.into_iter().map(|(start, text, end)| format!("{start}{text}{end}")).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn agrees_with_the_model(text in reply(), seek in 0..3u8) {
        let seek = match seek {
            0 => Seek::Nothing,
            1 => Seek::HostPort(Ipv4Addr::new(1, 2, 3, 4).into()),
            _ => Seek::Extended,
        };
        let rules = ReplyRules { code: 227, seek };
        prop_assert_eq!(parse::<_, Reply>(&rules, text.as_bytes(), false), slow(&rules, &text));
    }
}
