//! Words with a meaning in one place each, and whether a value follows them.

/// Words that begin an item.
pub(super) const ITEMS: [&str; 9] =
    ["attack", "define", "expect", "flow", "include", "mix", "pool", "run", "story"];

/// A word, and whether a value follows it.
pub(super) type Word = (&'static str, bool);

/// Settings of a pool, but `mac`, whose value is no number.
pub(super) const POOL: &[Word] =
    &[("port", true), ("vlan", true), ("sequential", false), ("random", false), ("zipf", true)];

/// Settings of a connection.
pub(super) const CONNECTION: &[Word] =
    &[("timeout", true), ("retry", true), ("window", true), ("half_open", false), ("as", true)];

/// Settings of a message.
pub(super) const MESSAGE: &[Word] = &[("as", true), ("count", true), ("match", true)];

/// Settings of a raw packet.
pub(super) const RAW: &[Word] = &[
    ("flags", true),
    ("seq", true),
    ("ack", true),
    ("window", true),
    ("urgent", true),
    ("sport", true),
    ("ttl", true),
    ("type", true),
    ("code", true),
    ("options", true),
    ("data", true),
    ("offset", true),
    ("more", false),
    ("total_length", true),
    ("header_length", true),
    ("udp_length", true),
    ("protocol", true),
    ("truncate", true),
    ("reserved", true),
    ("sequential", false),
    ("shuffled", false),
    ("bad_checksum", false),
    ("bad_ip_checksum", false),
    ("land", false),
    ("no_reply", false),
];

/// Settings of a load.
pub(super) const LOAD: &[Word] = &[
    ("ramp", true),
    ("in", true),
    ("hold", true),
    ("rate", true),
    ("from", true),
    ("to", true),
    ("for", true),
    ("target", true),
    ("drain", true),
    ("poisson", false),
    ("even", false),
];

/// Whether a word is one of a list, and whether a value follows it.
pub(super) fn find(list: &[Word], word: &str) -> Option<bool> {
    list.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
}
