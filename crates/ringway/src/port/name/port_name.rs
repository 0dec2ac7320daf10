//! Port names: `subsystem:name` and what follows.

use std::path::PathBuf;

use super::memif_options::MemifOptions;
use super::options::{FaultOptions, TapOptions, TraceOptions};

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
/// | `memif:SOCKET[,OPTION]...` | shared memory with a program of DPDK, VPP or Ringway that meets this one at SOCKET, a path or `@NAME` |
/// | `dpdk:DEVARGS[@queues=N][@mtu=N]` | a device of DPDK by its arguments: `dpdk:net_tap0,iface=tap0`, `dpdk:0000:03:00.0`. It needs the plugin `libringway_dpdk.so` |
/// | `null:`, `null:LEN` | endless source of frames of LEN bytes (60), discards what is sent |
/// | `loop:` | what is sent comes back |
/// | `SCHEME:REST` | a port of a backend that the program has [registered](crate::register_backend) |
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
    /// Shared memory with a peer, by memif.
    Memif {
        /// Where both meet: a path, or `@NAME` without a file.
        socket: String,
        /// Which interface, and how.
        options: MemifOptions,
    },
    /// A device of DPDK.
    Dpdk {
        /// DPDK's arguments of the device: its name, and what its driver is to know.
        devargs: String,
        /// Queues of each direction, one ring each.
        queues: u32,
        /// The MTU; `None` for the device's own.
        mtu: Option<u32>,
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
    /// A port of a backend that the program has [registered](crate::register_backend).
    Registered {
        /// The scheme.
        scheme: String,
        /// What follows the colon; the backend knows what it means.
        rest: String,
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

impl PortName {
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
                matches!(self.innermost(), Self::Pipe { .. } | Self::Vale { .. } | Self::Dpdk { .. })
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

    /// What stands before the colon.
    pub(crate) fn scheme(&self) -> &str {
        match self {
            Self::Auto { .. } => "auto",
            Self::Ebpf { .. } => "ebpf",
            Self::Xdp { .. } => "xdp",
            Self::Packet { .. } => "packet",
            Self::Pipe { .. } => "pipe",
            Self::Pcap { .. } => "pcap",
            Self::Vale { switch, .. } => switch,
            Self::Memif { .. } => "memif",
            Self::Dpdk { .. } => "dpdk",
            Self::Null { .. } => "null",
            Self::Loop => "loop",
            Self::Tap { .. } => "tap",
            Self::Fault { .. } => "fault",
            Self::Trace { .. } => "trace",
            Self::Registered { scheme, .. } => scheme,
        }
    }
}
