//! Names of `memif:` ports: where both sides meet, and options with a comma before each.

use super::memif_options::{MemifOptions, MemifRole};
use super::parse::{Text, bad};
use super::port_name::PortName;
use crate::error::Result;

/// Most rings each way.
const MOST_RINGS: u16 = 256;

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
