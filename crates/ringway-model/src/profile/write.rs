//! The file of a profile: lines of text, which a checksum ends.
//!
//! ```text
//! ringway-profile 1
//! {"conditions":...}             what it holds for, as JSON
//! frames 3
//! k veth net_rx_action           kind, file, name; each byte of text that is a blank or no letter is escaped
//! nodes 2
//! 0 0 3                          the caller's line or 0, the frame, samples
//! end 0123456789abcdef           the checksum of all that is before
//! ```

use std::fmt::Write;

use super::Profile;
use crate::symbol::Kind;

pub(super) const HEAD: &str = "ringway-profile 1";

impl Profile {
    /// The profile as the text of its file.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Text and numbers alone: nothing in it fails to become JSON.
        let about = serde_json::to_string(&self.about).unwrap_or_default();
        let mut out = format!("{HEAD}\n{about}\nframes {}\n", self.frames.len());
        for frame in &self.frames {
            let _ = writeln!(out, "{} {} {}", letter(frame.kind), escaped(&frame.file), escaped(&frame.name));
        }
        let _ = writeln!(out, "nodes {}", self.tree.nodes().len());
        for node in self.tree.nodes() {
            let _ = writeln!(out, "{} {} {}", node.parent.map_or(0, |p| p + 1), node.frame, node.samples);
        }
        let sum = checksum(out.as_bytes());
        let _ = writeln!(out, "end {sum:016x}");
        out
    }
}

pub(super) const KINDS: [(Kind, char); 4] =
    [(Kind::Thread, 't'), (Kind::Kernel, 'k'), (Kind::Bpf, 'b'), (Kind::User, 'u')];

fn letter(kind: Kind) -> char {
    KINDS.iter().find(|(k, _)| *k == kind).map_or('u', |(_, letter)| *letter)
}

/// A text as one word.
fn escaped(text: &str) -> String {
    match text {
        "" => "-".to_owned(),
        _ => text.chars().flat_map(escape).collect(),
    }
}

fn escape(c: char) -> Vec<char> {
    match c {
        '\\' => vec!['\\', '\\'],
        ' ' => vec!['\\', '_'],
        '-' => vec!['\\', '-'],
        c if c.is_control() => c.escape_unicode().collect(),
        c => vec![c],
    }
}

/// FNV-1a of 64 bits: it finds files that were cut short or changed by accident.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &b| (sum ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}
