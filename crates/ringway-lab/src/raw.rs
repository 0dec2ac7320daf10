//! Raw packet sockets: what goes into a link and what comes out of it, seen by the kernel and not by Ringway.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use super::{Lab, LabError, sys};

const BUFFER: i32 = 128 << 20;
const MACS: usize = 12;

/// Sends frames into an interface.
#[derive(Debug)]
pub struct RawSender(OwnedFd);

impl RawSender {
    /// A sender into an interface of `lab`.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn open(lab: &Lab, interface: &str) -> Result<Self, LabError> {
        open(lab, interface, false).map(Self)
    }

    /// Sends one frame.
    ///
    /// # Errors
    ///
    /// What the system said: the frame is longer than the MTU allows, or the link is gone.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        loop {
            match sys::send(&self.0, frame) {
                Ok(_) => return Ok(()),
                Err(e) if is_momentary(&e) => std::thread::yield_now(),
                Err(e) => return Err(e),
            }
        }
    }
}

fn is_momentary(e: &io::Error) -> bool {
    e.kind() == io::ErrorKind::WouldBlock || e.raw_os_error() == Some(libc::ENOBUFS)
}

/// Receives all frames that arrive at an interface, from the moment it is opened.
#[derive(Debug)]
pub struct RawReceiver {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl RawReceiver {
    /// A receiver at an interface of `lab`. It holds about 128 MB of frames that have not been taken.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn open(lab: &Lab, interface: &str) -> Result<Self, LabError> {
        Ok(Self { socket: open(lab, interface, true)?, buffer: vec![0; 65536] })
    }

    /// The next frame as it was on the link, its VLAN tag put back in place; `None` when none came in time.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn next(&mut self, timeout: Duration) -> io::Result<Option<Vec<u8>>> {
        loop {
            match sys::receive(&self.socket, &mut self.buffer) {
                Ok(r) => return Ok(Some(with_tag(&self.buffer[..r.len], r.vlan))),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) => return Err(e),
            }
            if !sys::wait_readable(&self.socket, timeout)? {
                return Ok(None);
            }
        }
    }
}

fn open(lab: &Lab, interface: &str, receive: bool) -> Result<OwnedFd, LabError> {
    lab.run(|| {
        sys::interface_index(interface)
            .and_then(|index| sys::packet_socket(index, receive, BUFFER))
            .map_err(|source| LabError::Os { action: "opening a packet socket", source })
    })
}

fn with_tag(frame: &[u8], vlan: Option<(u16, u16)>) -> Vec<u8> {
    match vlan {
        Some((protocol, control)) if frame.len() >= MACS => {
            let (macs, rest) = frame.split_at(MACS);
            [macs, &protocol.to_be_bytes(), &control.to_be_bytes(), rest].concat()
        }
        _ => frame.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_goes_back_behind_the_addresses() {
        let frame: Vec<u8> = (0..20).collect();
        let tagged = with_tag(&frame, Some((0x8100, 0x2005)));
        assert_eq!(tagged[..12], frame[..12]);
        assert_eq!(tagged[12..16], [0x81, 0, 0x20, 5]);
        assert_eq!(tagged[16..], frame[12..]);
        assert_eq!(with_tag(&frame, None), frame);
    }

    #[test]
    fn frames_cross_a_veth_unchanged() {
        let Ok(lab) = Lab::new() else {
            eprintln!("SKIP: labs need root (namespaces); run these tests with sudo");
            return;
        };
        lab.veth("a0", "a1").unwrap();
        lab.run_napi("a1").unwrap();
        let sender = RawSender::open(&lab, "a0").unwrap();
        let mut receiver = RawReceiver::open(&lab, "a1").unwrap();
        let mut tagged = vec![2u8; 100];
        tagged[12..16].copy_from_slice(&[0x81, 0, 0x20, 5]);
        for frame in [vec![2u8; 14], vec![4u8; 1514], tagged] {
            sender.send(&frame).unwrap();
            assert_eq!(receiver.next(Duration::from_secs(60)).unwrap(), Some(frame));
        }
        assert!(sender.send(&[2; 1600]).is_err());
        assert_eq!(receiver.next(Duration::ZERO).unwrap(), None);
    }
}
