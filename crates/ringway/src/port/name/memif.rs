//! Names of `memif:` ports: where both sides meet, and options with a comma before each.

use std::fmt;
use std::path::PathBuf;

use super::parse::{Text, bad};
use super::port_name::PortName;
use crate::error::Result;

/// Most rings each way.
const MOST_RINGS: u16 = 256;

/// Which end of a memif connection a port is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemifRole {
    /// It listens, and maps the client's memory. DPDK and VPP are clients unless told otherwise.
    #[default]
    Server,
    /// It connects, and makes the memory.
    Client,
}

/// How a `memif:` port meets its peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemifOptions {
    /// Number of the interface on the socket (0).
    pub id: u32,
    /// Which end the port is.
    pub role: MemifRole,
    /// Rings each way, 1 to 256 (1).
    pub rings: u16,
    /// Slots of the rings that a client makes: a power of two from 2 to 16384 (1024, or what the program wants).
    pub slots: Option<u16>,
    /// Bytes of the buffers that a client makes, 64 to 65536 (2048).
    pub size: u32,
    /// A file with up to 24 bytes that both sides know.
    pub secret: Option<PathBuf>,
    /// Whether a client offers the buffers of its region instead of copying frames.
    pub zero_copy: bool,
    /// Whether processes of all users may be at the other end, not only of the own user and of root.
    pub any_user: bool,
    /// Whether a server maps memory that its client can cut short. A client that does so ends the server's process.
    pub unsealed: bool,
}

impl Default for MemifOptions {
    fn default() -> Self {
        Self {
            id: 0,
            role: MemifRole::Server,
            rings: 1,
            slots: None,
            size: 2048,
            secret: None,
            zero_copy: false,
            any_user: false,
            unsealed: false,
        }
    }
}

/// Reads `memif:SOCKET[,OPTION]...`.
pub(crate) fn memif(text: &Text<'_>) -> Result<PortName> {
    let mut words = text.rest.split(',');
    let socket = words.next().unwrap_or_default();
    if ringway_memif::Address::parse(socket).is_none() {
        return Err(bad(
            text.whole,
            "name the socket: a path or @NAME of up to 107 bytes, e.g. memif:/run/memif.sock",
        ));
    }
    let (mut options, mut seen) = (MemifOptions::default(), Vec::new());
    for word in words {
        let (key, value) = word.split_once('=').ok_or_else(|| {
            bad(
                text.whole,
                "options are KEY=VALUE with a comma before each; a socket has no comma in its name",
            )
        })?;
        if seen.contains(&key) {
            return Err(bad(text.whole, "give each option once"));
        }
        seen.push(key);
        set(&mut options, key, value).map_err(|cure| bad(text.whole, cure))?;
    }
    check(&options).map_err(|cure| bad(text.whole, cure))?;
    Ok(PortName::Memif { socket: socket.into(), options })
}

fn set(options: &mut MemifOptions, key: &str, value: &str) -> std::result::Result<(), &'static str> {
    match key {
        "id" => options.id = value.parse().map_err(|_| "id is 0 to 4294967295")?,
        "role" => {
            options.role = match value {
                "server" => MemifRole::Server,
                "client" => MemifRole::Client,
                _ => return Err("roles are role=server and role=client"),
            }
        }
        "rings" => {
            options.rings =
                value.parse().ok().filter(|n| (1..=MOST_RINGS).contains(n)).ok_or("rings is 1 to 256")?;
        }
        "slots" => {
            let fits = |n: &u16| n.is_power_of_two() && (2..=16384).contains(n);
            options.slots =
                Some(value.parse().ok().filter(fits).ok_or("slots is a power of two, 2 to 16384")?);
        }
        "size" => {
            let fits = |n: &u32| n.is_multiple_of(64) && (64..=65536).contains(n);
            options.size =
                value.parse().ok().filter(fits).ok_or("size is a multiple of 64, 64 to 65536 bytes")?;
        }
        "secret" if value.is_empty() => return Err("name a file after secret="),
        "secret" => options.secret = Some(value.into()),
        "zero-copy" => options.zero_copy = yes(value).ok_or("zero-copy is yes or no")?,
        "access" => {
            options.any_user = match value {
                "own" => false,
                "any" => true,
                _ => return Err("access is own (this user and root) or any"),
            }
        }
        "unsealed" => options.unsealed = yes(value).ok_or("unsealed is yes or no")?,
        _ => {
            return Err(
                "options are id=, role=, rings=, slots=, size=, secret=, zero-copy=, access= and unsealed=",
            );
        }
    }
    Ok(())
}

/// Options that only one end can have.
fn check(options: &MemifOptions) -> std::result::Result<(), &'static str> {
    let plain = MemifOptions::default();
    match options.role {
        MemifRole::Server if options.zero_copy => Err("zero-copy is for role=client, which owns the memory"),
        MemifRole::Server if options.slots.is_some() || options.size != plain.size => {
            Err("slots and size are for role=client, which makes the rings")
        }
        MemifRole::Client if options.unsealed => {
            Err("unsealed is for role=server, which maps the client's memory")
        }
        _ if options.zero_copy && options.size != plain.size => {
            Err("size is for copies; with zero-copy the region has the buffers")
        }
        _ => Ok(()),
    }
}

fn yes(value: &str) -> Option<bool> {
    match value {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

impl fmt::Display for MemifOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = Self::default();
        if self.id != plain.id {
            write!(f, ",id={}", self.id)?;
        }
        if self.role != plain.role {
            f.write_str(",role=client")?;
        }
        if self.rings != plain.rings {
            write!(f, ",rings={}", self.rings)?;
        }
        if let Some(slots) = self.slots {
            write!(f, ",slots={slots}")?;
        }
        if self.size != plain.size {
            write!(f, ",size={}", self.size)?;
        }
        if let Some(secret) = &self.secret {
            write!(f, ",secret={}", secret.display())?;
        }
        for (on, text) in [
            (self.zero_copy, ",zero-copy=yes"),
            (self.any_user, ",access=any"),
            (self.unsealed, ",unsealed=yes"),
        ] {
            f.write_str(if on { text } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_print_as_written() {
        for name in [
            "memif:/run/memif.sock",
            "memif:@memif,id=4294967295,role=client,rings=256,slots=16384,size=65536,secret=/etc/s,access=any",
            "memif:m.sock,role=client,zero-copy=yes",
            "memif:m.sock,unsealed=yes",
        ] {
            assert_eq!(name.parse::<PortName>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn wrong_options_say_what_is_expected() {
        for (rest, cure) in [
            ("", "name the socket"),
            ("@", "name the socket"),
            (",id=1", "name the socket"),
            ("m,id", "KEY=VALUE"),
            ("m,id=1,id=1", "once"),
            ("m,id=-1", "0 to 4294967295"),
            ("m,role=slave", "role=client"),
            ("m,rings=0", "1 to 256"),
            ("m,role=client,slots=1000", "power of two"),
            ("m,role=client,size=100", "multiple of 64"),
            ("m,secret=", "name a file"),
            ("m,zero-copy=yes", "role=client"),
            ("m,slots=64", "role=client"),
            ("m,role=client,unsealed=yes", "role=server"),
            ("m,role=client,zero-copy=yes,size=4096", "for copies"),
            ("m,access=all", "own"),
            ("m,colour=red", "options are"),
        ] {
            let refused = format!("memif:{rest}").parse::<PortName>().unwrap_err().to_string();
            assert!(refused.contains(cure), "{rest}: {refused}");
        }
    }
}
