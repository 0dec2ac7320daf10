//! The programs that Ringway is measured against, each written as its API is meant to be used.
//!
//! They are separate executables, embedded in this crate and run from memory. So the program that embeds them
//! links neither libpcap nor libbpf through them. Only the shared libraries that they load have to be
//! installed. Sources: `peers/*.c` of this crate.
//!
//! | peer | arguments |
//! | --- | --- |
//! | [`PeerKind::Pcap`] | `tx IF LEN BURST SECONDS`, `rx IF SECONDS`, `forward A B`, `forward1 A B`, `ping IF COUNT LEN INTERVAL_US`, `pong IF` |
//! | [`PeerKind::Socket`] | `tx IF LEN BURST SECONDS`, `rx IF SECONDS` |
//! | [`PeerKind::Flows`] | `ftp\|http\|dns\|mix FILE PAGE CONCURRENT SECONDS SERVER [NAMESPACE]` |
//! | [`PeerKind::Idle`] | `CONNECTIONS SERVER [NAMESPACE]` |
//! | [`PeerKind::Netmap`] | `tx IF SECONDS`, `rx IF SECONDS`, `bridge A B BURST`, `vale A B BURST SECONDS`, `pipe A B BURST SECONDS`, `poll A B SECONDS` |
//! | [`PeerKind::AfXdp`] | `tx IF LEN BURST SECONDS`, `rx IF BURST SECONDS`, `forward A B BURST`, `forward1 A B BURST` |
//! | [`PeerKind::Xdp`] | `redirect A B`, `sink IF...`, `sink-skb IF...`, `pass IF...`, `flood IF LEN SECONDS [RATE_PPS [BURST]]` |
//! | [`PeerKind::L3`] | `flood IF FLOWS SECONDS`, `forward IF...`, `clock IF` |
//! | [`PeerKind::Ring`] | `ring CPUS BURST SECONDS mt\|rts`, `pool CPUS BURST SECONDS CACHE` |
//! | [`FibPeer`] | DPDK's route lookup, by commands |
//! | [`testpmd::spawn`] | DPDK's own forwarder |
//! | `python/*.py` | scripts of Python: receive, send, look routes up |
//! | [`MemifPair`] | two of DPDK's testpmd over shared memory: sender and receiver |
//!
//! `LEN` is without frame check sequence, 60 to 1514. `forward1` forwards from A to B only. A rate of 0 is as
//! fast as it goes. Senders and receivers run for `SECONDS` after 200 ms of warm-up, and are
//! [`finish`](Peer::finish)ed. A receiver's time starts with the first packet, at the latest 2 s after it is
//! ready. The others run until they are [`stop`](Peer::stop)ped.
//!
//! The ends that `vale` and `pipe` of netmap's interface exchange frames between are both in one program, which
//! sends and receives in turn. `poll` measures what that call costs beside the ioctls that do the same. Frames of
//! this program have 60 bytes.
//!
//! A veth takes frames that XDP redirects to it (`flood`, `redirect`, Ringway's own transmit) only if its other end
//! runs NAPI: an XDP program is attached there, or `ethtool -K PEER gro on`. `flood` fails when nothing arrives.
//!
//! Of `peer-flows` both ends are in one thread, so many flows at the same time. Servers have the address `SERVER`, in a namespace of their own if
//! its file is given. `FILE` and `PAGE` are bytes of a file and of a page. `peer-idle` has both ends too, and opens fewer connections where the limit
//! of open files is lower.
//!
//! `FLOWS` is a file. It begins with a frame of 60 bytes with an IPv4 packet, whose checksum and addresses
//! are 0. Source and destination of each flow follow, in network order. Flows are a power of two, sent one
//! after the other, again and again. `forward` sends what it gets by the kernel's own routes
//! (`bpf_fib_lookup`) out of the others, in XDP. `clock` says how often an XDP program ran and for how long.
//!
//! `pass` counts frames and leaves them to the host: it has a veth run NAPI without GRO, which may reorder.
//!
//! `ring` and `pool` are DPDK's between threads, one for each number in `CPUS`: `0,1,1,0`. Their packets are tokens. Of a ring the first half of
//! the threads puts tokens in, and `rts` is its mode for more threads than CPUs. A `CACHE` of 0 leaves the caches of a pool out.
//!
//! There are two sinks because neither suits all senders. On a veth an XDP program makes a copy of each
//! packet of libpcap, AF_PACKET, AF_XDP in copy mode and the bridge: they send socket buffers. `sink-skb`, a
//! tc program (Linux 6.6), has the kernel make a socket buffer of each XDP frame, and does not turn NAPI on.
//! Compare each sender over the sink that suits it, or all over both.

mod fib;
mod image;
mod kind;
mod memif;
mod peer;
mod python;
mod result;
mod sys;
pub mod testpmd;

pub use fib::FibPeer;
pub use kind::PeerKind;
pub use memif::{Count, MemifPair};
pub(crate) use memif::{MemifDevice, MemifEnd, MemifJob};
pub use peer::Peer;
pub(crate) use python::Scripts;
pub use result::{CallCost, FlowRun, IdleRun, LookupRun, PeerResult, RoundTrip, Traffic};

use std::ffi::{OsStr, OsString};

use ringway_lab::program::ProgramError;

impl Peer {
    /// Starts a peer in a named network namespace (`ip netns`), on one CPU, and waits until it is set up.
    ///
    /// # Errors
    ///
    /// [`ProgramError::Unavailable`] if the peer can't run here, for want of a library for instance; otherwise why it
    /// could not be set up.
    pub fn spawn(
        kind: PeerKind,
        args: impl IntoIterator<Item: AsRef<OsStr>>,
        netns: Option<&str>,
        cpu: Option<usize>,
    ) -> Result<Self, ProgramError> {
        Self::spawn_with(kind, args, netns, cpu, &[])
    }

    /// The same with more variables in its environment.
    pub(crate) fn spawn_with(
        kind: PeerKind,
        args: impl IntoIterator<Item: AsRef<OsStr>>,
        netns: Option<&str>,
        cpu: Option<usize>,
        environment: &[(&str, OsString)],
    ) -> Result<Self, ProgramError> {
        // The file must stay open until the child has executed it, which `start` waits for.
        let (mut command, _file) = image::command(kind)?;
        command.args(args).envs(environment.iter().cloned());
        if let Some(cpu) = cpu {
            command.env("PEER_CPU", cpu.to_string());
        }
        Self::start(&kind.to_string(), command, netns, peer::OWN_PROTOCOL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_lab::TemporaryFolder;
    use std::fs;

    #[test]
    fn a_peer_on_dpdk_leaves_no_folder() {
        let run = TemporaryFolder::create(&std::env::temp_dir()).unwrap();
        let environment = [("RUNTIME_DIRECTORY", run.path().into())];
        let args = ["ring", "0,0", "32", "0.05", "mt"];
        let peer = match Peer::spawn_with(PeerKind::Ring, args, None, None, &environment) {
            Err(error) if error.is_unavailable() => return eprintln!("SKIP: {error}"),
            peer => peer.unwrap(),
        };
        let folders = || fs::read_dir(run.path().join("dpdk")).unwrap().count();
        assert_eq!(folders(), 0, "while it works");
        peer.finish().unwrap();
        assert_eq!(folders(), 0, "when it has ended");
    }
}
