//! The file of the exporter's token: looked at by its descriptor before a byte of it is read.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ringway_watch::exporter::Token;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::errors::files::{UNREADABLE, WRONG_CONTENT};
use crate::failure::Failure;

/// Bytes that are read at most: a token with some blanks around it.
const MOST: u64 = 4096;

/// Rights that the file may not give: others read or change it, or its group changes it.
const TOO_OPEN: u32 = 0o027;

/// Reads the token.
pub(super) fn read(path: &Path) -> Result<Token, Failure> {
    let on = path.display();
    let file = open(path)?;
    let failed = |e| Failure::Other(UNREADABLE, format!("{on}: reading the token failed: {e}"));
    check(path, &file.metadata().map_err(failed)?)?;
    let mut text = Vec::new();
    file.take(MOST + 1).read_to_end(&mut text).map_err(failed)?;
    let token = str::from_utf8(&text).ok().filter(|_| text.len() as u64 <= MOST).and_then(Token::new);
    token.ok_or_else(|| {
        let (least, most) = (Token::SHORTEST, Token::LONGEST);
        let what = format!("{on}: a token is one word of {least} to {most} characters of ASCII");
        Failure::Other(WRONG_CONTENT, format!("{what}; `head -c 24 /dev/urandom | base64` prints one"))
    })
}

/// Opens the file, without following a link anywhere on the way, and without waiting for what is no file.
fn open(path: &Path) -> Result<File, Failure> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    opened.map(File::from).map_err(|e| {
        let cure = match e {
            Errno::LOOP => "a link leads to it; `realpath` prints the path to name instead",
            Errno::NOENT => {
                "make the file, and write a token into it: `head -c 24 /dev/urandom | base64` prints one"
            }
            _ => "check its rights",
        };
        Failure::Other(UNREADABLE, format!("{}: opening the token failed: {e}; {cure}", path.display()))
    })
}

/// Refuses what is no file, and a file that other users can read or change.
fn check(path: &Path, is: &Metadata) -> Result<(), Failure> {
    let on = path.display();
    let refused = |what: String| Err(Failure::Other(UNREADABLE, format!("{on}: {what}")));
    if !is.is_file() {
        return refused("it is no file; name the file that has the token".to_owned());
    }
    let own = nix::unistd::geteuid().as_raw();
    if is.uid() != 0 && is.uid() != own {
        return refused(format!(
            "it belongs to user {}, who knows the token; `chown {own}` the file",
            is.uid()
        ));
    }
    if is.mode() & TOO_OPEN != 0 {
        let mode = is.mode() & 0o7777;
        return refused(format!(
            "other users can read or change it: it has mode {mode:04o}; `chmod 600` the file"
        ));
    }
    Ok(())
}
