//! The programs of `peers/`.

use std::fmt;

/// A program by the API it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PeerKind {
    /// libpcap.
    Pcap,
    /// AF_PACKET with sendmmsg and recvmmsg.
    Socket,
    /// TCP and UDP sockets around epoll, clients and servers in one thread.
    Flows,
    /// Open TCP connections on which nothing happens.
    Idle,
    /// netmap's interface, which something has to serve: a library of Ringway does, by `LD_PRELOAD`.
    Netmap,
    /// AF_XDP in copy mode.
    AfXdp,
    /// XDP in the kernel: redirect, sink, and the generator `flood`.
    Xdp,
    /// Layer 3 in XDP: a generator of many flows, a router by the kernel's routes.
    L3,
    /// DPDK's route lookup; only [`FibPeer`](super::FibPeer) speaks with it.
    Fib,
    /// DPDK's rings and pools between threads.
    Ring,
}

impl fmt::Display for PeerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pcap => "peer-pcap",
            Self::Socket => "peer-socket",
            Self::Flows => "peer-flows",
            Self::Idle => "peer-idle",
            Self::Netmap => "peer-netmap",
            Self::AfXdp => "peer-afxdp",
            Self::Xdp => "peer-xdp",
            Self::L3 => "peer-l3",
            Self::Fib => "peer-fib",
            Self::Ring => "peer-ring",
        })
    }
}
