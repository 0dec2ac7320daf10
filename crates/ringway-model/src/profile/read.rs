//! Reads the file of a profile. No byte of it is believed, and no number in it makes the reader ask for memory.

use std::fmt;

use super::write::{HEAD, KINDS, checksum};
use super::{About, Node, Profile, Tree};
use crate::symbol::Frame;

/// Why a file is no profile.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// It does not begin as one.
    NoProfile,
    /// A later Ringway wrote it.
    Version(String),
    /// It is shorter than it was, or changed.
    Checksum,
    /// A line is wrong.
    Line(usize, &'static str),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProfile => write!(f, "it is no profile; make one with `ringway prof record`"),
            Self::Version(version) => {
                write!(f, "it has version {version}, and this Ringway reads version 1; record it again")
            }
            Self::Checksum => write!(f, "its end is missing or its bytes changed; record it again"),
            Self::Line(line, what) => write!(f, "line {line}: {what}; record it again"),
        }
    }
}

impl std::error::Error for ReadError {}

impl Profile {
    /// Reads the text of a file. Needs memory of a small multiple of its bytes.
    ///
    /// # Errors
    /// When it is no whole profile of this version.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        let text = verified(bytes)?;
        let mut lines = Lines { lines: text.lines(), number: 0 };
        lines.next()?;
        let about: About = serde_json::from_str(lines.next()?)
            .map_err(|_| lines.error("its conditions are not as they should be"))?;
        let mut frames = Vec::new();
        for _ in 0..lines.count("frames")? {
            let line = lines.next()?;
            frames.push(frame(line).ok_or_else(|| lines.error("it is no frame"))?);
        }
        let mut nodes = Vec::new();
        for _ in 0..lines.count("nodes")? {
            let line = lines.next()?;
            nodes.push(node(line).ok_or_else(|| lines.error("it is no node"))?);
        }
        nodes.shrink_to_fit();
        let tree =
            Tree::of(nodes, frames.len()).ok_or_else(|| lines.error("the nodes above make no tree"))?;
        Ok(Self { about, frames, tree })
    }
}

/// The text before the checksum, if that is right.
fn verified(bytes: &[u8]) -> Result<&str, ReadError> {
    let text = std::str::from_utf8(bytes).map_err(|_| ReadError::NoProfile)?;
    let (head, version) = HEAD.split_once(' ').unwrap_or((HEAD, ""));
    let found = text.lines().next().and_then(|line| line.strip_prefix(head)?.strip_prefix(' '));
    match found {
        None => return Err(ReadError::NoProfile),
        Some(other) if other != version => return Err(ReadError::Version(other.chars().take(20).collect())),
        Some(_) => {}
    }
    let end = text.trim_end_matches('\n').rfind("\nend ").ok_or(ReadError::Checksum)? + 1;
    if text[end..] != format!("end {:016x}\n", checksum(&bytes[..end])) {
        return Err(ReadError::Checksum);
    }
    Ok(&text[..end])
}

struct Lines<'a> {
    lines: std::str::Lines<'a>,
    number: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Result<&'a str, ReadError> {
        self.number += 1;
        self.lines.next().ok_or(ReadError::Line(self.number, "it is missing"))
    }

    fn error(&self, what: &'static str) -> ReadError {
        ReadError::Line(self.number, what)
    }

    /// A line of a word and a number.
    fn count(&mut self, word: &str) -> Result<usize, ReadError> {
        let count = self.next()?.strip_prefix(word).and_then(|rest| rest.trim_start().parse().ok());
        count.ok_or_else(|| self.error("it should say how many lines follow"))
    }
}

fn frame(line: &str) -> Option<Frame> {
    let mut words = line.split(' ');
    let letter = words.next()?;
    let kind = KINDS.iter().find(|(_, l)| letter.len() == 1 && letter.starts_with(*l))?.0;
    let (file, name) = (text(words.next()?)?, text(words.next()?)?);
    words.next().is_none().then_some(Frame { kind, name, file })
}

/// Undoes what the writer does to a text.
fn text(word: &str) -> Option<String> {
    if word == "-" {
        return Some(String::new());
    }
    let mut out = String::with_capacity(word.len());
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { escaped(&mut chars)? } else { c });
    }
    Some(out)
}

