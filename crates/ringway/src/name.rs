//! Port names: `subsystem:name` and what follows.

mod middle;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Error, ErrorKind};
use crate::vale::pins;

pub use middle::{Direction, FaultOptions, TapOptions, TraceOptions};

/// A parsed port name.
///
/// | text | port |
/// | --- | --- |
/// | `eth0`, `auto:eth0` | rings of interface eth0, all queues, by the best backend it allows: zero-copy AF_XDP, eBPF, AF_XDP with copies, packet sockets |
/// | `ebpf:eth0` | the same by eBPF programs |
/// | `ebpf:eth0-2` | queue 2 of eth0 |
/// | `ebpf:eth0^` | host rings: what the host sends on eth0, and injection into its stack |
/// | `xdp:eth0`, `xdp:eth0-2` | the same by AF_XDP sockets |
/// | `packet:eth0`, `packet:eth0-2` | the same interface by packet sockets, which any driver has |
/// | `pipe:NAME{ID`, `pipe:NAME}ID` | the two ends of a pipe |
/// | `pcap:FILE[@OPTION]...` | a capture file; options `write`, `top`, `xN` (N times as fast), `loop` |
/// | `vale0:p1` | port `p1` of switch `vale0`; made if there is none and the caller may |
/// | `null:`, `null:LEN` | endless source of frames of LEN bytes (60), discards what is sent |
/// | `loop:` | what is sent comes back |
/// | `tap:file=F[,snaplen=N][,dir=rx\|tx],port=PORT` | PORT; what passes is written to a capture file |
/// | `trace:[file=F,][rate=N\|all,][dir=rx\|tx,]port=PORT` | PORT; what passes is printed, a line a frame |
/// | `fault:[OPTION,]...port=PORT` | PORT with faults: `drop=1%`, `dup=`, `reorder=`, `by=3`, `corrupt=`, `delay=10ms`, `seed=7`, `dir=` |
///
/// What follows `port=` is a port name too, so the last three go into each other, up to 8 ports in all.
///
/// ```
/// use ringway::PortName;
/// let name: PortName = "ebpf:eth0-2".parse()?;
/// assert_eq!(name, PortName::Ebpf { interface: "eth0".into(), rings: ringway::NicRings::Queue(2) });
/// assert_eq!(name.to_string(), "ebpf:eth0-2");
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PortName {
    /// Rings of an interface, by the best backend that works.
    Auto {
        /// Name of the interface in the current network namespace.
        interface: String,
        /// Which of its rings.
        rings: NicRings,
    },
    /// Rings served by eBPF programs on an interface.
    Ebpf {
        /// Name of the interface in the current network namespace.
        interface: String,
        /// Which of its rings.
        rings: NicRings,
    },
    /// AF_XDP sockets on an interface.
    Xdp {
        /// Name of the interface in the current network namespace.
        interface: String,
        /// Which of its rings.
        rings: NicRings,
    },
    /// Packet sockets with mapped rings on an interface. Frames are copied, and the host stack receives them too.
    Packet {
        /// Name of the interface in the current network namespace.
        interface: String,
        /// Which of its rings; there are no host rings.
        rings: NicRings,
    },
    /// One end of a pipe.
    Pipe {
        /// Name shared by both ends.
        name: String,
        /// Text after the brace; pipes of one name and different ids are different pipes.
        id: String,
        /// Which end.
        end: PipeEnd,
    },
    /// A capture file.
    Pcap {
        /// Path of the file.
        file: PathBuf,
        /// What to do with it.
        mode: PcapMode,
    },
    /// A port of a switch.
    Vale {
        /// Name of the switch: `vale` and what follows.
        switch: String,
        /// Name of the port in it.
        port: String,
    },
    /// Endless source and sink.
    Null {
        /// Bytes of each frame received.
        len: u16,
    },
    /// What is sent comes back.
    Loop,
    /// A port whose frames are written to a capture file.
    Tap {
        /// What to write.
        options: TapOptions,
        /// The port.
        port: Box<Self>,
    },
    /// A port that loses, doubles, delays and changes frames.
    Fault {
        /// How often.
        options: FaultOptions,
        /// The port.
        port: Box<Self>,
    },
    /// A port whose frames are printed.
    Trace {
        /// What to print.
        options: TraceOptions,
        /// The port.
        port: Box<Self>,
    },
}

