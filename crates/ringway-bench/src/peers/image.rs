//! The peer programs as bytes, and how to execute them without a file.

use std::ffi::CStr;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::{PeerKind, sys};
use ringway_lab::program::ProgramError;

/// An executable that the build script made of `peers/peer-NAME.c`.
struct Image {
    name: &'static CStr,
    bytes: &'static [u8],
    /// Debian packages that the build machine lacked; then there are no bytes.
    missing: &'static str,
}

macro_rules! image {
    ($name:literal, $file:literal, $missing:literal) => {
        Image {
            name: $name,
            bytes: include_bytes!(concat!(env!("OUT_DIR"), "/", $file)),
            missing: env!($missing),
        }
    };
}

static PCAP: Image = image!(c"peer-pcap", "peer-pcap", "PEER_PCAP_MISSING");
static SOCKET: Image = image!(c"peer-socket", "peer-socket", "PEER_SOCKET_MISSING");
static FLOWS: Image = image!(c"peer-flows", "peer-flows", "PEER_FLOWS_MISSING");
static IDLE: Image = image!(c"peer-idle", "peer-idle", "PEER_IDLE_MISSING");
static NETMAP: Image = image!(c"peer-netmap", "peer-netmap", "PEER_NETMAP_MISSING");
static AF_XDP: Image = image!(c"peer-afxdp", "peer-afxdp", "PEER_AFXDP_MISSING");
static XDP: Image = image!(c"peer-xdp", "peer-xdp", "PEER_XDP_MISSING");
static L3: Image = image!(c"peer-l3", "peer-l3", "PEER_L3_MISSING");
static FIB: Image = image!(c"peer-fib", "peer-fib", "PEER_FIB_MISSING");
static RING: Image = image!(c"peer-ring", "peer-ring", "PEER_RING_MISSING");

/// A program as a command. The file behind it is anonymous and must stay open until the child has executed it.
pub(super) fn command(kind: PeerKind) -> Result<(Command, std::fs::File), ProgramError> {
    let image = match kind {
        PeerKind::Pcap => &PCAP,
        PeerKind::Socket => &SOCKET,
        PeerKind::Flows => &FLOWS,
        PeerKind::Idle => &IDLE,
        PeerKind::Netmap => &NETMAP,
        PeerKind::AfXdp => &AF_XDP,
        PeerKind::Xdp => &XDP,
        PeerKind::L3 => &L3,
        PeerKind::Fib => &FIB,
        PeerKind::Ring => &RING,
    };
    if image.bytes.is_empty() {
        let reason = format!("built without {}", image.missing);
        return Err(ProgramError::Unavailable { program: kind.to_string(), reason });
    }
    let file = sys::executable(image.name, image.bytes)
        .map_err(|source| ProgramError::Os { action: "memfd_create", source })?;
    let mut command = Command::new(format!("/proc/self/fd/{}", file.as_raw_fd()));
    command.arg0(kind.to_string());
    Ok((command, file))
}
