//! Names as they are written.

use std::fmt;

use super::port_name::{NicRings, PcapMode, PipeEnd, PortName};

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
            Self::Dpdk { devargs, queues, mtu } => {
                write!(f, "dpdk:{devargs}")?;
                if *queues != 1 {
                    write!(f, "@queues={queues}")?;
                }
                mtu.map_or(Ok(()), |mtu| write!(f, "@mtu={mtu}"))
            }
            Self::Vale { switch, port } => write!(f, "{switch}:{port}"),
            Self::Memif { socket, options } => write!(f, "memif:{socket}{options}"),
            Self::Null { len: 60 } => write!(f, "null:"),
            Self::Null { len } => write!(f, "null:{len}"),
            Self::Loop => write!(f, "loop:"),
            Self::Tap { options, port } => write!(f, "tap:{options}port={port}"),
            Self::Fault { options, port } => write!(f, "fault:{options}port={port}"),
            Self::Trace { options, port } => write!(f, "trace:{options}port={port}"),
            Self::Registered { scheme, rest } => write!(f, "{scheme}:{rest}"),
        }
    }
}
