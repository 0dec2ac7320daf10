//! What lists say when they are empty: users other than root see their own ports alone, and no switches.

use std::path::Path;

use ringway::pinned::{check_visible, root};
use rustix::process::geteuid;

use crate::errors;
use crate::failure::Failure;

/// In a few words.
pub(crate) fn none_open() -> &'static str {
    if sees_all() { "no port is open" } else { "you have no port open" }
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
    if sees_all() { "" } else { "; ports of other users are hidden: run as root to see them" }
}

/// Refuses users who see nothing because they may not, and places from which switches can't be seen.
pub(crate) fn check_seen() -> Result<(), Failure> {
    let what = "switches and routers are shown to root alone; run as root";
    if !sees_all() {
        return Err(Failure::Other(errors::switches::NOT_VISIBLE, what.into()));
    }
    Ok(check_visible()?)
}

/// What a list of this kind of thing says that is empty, if it can be known.
pub(crate) fn nothing_there(kind: &str) -> Result<String, Failure> {
    check_seen()?;
    let usual = root() == Path::new("/sys/fs/bpf/ringway");
    let place = if usual { String::new() } else { format!(" in {}", root().display()) };
    Ok(format!("there is no {kind}{place}"))
}
