//! What switches, their ports and routers may be called.

/// Names of switches: `vale`, then letters, digits, `_` and `-`; 15 characters at most.
///
/// ```
/// assert!(ringway_pinned::is_switch("vale0") && !ringway_pinned::is_switch("br0"));
/// ```
#[must_use]
pub fn is_switch(name: &str) -> bool {
    name.starts_with("vale") && name.len() <= 15 && is_plain(name)
}

/// Names of routers: a letter, then letters, digits, `_` and `-`; 15 characters at most. `lock` is the name of a file beside them.
pub(crate) fn is_router(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= 15
        && is_plain(name)
        && name != "lock"
}

/// Names of ports: 1 to 31 letters, digits, `_` and `-`.
///
/// ```
/// assert!(ringway_pinned::is_port("p1") && !ringway_pinned::is_port("p/1"));
/// ```
#[must_use]
pub fn is_port(name: &str) -> bool {
    (1..=31).contains(&name.len()) && is_plain(name)
}

fn is_plain(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
