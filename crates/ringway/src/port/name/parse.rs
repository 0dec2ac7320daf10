//! Reading the names of ports that stand alone.

use std::path::Path;

use super::port_name::{NicRings, PcapMode, PipeEnd, PortName};
use crate::error::{Error, ErrorKind, Result};
use ringway_pinned::{is_port, is_switch};

/// A name that is to be read, cut at its first colon.
pub(crate) struct Text<'a> {
    /// All of it.
    pub(crate) whole: &'a str,
    /// What stands before the colon.
    pub(crate) scheme: &'a str,
    /// What stands behind the colon.
    pub(crate) rest: &'a str,
    /// Reads the name of a port inside this one.
    pub(crate) inside: &'a dyn Fn(&str) -> Result<PortName>,
}

/// Reads `auto:IF` and `IF`.
pub(crate) fn auto(text: &Text<'_>) -> Result<PortName> {
    nic(text).map(|(interface, rings)| PortName::Auto { interface, rings })
}

/// Reads `ebpf:IF`.
pub(crate) fn ebpf(text: &Text<'_>) -> Result<PortName> {
    nic(text).map(|(interface, rings)| PortName::Ebpf { interface, rings })
}

/// Reads `xdp:IF`.
pub(crate) fn xdp(text: &Text<'_>) -> Result<PortName> {
    no_host(text).map(|(interface, rings)| PortName::Xdp { interface, rings })
}

/// Reads `packet:IF`.
pub(crate) fn packet(text: &Text<'_>) -> Result<PortName> {
    no_host(text).map(|(interface, rings)| PortName::Packet { interface, rings })
}

/// Reads `null:` and `null:LEN`.
pub(crate) fn null(text: &Text<'_>) -> Result<PortName> {
    match text.rest.parse() {
        _ if text.rest.is_empty() => Ok(PortName::Null { len: 60 }),
        Ok(len @ 14..=65535) => Ok(PortName::Null { len }),
        _ => Err(bad(text.whole, "a frame has 14 to 65535 bytes, e.g. null:60")),
    }
}

/// Reads `loop:`.
pub(crate) fn lone_loop(text: &Text<'_>) -> Result<PortName> {
    if text.rest.is_empty() { Ok(PortName::Loop) } else { Err(bad(text.whole, "nothing follows loop:")) }
}

/// The refusal of a name.
pub(crate) fn bad(name: &str, cure: &str) -> Error {
    let name = if name.is_empty() { "''" } else { name };
    Error::new(ErrorKind::BadName, name, "not a port name").cure(cure.to_owned())
}

/// Interface names have up to 15 bytes, without `/`, `:` and blanks (`dev_valid_name` of the kernel).
fn interface(name: &str, s: &str) -> Result<String> {
    let ok = (1..=15).contains(&s.len())
        && s != "."
        && s != ".."
        && !s.contains(|c: char| c == '/' || c == ':' || c.is_whitespace() || c == '^');
    if ok {
        return Ok(s.to_owned());
    }
    let cure = file_instead(s).unwrap_or_else(|| "expected an interface name of 1 to 15 characters".into());
    Err(bad(name, &cure))
}

/// What to type for `text`, which is no interface, when it looks like a capture file.
pub(crate) fn file_instead(text: &str) -> Option<String> {
    let path = Path::new(text);
    let capture = path.extension().is_some_and(|e| e == "pcap" || e == "pcapng");
    (capture || path.is_file()).then(|| format!("a capture file is the port pcap:{text}"))
}

/// Only eBPF programs can take what the host sends.
fn no_host(text: &Text<'_>) -> Result<(String, NicRings)> {
    let (interface, rings) = nic(text)?;
    if rings == NicRings::Host {
        return Err(no_host_rings(text.whole, &interface));
    }
    Ok((interface, rings))
}

/// The refusal of host rings.
pub(crate) fn no_host_rings(name: &str, interface: &str) -> Error {
    let what = "sockets can't take what the host sends, so there are no host rings";
    Error::new(ErrorKind::BadName, name, what).cure(format!("use ebpf:{interface}^"))
}

fn nic(text: &Text<'_>) -> Result<(String, NicRings)> {
    let &Text { whole: name, rest, .. } = text;
    if let Some(i) = rest.strip_suffix('^') {
        return Ok((interface(name, i)?, NicRings::Host));
    }
    // `-N` is a queue number only when the whole is not itself the name of an interface such as `br-1`.
    let queue = rest.rsplit_once('-').and_then(|(i, q)| Some((i, q.parse::<u32>().ok()?)));
    match queue {
        Some((i, q)) if !crate::sys::net::exists(rest) => Ok((interface(name, i)?, NicRings::Queue(q))),
        _ => Ok((interface(name, rest)?, NicRings::All)),
    }
}

/// Reads `pipe:NAME{ID`.
pub(crate) fn pipe(text: &Text<'_>) -> Result<PortName> {
    let &Text { whole: name, rest, .. } = text;
    let at =
        rest.find(['{', '}']).ok_or_else(|| bad(name, "a pipe has two ends, e.g. pipe:x{1 and pipe:x}1"))?;
    let end = if rest.as_bytes()[at] == b'{' { PipeEnd::Open } else { PipeEnd::Close };
    let (pipe, id) = (&rest[..at], &rest[at + 1..]);
    let plain = |s: &str| s.len() <= 32 && s.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    if pipe.is_empty() || !plain(pipe) || !plain(id) {
        return Err(bad(name, "name and id of a pipe are up to 32 letters, digits, _ or -"));
    }
    Ok(PortName::Pipe { name: pipe.to_owned(), id: id.to_owned(), end })
}

/// Reads `valeX:PORT`.
pub(crate) fn vale(text: &Text<'_>) -> Result<PortName> {
    let &Text { whole: name, scheme: switch, rest: port, .. } = text;
    if !is_switch(switch) {
        return Err(bad(name, "a switch is called vale and up to 11 letters, digits, _ or -, e.g. vale0:p1"));
    }
    if !is_port(port) {
        return Err(bad(name, "the name of a port has 1 to 31 letters, digits, _ or -, e.g. vale0:p1"));
    }
    Ok(PortName::Vale { switch: switch.to_owned(), port: port.to_owned() })
}

/// Reads `pcap:FILE`.
pub(crate) fn pcap(text: &Text<'_>) -> Result<PortName> {
    let &Text { whole: name, rest, .. } = text;
    let mut words = rest.split('@');
    let file = words.next().unwrap_or_default();
    if file.is_empty() {
        return Err(bad(name, "name the file, e.g. pcap:trace.pcap"));
    }
    let (mut speed, mut repeat, mut write) = (Some(1.0), false, false);
    for w in words {
        match w {
            "write" => write = true,
            "top" => speed = None,
            "loop" => repeat = true,
            _ => match w.strip_prefix('x').and_then(|x| x.parse::<f64>().ok()) {
                Some(x) if x.is_finite() && x > 0.0 => speed = Some(x),
                _ => {
                    return Err(bad(
                        name,
                        "options of a file are @write, @top, @loop and @x2 (twice as fast)",
                    ));
                }
            },
        }
    }
    let mode = match (write, speed, repeat) {
        (true, Some(1.0), false) => PcapMode::Write,
        (true, ..) => return Err(bad(name, "@write goes with no other option")),
        (false, ..) => PcapMode::Read { speed, repeat },
    };
    Ok(PortName::Pcap { file: file.into(), mode })
}