/// Which rings of an interface a port has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NicRings {
    /// One pair for each queue.
    All,
    /// The pair of one queue.
    Queue(u32),
    /// The host rings.
    Host,
}

/// The two ends of a pipe; `{` is opened as netmap's master, `}` as its slave, but they are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PipeEnd {
    /// `{`
    Open,
    /// `}`
    Close,
}

/// Direction and speed of a capture file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PcapMode {
    /// Replay.
    Read {
        /// `None`: as fast as the reader takes them; `Some(x)`: `x` times as fast as captured.
        speed: Option<f64>,
        /// Start again at the end.
        repeat: bool,
    },
    /// Create the file and write what is sent.
    Write,
}

impl PortName {
    /// Whether it is a port of a network interface.
    pub(crate) fn is_of_interface(&self) -> bool {
        let kind = self.innermost();
        matches!(kind, Self::Auto { .. } | Self::Ebpf { .. } | Self::Xdp { .. } | Self::Packet { .. })
    }

    /// Interface, when it is a port of one, also with others around it.
    ///
    /// ```
    /// let name: ringway::PortName = "fault:drop=1%,port=ebpf:eth0-2".parse()?;
    /// assert_eq!(name.interface(), Some("eth0"));
    /// # Ok::<(), ringway::Error>(())
    /// ```
    #[must_use]
    pub fn interface(&self) -> Option<&str> {
        match self.innermost() {
            Self::Auto { interface, .. }
            | Self::Ebpf { interface, .. }
            | Self::Xdp { interface, .. }
            | Self::Packet { interface, .. } => Some(interface),
            _ => None,
        }
    }

    /// Switch and port, when it is a port of a switch, also with others around it.
    ///
    /// ```
    /// let name: ringway::PortName = "tap:file=a.pcap,port=vale0:p1".parse()?;
    /// assert_eq!(name.switch_port(), Some(("vale0", "p1")));
    /// # Ok::<(), ringway::Error>(())
    /// ```
    #[must_use]
    pub fn switch_port(&self) -> Option<(&str, &str)> {
        match self.innermost() {
            Self::Vale { switch, port } => Some((switch, port)),
            _ => None,
        }
    }
}

impl FromStr for PortName {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self, Error> {
        Self::parse(s, 0)
    }
}

impl PortName {
    /// Parses the name of a port that lies in `depth` others.
    fn parse(s: &str, depth: u32) -> Result<Self, Error> {
        match s.split_once(':') {
            Some(("ebpf", rest)) => nic(s, rest).map(|(interface, rings)| Self::Ebpf { interface, rings }),
            Some(("auto", rest)) => nic(s, rest).map(|(interface, rings)| Self::Auto { interface, rings }),
            Some(("xdp", rest)) => {
                no_host(s, nic(s, rest)?).map(|(interface, rings)| Self::Xdp { interface, rings })
            }
            Some(("packet", rest)) => {
                no_host(s, nic(s, rest)?).map(|(interface, rings)| Self::Packet { interface, rings })
            }
            Some(("pipe", rest)) => pipe(s, rest),
            Some(("pcap", rest)) => pcap(s, rest),
            Some(("null", "")) => Ok(Self::Null { len: 60 }),
            Some(("null", len)) => match len.parse() {
                Ok(len @ 14..=65535) => Ok(Self::Null { len }),
                _ => Err(bad(s, "a frame has 14 to 65535 bytes, e.g. null:60")),
            },
            Some(("loop", "")) => Ok(Self::Loop),
            Some(("tap", rest)) => middle::tap(s, rest, depth),
            Some(("fault", rest)) => middle::fault(s, rest, depth),
            Some(("trace", rest)) => middle::trace(s, rest, depth),
            Some((switch, port)) if switch.starts_with("vale") => vale(s, switch, port),
            None => nic(s, s).map(|(interface, rings)| Self::Auto { interface, rings }),
            Some(_) => {
                let known =
                    "auto:, ebpf:, xdp:, packet:, pipe:, valeX:, pcap:, null:, loop:, tap:, fault: or trace:";
                Err(bad(s, &format!("port names start with {known}")))
            }
        }
    }

