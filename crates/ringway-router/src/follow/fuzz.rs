//! See [`crate::fuzz`].

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use super::netlink;
use super::obstacles::{Seat, chain};
use super::serve;
use crate::kernel::Path;

/// What the packet filter that a message describes is called, if packets between these interfaces pass it; and all attributes of
/// the message.
pub fn chains<'a>(body: &'a [u8], nics: &[String]) -> (Option<String>, Vec<(u16, &'a [u8])>) {
    let seat = |name: &String| Seat { name: name.clone(), path: Path::Xdp, place: PathBuf::new() };
    let seats: Vec<Seat> = nics.iter().map(seat).collect();
    (chain(body, &seats), netlink::attributes(body, 4).collect())
}

/// The questions that a client asks who writes these pieces, and whether it may go on.
pub fn asked(pieces: &[&[u8]]) -> std::io::Result<(Vec<Vec<u8>>, bool)> {
    let (mut from, to) = UnixStream::pair()?;
    to.set_nonblocking(true)?;
    let mut client = serve::client(to);
    let mut lines = Vec::new();
    for piece in pieces {
        from.write_all(piece)?;
        loop {
            match client.take() {
                Ok(Some(line)) => lines.push(line),
                Ok(None) => break,
                Err(_) => return Ok((lines, false)),
            }
        }
    }
    Ok((lines, true))
}
