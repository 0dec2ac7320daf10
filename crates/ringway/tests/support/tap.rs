//! A tap whose user leaves work on frames to the kernel, as virtual machines do.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;

use ringway_lab::{AnyError, Lab};
use ringway_wire::offload::Offload;

/// Bits of `TUNSETOFFLOAD` in linux/if_tun.h: checksums, TCP over IPv4 and IPv6.
const OFFLOADS: libc::c_ulong = 1 | 2 | 4;

/// A tap, which goes away with this.
pub(crate) struct Tap(File);

impl Tap {
    /// Makes a tap in the namespace, and brings it up.
    pub(crate) fn new(lab: &Lab, name: &str) -> Self {
        let tap = lab.run(|| Ok::<_, AnyError>(open(name))).unwrap();
        lab.ip(&format!("link set {name} up")).unwrap();
        Self(tap)
    }

    /// Has the interface receive a frame.
    pub(crate) fn send(&mut self, frame: &[u8], offload: Offload) {
        let mut metadata = [0; Offload::HEADER_LEN];
        offload.write(&mut metadata);
        let bytes = [&metadata, frame].concat();
        assert_eq!(self.0.write(&bytes).unwrap(), bytes.len());
    }
}

fn open(name: &str) -> File {
    let tap = OpenOptions::new().read(true).write(true).open("/dev/net/tun").unwrap();
    // SAFETY: all zero is an empty request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as i16;
    // SAFETY: the request lives across the call; the second call takes a number.
    unsafe {
        assert_eq!(libc::ioctl(tap.as_raw_fd(), libc::TUNSETIFF, &raw const request), 0);
        assert_eq!(libc::ioctl(tap.as_raw_fd(), libc::TUNSETOFFLOAD, OFFLOADS), 0);
    }
    tap
}