    /// The port inside this one, if it wraps one.
    pub(crate) fn inside(&self) -> Option<&Self> {
        match self {
            Self::Tap { port, .. } | Self::Fault { port, .. } | Self::Trace { port, .. } => Some(port),
            _ => None,
        }
    }

    /// Whether one process can't have this port and the other one open together, unless they only send or copy.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        match (self.taken(), other.taken()) {
            (Some((a, NicRings::All)), Some((b, rings))) | (Some((a, rings)), Some((b, NicRings::All))) => {
                a == b && rings != NicRings::Host
            }
            (Some(a), Some(b)) => a == b,
            _ => {
                matches!(self.innermost(), Self::Pipe { .. } | Self::Vale { .. })
                    && self.innermost() == other.innermost()
            }
        }
    }

    /// The rings of an interface that the port takes for itself.
    fn taken(&self) -> Option<(&str, NicRings)> {
        match self.innermost() {
            Self::Auto { interface, rings }
            | Self::Ebpf { interface, rings }
            | Self::Xdp { interface, rings } => Some((interface, *rings)),
            _ => None,
        }
    }

    /// The innermost port.
    pub(crate) fn innermost(&self) -> &Self {
        self.inside().map_or(self, Self::innermost)
    }
}

fn bad(name: &str, cure: &str) -> Error {
    let name = if name.is_empty() { "''" } else { name };
    Error::new(ErrorKind::BadName, name, "not a port name").cure(cure.to_owned())
}

