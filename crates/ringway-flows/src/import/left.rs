//! What was not taken over.

use std::collections::BTreeMap;
use std::fmt;

/// Most conversations that are named.
const MOST: usize = 10_000;

/// Where something was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Packets with the same reason: the number of the first one, from 1, and how many there are.
    Packets {
        /// The first one.
        first: u64,
        /// How many.
        count: u64,
    },
    /// A conversation, by the number of its first packet.
    Conversation(u64),
    /// All packets behind this one.
    Behind(u64),
    /// The whole story.
    Story,
}

/// Something that was not taken over, or otherwise than it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Where.
    pub place: Place,
    /// Why, in one line.
    pub why: String,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Packets { first, count: 1 } => write!(f, "packet {first}: ")?,
            Place::Packets { first, count: 2 } => write!(f, "packet {first} and another one: ")?,
            Place::Packets { first, count } => write!(f, "packet {first} and {} others: ", count - 1)?,
            Place::Conversation(first) => write!(f, "conversation of packet {first}: ")?,
            Place::Behind(last) => write!(f, "behind packet {last}: ")?,
            Place::Story => f.write_str("story: ")?,
        }
        f.write_str(&self.why)
    }
}

/// What was left out so far.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// By reason: the first packet, and how many.
    packets: BTreeMap<&'static str, (u64, u64)>,
    list: Vec<Left>,
    /// Conversations that are not named.
    more: u64,
}

impl Notes {
    /// A packet was left out.
    pub(super) fn packet(&mut self, number: u64, why: &'static str) {
        self.packets.entry(why).or_insert((number, 0)).1 += 1;
    }

    /// A conversation was left out, or changed.
    pub(super) fn conversation(&mut self, first: u64, why: impl Into<String>) {
        if self.list.len() < MOST {
            self.list.push(Left { place: Place::Conversation(first), why: why.into() });
        } else {
            self.more += 1;
        }
    }

    /// All behind a packet was left out.
    pub(super) fn rest(&mut self, last: u64, why: String) {
        self.list.push(Left { place: Place::Behind(last), why });
    }

    /// The story differs from the capture.
    pub(super) fn story(&mut self, why: String) {
        self.list.push(Left { place: Place::Story, why });
    }

    /// All of it: packets in their order, then conversations.
    pub(super) fn finish(self) -> Vec<Left> {
        let mut all: Vec<Left> = self
            .packets
            .into_iter()
            .map(|(why, (first, count))| Left { place: Place::Packets { first, count }, why: why.to_owned() })
            .collect();
        all.sort_by_key(|left| if let Place::Packets { first, .. } = left.place { first } else { 0 });
        all.extend(self.list);
        if self.more > 0 {
            all.push(Left {
                place: Place::Story,
                why: format!("{} more conversations were left out or changed", self.more),
            });
        }
        all
    }
}
