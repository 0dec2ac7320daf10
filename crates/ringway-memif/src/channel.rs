//! The control channel: messages over a unix socket that keeps their bounds, one descriptor with some of them.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ringway_sys::effective_user;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg, sockopt,
};

use crate::message::{MESSAGE, Message};
use crate::reason::Reason;

/// Which users may be at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// The process' own user, and root.
    #[default]
    Own,
    /// All users.
    Any,
}

impl Access {
    fn admits(self, uid: u32) -> bool {
        self == Self::Any || uid == 0 || uid == effective_user()
    }
}

/// A connected socket. No call waits.
#[derive(Debug)]
pub struct Channel(OwnedFd);

impl Channel {
    /// A channel over a connected socket that does not block, when its peer may connect.
    ///
    /// # Errors
    /// [`Reason::User`] when the other end belongs to a user without access.
    pub fn new(socket: OwnedFd, access: Access) -> Result<Self, Reason> {
        let peer = sockopt::socket_peercred(&socket).map_err(|e| system("asking for the peer's user", e))?;
        let uid = peer.uid.as_raw();
        match access.admits(uid) {
            true => Ok(Self(socket)),
            false => {
                let channel = Self(socket);
                channel.say_last(&Reason::User(uid));
                Err(Reason::User(uid))
            }
        }
    }

    /// Sends a message, and a descriptor with it if one is given.
    ///
    /// # Errors
    /// [`Reason::Closed`] when the peer is gone or does not read.
    pub fn send(&self, message: &Message, descriptor: Option<BorrowedFd<'_>>) -> Result<(), Reason> {
        let bytes = message.encode();
        let descriptors: Vec<BorrowedFd<'_>> = descriptor.into_iter().collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&descriptors));
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match sendmsg(&self.0, &[IoSlice::new(&bytes)], &mut control, flags) {
            Ok(_) => Ok(()),
            Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN | Errno::AGAIN) => Err(Reason::Closed),
            Err(e) => Err(system("sending a message", e)),
        }
    }

    /// Sends any bytes, as a broken peer does.
    #[cfg(test)]
    pub(crate) fn send_raw(&self, bytes: &[u8], descriptor: Option<&OwnedFd>) {
        let descriptors: Vec<BorrowedFd<'_>> = descriptor.into_iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&descriptors));
        }
        let _ =
            sendmsg(&self.0, &[IoSlice::new(bytes)], &mut control, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    }

    /// Sends the message that ends the connection, if the peer still takes it.
    pub fn say_last(&self, reason: &Reason) {
        let _ = self.send(&Message::disconnect(reason), None);
    }

    /// The next message and its descriptor; `None` when there is none yet.
    ///
    /// # Errors
    /// [`Reason::Closed`] at the end; a reason when the message, or what came with it, is wrong.
    pub fn receive(&self) -> Result<Option<(Message, Option<OwnedFd>)>, Reason> {
        let mut bytes = [0u8; MESSAGE + 1];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC | RecvFlags::TRUNC;
        let got = match recvmsg(&self.0, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags) {
            Ok(got) => got,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(Errno::CONNRESET | Errno::NOTCONN) => return Err(Reason::Closed),
            Err(e) => return Err(system("receiving a message", e)),
        };
        let mut descriptors: Vec<OwnedFd> = Vec::new();
        for part in control.drain() {
            if let RecvAncillaryMessage::ScmRights(more) = part {
                descriptors.extend(more);
            }
        }
        if got.bytes == 0 {
            return Err(Reason::Closed);
        }
        if descriptors.len() > 1 {
            return Err(Reason::ManyDescriptors);
        }
        let message = Message::decode(bytes.get(..got.bytes).ok_or(Reason::MessageSize(got.bytes))?)?;
        match (message.needs_descriptor(), descriptors.pop()) {
            (true, None) => Err(Reason::NoDescriptor),
            (false, Some(_)) => Err(Reason::ManyDescriptors),
            (_, descriptor) => Ok(Some((message, descriptor))),
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

pub(crate) fn system(what: &str, e: Errno) -> Reason {
    Reason::System(format!("{what} failed: {}", std::io::Error::from(e)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::name;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, send, socketpair};

    fn pair() -> (Channel, Channel) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (a, b) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        (Channel::new(a, Access::Own).unwrap(), Channel::new(b, Access::Own).unwrap())
    }

    #[test]
    fn messages_arrive_with_their_descriptors() {
        let (a, b) = pair();
        assert_eq!(b.receive().unwrap().map(|m| m.0), None);
        let file = std::fs::File::open("/dev/null").unwrap();
        a.send(&Message::AddRegion { index: 0, size: 64 }, Some(file.as_fd())).unwrap();
        a.send(&Message::Connect(name("x")), None).unwrap();
        let (message, descriptor) = b.receive().unwrap().unwrap();
        assert_eq!((message, descriptor.is_some()), (Message::AddRegion { index: 0, size: 64 }, true));
        assert!(matches!(b.receive(), Ok(Some((Message::Connect(_), None)))));
        drop(a);
        assert_eq!(b.receive().unwrap_err(), Reason::Closed);
        assert_eq!(b.send(&Message::Ack, None), Err(Reason::Closed));
    }

    #[test]
    fn wrong_messages_have_their_reasons() {
        let (a, b) = pair();
        for (bytes, reason) in [
            (&[1u8; 127][..], Reason::MessageSize(127)),
            (&[1; 500], Reason::MessageSize(500)),
            (&[77; 128], Reason::MessageType(0x4d4d)),
        ] {
            send(&a.0, bytes, SendFlags::empty()).unwrap();
            assert_eq!(b.receive().unwrap_err(), reason);
        }
        a.send(&Message::AddRegion { index: 0, size: 64 }, None).unwrap();
        assert_eq!(b.receive().unwrap_err(), Reason::NoDescriptor);
        let file = std::fs::File::open("/dev/null").unwrap();
        a.send(&Message::Ack, Some(file.as_fd())).unwrap();
        assert_eq!(b.receive().unwrap_err(), Reason::ManyDescriptors);
    }

    #[test]
    fn a_peer_that_does_not_read_is_gone() {
        let (a, _b) = pair();
        let refused = (0..100_000).find_map(|_| a.send(&Message::Ack, None).err());
        assert_eq!(refused, Some(Reason::Closed));
    }

    #[test]
    fn users_are_admitted_by_the_rule() {
        assert!(Access::Own.admits(0) && Access::Own.admits(effective_user()) && Access::Any.admits(4242));
        assert!(!Access::Own.admits(effective_user() + 4242));
    }
}