fn escaped(chars: &mut std::str::Chars<'_>) -> Option<char> {
    match chars.next()? {
        '\\' => Some('\\'),
        '_' => Some(' '),
        '-' => Some('-'),
        'u' => {
            let (code, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
            *chars = rest.chars();
            char::from_u32(u32::from_str_radix(code, 16).ok()?)
        }
        _ => None,
    }
}

fn node(line: &str) -> Option<Node> {
    let mut words = line.split(' ');
    let parent: u32 = words.next()?.parse().ok()?;
    let node = Node {
        parent: parent.checked_sub(1),
        frame: words.next()?.parse().ok()?,
        samples: words.next()?.parse().ok()?,
    };
    words.next().is_none().then_some(node)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Builder;
    use super::*;
    use crate::symbol::Kind;

    fn profile(names: &[String], stacks: &[(Vec<u32>, u64)]) -> Profile {
        let frames = names.iter().enumerate().map(|(n, name)| Frame {
            kind: KINDS[n % 4].0,
            name: name.clone(),
            file: names[names.len() - 1 - n].clone(),
        });
        let mut tree = Builder::default();
        stacks.iter().for_each(|(stack, n)| {
            tree.add(&stack.iter().map(|f| f % names.len() as u32).collect::<Vec<_>>(), *n)
        });
        Profile { about: About::default(), frames: frames.collect(), tree: tree.done() }
    }

    /// Closes a text with the checksum that it needs.
    fn closed(text: &str) -> String {
        format!("{text}end {:016x}\n", checksum(text.as_bytes()))
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            names in prop::collection::vec(any::<String>(), 1..6),
            stacks in prop::collection::vec((prop::collection::vec(0u32..6, 1..5), any::<u32>().prop_map(u64::from)), 0..20),
        ) {
            let profile = profile(&names, &stacks);
            prop_assert_eq!(Profile::read(profile.to_text().as_bytes()), Ok(profile));
        }

        #[test]
        fn a_changed_byte_is_found(at in any::<prop::sample::Index>(), new in any::<u8>()) {
            let mut bytes = profile(&["a b".into(), "c".into()], &[(vec![0, 1], 5)]).to_text().into_bytes();
            let at = at.index(bytes.len());
            prop_assume!(bytes[at] != new);
            bytes[at] = new;
            prop_assert!(Profile::read(&bytes).is_err());
            prop_assert!(Profile::read(&bytes[..at]).is_err());
        }
    }

    #[test]
    fn lines_that_can_not_be_are_named() {
        let about = serde_json::to_string(&About::default()).unwrap();
        let read = |rest: &str| Profile::read(closed(&format!("{HEAD}\n{about}\n{rest}")).as_bytes());
        assert!(read("frames 1\nk - a\nnodes 1\n0 0 5\n").is_ok());
        for (rest, line) in [
            ("", 3),
            ("frames 18446744073709551615\n", 4),
            ("frames 1\nz - a\nnodes 0\n", 4),
            ("frames 1\nk - a\\q\nnodes 0\n", 4),
            ("frames 1\nk - a\nnodes 99\n0 0 1\n", 7),
            ("frames 1\nk - a\nnodes 1\n2 0 1\n", 6),
        ] {
            assert!(
                matches!(read(rest), Err(ReadError::Line(l, _)) if l == line),
                "{rest}: {:?}",
                read(rest)
            );
        }
        assert_eq!(Profile::read(b"ringway-profile 2\n"), Err(ReadError::Version("2".into())));
        assert_eq!(Profile::read(b"\xff"), Err(ReadError::NoProfile));
        assert_eq!(Profile::read(b"PERFILE2"), Err(ReadError::NoProfile));
    }

    #[test]
    fn a_day_of_a_large_machine_fits() {
        // 64 CPUs at 4999 Hz for 24 hours, a thousand times.
        let stacks: Vec<_> = (0..64).map(|n| (vec![0, n], 4999 * 3600 * 24 * 1000)).collect();
        let mut profile = profile(&["a".into(), "b".into()], &stacks);
        profile.about.spent.time_ns = 64 * 24 * 3600 * 1_000_000_000;
        profile.about.spent.cycles = Some(u64::MAX);
        let again = Profile::read(profile.to_text().as_bytes()).unwrap();
        assert_eq!(again.tree.samples(), 64 * 4999 * 3600 * 24 * 1000);
        assert_eq!((again, Kind::Thread), (profile, KINDS[0].0));
    }
}