/// Interface names have up to 15 bytes, without `/`, `:` and blanks (`dev_valid_name` of the kernel).
fn interface(name: &str, s: &str) -> Result<String, Error> {
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
fn no_host(name: &str, (interface, rings): (String, NicRings)) -> Result<(String, NicRings), Error> {
    if rings == NicRings::Host {
        return Err(no_host_rings(name, &interface));
    }
    Ok((interface, rings))
}

/// The refusal of host rings.
pub(crate) fn no_host_rings(name: &str, interface: &str) -> Error {
    let what = "sockets can't take what the host sends, so there are no host rings";
    Error::new(ErrorKind::BadName, name, what).cure(format!("use ebpf:{interface}^"))
}

fn nic(name: &str, rest: &str) -> Result<(String, NicRings), Error> {
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

fn pipe(name: &str, rest: &str) -> Result<PortName, Error> {
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

fn vale(name: &str, switch: &str, port: &str) -> Result<PortName, Error> {
    if !pins::is_switch(switch) {
        return Err(bad(name, "a switch is called vale and up to 11 letters, digits, _ or -, e.g. vale0:p1"));
    }
    if !pins::is_port(port) {
        return Err(bad(name, "the name of a port has 1 to 31 letters, digits, _ or -, e.g. vale0:p1"));
    }
    Ok(PortName::Vale { switch: switch.to_owned(), port: port.to_owned() })
}

fn pcap(name: &str, rest: &str) -> Result<PortName, Error> {
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

impl fmt::Display for NicRings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => Ok(()),
            Self::Queue(q) => write!(f, "-{q}"),
            Self::Host => f.write_str("^"),
        }
    }
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto { interface, rings } => write!(f, "auto:{interface}{rings}"),
            Self::Ebpf { interface, rings } => write!(f, "ebpf:{interface}{rings}"),
            Self::Xdp { interface, rings } => write!(f, "xdp:{interface}{rings}"),
            Self::Packet { interface, rings } => write!(f, "packet:{interface}{rings}"),
            Self::Pipe { name, id, end: PipeEnd::Open } => write!(f, "pipe:{name}{{{id}"),
            Self::Pipe { name, id, end: PipeEnd::Close } => write!(f, "pipe:{name}}}{id}"),
            Self::Pcap { file, mode } => {
                write!(f, "pcap:{}", file.display())?;
                match mode {
                    PcapMode::Write => write!(f, "@write"),
                    PcapMode::Read { speed, repeat } => {
                        match speed {
                            None => write!(f, "@top")?,
                            Some(1.0) => {}
                            Some(x) => write!(f, "@x{x}")?,
                        }
                        if *repeat { write!(f, "@loop") } else { Ok(()) }
                    }
                }
            }
            Self::Vale { switch, port } => write!(f, "{switch}:{port}"),
            Self::Null { len: 60 } => write!(f, "null:"),
            Self::Null { len } => write!(f, "null:{len}"),
            Self::Loop => write!(f, "loop:"),
            Self::Tap { options, port } => write!(f, "tap:{options}port={port}"),
            Self::Fault { options, port } => write!(f, "fault:{options}port={port}"),
            Self::Trace { options, port } => write!(f, "trace:{options}port={port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn good_names_print_as_written() {
        let names = [
            "ebpf:eth0",
            "auto:eth0",
            "auto:eth0-1",
            "ebpf:eth0^",
            "ebpf:eth0-12",
            "xdp:eth0",
            "xdp:eth0-3",
            "packet:eth0",
            "packet:eth0-12",
            "pipe:x{1",
            "pipe:x}1",
            "pipe:a-b{",
            "pcap:/tmp/a.pcap",
            "pcap:a.pcap@top",
            "pcap:a.pcap@x2.5@loop",
            "pcap:a@write",
            "null:",
            "null:1514",
            "loop:",
        ];
        for n in names {
            assert_eq!(n.parse::<PortName>().unwrap().to_string(), n);
        }
        assert_eq!("eth0".parse::<PortName>().unwrap().to_string(), "auto:eth0");
    }

    #[test]
    fn bad_names_say_what_is_expected() {
        let names = [
            "",
            "ebpf:",
            "ebpf:a/b",
            "ebpf:averyveryverylongname",
            "packet:",
            "packet:eth0^",
            "pipe:x",
            "pipe:{1",
            "pipe:x{a/b",
            "pcap:",
            "pcap:a@fast",
            "pcap:a@x0",
            "pcap:a@write@loop",
            "null:5",
            "loop:1",
            "vale9:",
            "vale9:a.b",
            "vale9.1:a",
            "vale9:a b",
            "xdp:",
        ];
        for n in names {
            let e = n.parse::<PortName>().unwrap_err();
            assert_eq!(e.kind(), ErrorKind::BadName, "{n}");
            assert!(e.to_string().contains(';'), "no cure: {e}");
        }
    }

    #[test]
    fn ports_that_take_the_same_frames_exclude_each_other() {
        let name = |s: &str| s.parse::<PortName>().unwrap();
        for (a, b, expected) in [
            ("lo", "lo", true),
            ("lo", "xdp:lo", true),
            ("ebpf:a", "tap:file=x.pcap,port=ebpf:a", true),
            ("ebpf:a", "ebpf:a-1", true),
            ("ebpf:a-1", "xdp:a-1", true),
            ("ebpf:a-1", "ebpf:a-2", false),
            ("ebpf:a", "ebpf:a^", false),
            ("ebpf:a", "ebpf:b", false),
            ("packet:a", "packet:a", false),
            ("ebpf:a", "packet:a", false),
            ("pipe:x{1", "pipe:x{1", true),
            ("pipe:x{1", "pipe:x}1", false),
            ("vale0:p", "vale0:p", true),
            ("null:", "null:", false),
        ] {
            assert_eq!(name(a).excludes(&name(b)), expected, "{a} {b}");
            assert_eq!(name(b).excludes(&name(a)), expected, "{b} {a}");
        }
    }

    #[test]
    fn files_that_are_no_interfaces_get_the_port_to_type() {
        for (text, cure) in [
            ("/tmp/a.pcap", "a capture file is the port pcap:/tmp/a.pcap"),
            ("a/b/trace.pcapng", "a capture file is the port pcap:a/b/trace.pcapng"),
            ("/proc/self/stat", "a capture file is the port pcap:/proc/self/stat"),
            ("a/b", "expected an interface name of 1 to 15 characters"),
        ] {
            let e = text.parse::<PortName>().unwrap_err();
            assert_eq!(e.to_string(), format!("{text}: not a port name; {cure}"));
        }
        assert!("".parse::<PortName>().unwrap_err().to_string().starts_with("'': not a port name"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_name_or_an_error(s in "\\PC{0,40}") {
            if let Ok(n) = s.parse::<PortName>() {
                prop_assert_eq!(n.to_string().parse::<PortName>().unwrap(), n);
            }
        }
    }
}
