//! Raw packet sockets: what goes into a link and what comes out of it, seen by the kernel and not by Ringway.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::{Lab, LabError, sys};

const BUFFER: i32 = 128 << 20;
const MACS: usize = 12;

/// Sends and receives frames at an interface, each by a system call of its own.
#[derive(Debug)]
pub struct RawSocket(OwnedFd);

impl RawSocket {
    /// A socket at an interface of the calling thread's namespace. It holds about 128 MB of frames that have not been taken.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn open(interface: &str) -> io::Result<Self> {
        sys::packet_socket(sys::interface_index(interface)?, true, BUFFER).map(Self)
    }

    /// Sends one frame; false when there is no room for it now.
    ///
    /// # Errors
    ///
    /// What the system said: the frame is longer than the MTU allows, or the link is gone.
    pub fn try_send(&self, frame: &[u8]) -> io::Result<bool> {
        match sys::send(&self.0, frame) {
            Ok(_) => Ok(true),
            Err(e) if is_momentary(&e) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Writes the next frame to `buffer`, without the tag that the kernel took out of it, and returns its length; `None` when there is none
    /// now. What is longer than `buffer` is cut off.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn try_receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match sys::receive_plain(&self.0, buffer) {
            Ok(len) => Ok(Some(len)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }
}

impl AsFd for RawSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

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
    use crate::AnyError;

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

    #[test]
    fn a_socket_sends_and_receives_one_frame_a_call() {
        let Ok(lab) = Lab::new() else {
            eprintln!("SKIP: labs need root (namespaces); run these tests with sudo");
            return;
        };
        lab.veth("a0", "a1").unwrap();
        let open = |name: &'static str| lab.run(|| RawSocket::open(name).map_err(AnyError::from)).unwrap();
        let (near, far) = (open("a0"), open("a1"));
        let mut buffer = [0; 64];
        assert_eq!(far.try_receive(&mut buffer).unwrap(), None);
        for frame in [[2u8; 60], [4; 60]] {
            assert!(near.try_send(&frame).unwrap());
        }
        for frame in [[2u8; 60], [4; 60]] {
            assert!(sys::wait_readable(&far.0, Duration::from_secs(60)).unwrap());
            assert_eq!(far.try_receive(&mut buffer).unwrap(), Some(60));
            assert_eq!(buffer[..60], frame);
        }
        assert_eq!(near.try_receive(&mut buffer).unwrap(), None, "it does not hear itself");
        assert!(near.try_send(&[2; 1600]).is_err());
        assert!(lab.run(|| RawSocket::open("nosuchif").map_err(AnyError::from)).is_err());
    }
}
