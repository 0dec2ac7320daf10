//! What lists of open ports say when they are empty: users other than root see their own ports alone.

use rustix::process::geteuid;

/// In a few words.
pub(crate) fn none_open() -> &'static str {
    if sees_all() { "no port is open" } else { "no port of yours is open" }
}

/// In a sentence.
pub(crate) fn none_listed() -> String {
    none_open().to_owned() + hidden()
}

/// Why a port is not shown that was asked for by name.
pub(crate) fn nobody_has_it() -> String {
    match sees_all() {
        true => "nobody has this port open; `ringway stats` lists the open ones".into(),
        false => format!("you do not have this port open{}", hidden()),
    }
}

fn sees_all() -> bool {
    geteuid().is_root()
}

fn hidden() -> &'static str {
    if sees_all() { "" } else { "; those of other users are hidden: run as root to see them" }
}
