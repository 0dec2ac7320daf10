//! Netlink sockets: dumps, and messages to groups.

mod examine;

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netlink_packet_core::{
    Emitable, NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use rustix::net::sockopt::{self, Timeout};

use super::ControlError;
use super::attributes::{INET, INET6};
use super::decode::{decode, kind};
use super::event::Event;

/// `RTNLGRP_*`: links, neighbours, addresses, routes, rules and settings of both families, next-hop objects.
const GROUPS: [u32; 11] = [1, 3, 5, 9, 7, 11, 8, 19, 24, 25, 32];

/// The kernel sends no more at once in a dump; a single message may be as long as its header can tell, but none is.
const DATAGRAM: usize = 1 << 17;

/// How long the kernel may take for a part of a dump.
const PATIENCE: Duration = Duration::from_secs(10);

const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `ENOBUFS`, and what a kernel says that lacks a family or a kind of object.
const NO_BUFFERS: i32 = 105;
const ABSENT: [i32; 3] = [95, 97, 38];

/// A message without its header, in words of the header.
struct Message<'a> {
    kind: u16,
    flags: u16,
    serial: u32,
    body: &'a [u8],
}

/// What reading the changes brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketState {
    /// There may be more.
    More,
    /// There is no more for now.
    All,
    /// Messages were lost.
    Lost,
    /// One can't be read: what is wrong with it.
    Unread(&'static str),
}

/// A socket that hears changes.
#[derive(Debug)]
pub(super) struct ChangeSocket {
    socket: Socket,
    buf: Box<[u8]>,
}

impl ChangeSocket {
    /// Joins all groups, with this many bytes for messages that wait.
    pub(super) fn open(buffer: usize) -> Result<Self, ControlError> {
        let socket = open(buffer)?;
        socket.set_non_blocking(true).map_err(ControlError::os("making a netlink socket not block"))?;
        for group in GROUPS {
            let what = "joining a netlink group";
            match socket.add_membership(group) {
                Err(e) if e.kind() == ErrorKind::InvalidInput => {} // a kernel without that family
                done => done.map_err(ControlError::os(what))?,
            }
        }
        Ok(Self { socket, buf: vec![0; DATAGRAM].into() })
    }

    /// Reads one datagram; each event goes to `take`.
    pub(super) fn read_datagram(&mut self, mut take: impl FnMut(Event)) -> Result<SocketState, ControlError> {
        let bytes = match receive(&self.socket, &mut self.buf) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(SocketState::All),
            Err(e) if e.raw_os_error() == Some(NO_BUFFERS) => return Ok(SocketState::Lost),
            Err(e) if e.kind() == ErrorKind::InvalidData => {
                return Ok(SocketState::Unread("a message is too long"));
            }
            Err(e) => return Err(ControlError::os("reading changes from a netlink socket")(e)),
        };
        let mut heard = SocketState::More;
        for message in messages(bytes) {
            match message.and_then(|m| decode(m.kind, m.flags, m.body, false)) {
                Ok(event) => event.into_iter().for_each(&mut take),
                Err(why) => heard = SocketState::Unread(why),
            }
        }
        Ok(heard)
    }
}

impl AsFd for ChangeSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The index of `lo`, in each network namespace.
const LOOPBACK: i32 = 1;

/// What there is to dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dump {
    Links,
    Addresses,
    Neighbours,
    Objects,
    Rules(u8),
    Settings(u8),
    Routes(u8),
}

impl Dump {
    /// All but routes, in an order in which each finds what it refers to.
    pub(super) const SMALL: [Self; 8] = [
        Self::Links,
        Self::Settings(INET),
        Self::Settings(INET6),
        Self::Addresses,
        Self::Neighbours,
        Self::Objects,
        Self::Rules(INET),
        Self::Rules(INET6),
    ];
    pub(super) const ROUTES: [Self; 2] = [Self::Routes(INET6), Self::Routes(INET)];

    /// Name, type of message, family, bytes of the header that the kernel expects.
    fn request(self) -> (&'static str, u16, u8, usize) {
        match self {
            Self::Links => ("dump of links", kind::LINK, 0, 16),
            Self::Addresses => ("dump of addresses", kind::ADDRESS, 0, 8),
            Self::Neighbours => ("dump of neighbours", kind::NEIGHBOUR, 0, 12),
            Self::Objects => ("dump of next-hop objects", kind::NEXTHOP, 0, 8),
            Self::Rules(family) => ("dump of rules", kind::RULE, family, 12),
            Self::Settings(family) => ("dump of settings", kind::NETCONF, family, 4),
            Self::Routes(family) => ("dump of routes", kind::ROUTE, family, 12),
        }
    }
}

/// A socket that asks.
#[derive(Debug)]
pub(super) struct QuerySocket {
    socket: Socket,
    serial: u32,
    buf: Box<[u8]>,
    /// A dump is not at its end.
    dumping: bool,
}

impl QuerySocket {
    pub(super) fn open() -> Result<Self, ControlError> {
        Ok(Self { socket: patient()?, serial: 0, buf: vec![0; DATAGRAM].into(), dumping: false })
    }

    /// Asks for all entries; each goes to `take`. `meanwhile` is called after each part.
    ///
    /// Returns false when the entries changed while they were read.
    pub(super) fn dump(
        &mut self,
        dump: Dump,
        mut take: impl FnMut(Event),
        mut meanwhile: impl FnMut() -> Result<(), ControlError>,
    ) -> Result<bool, ControlError> {
        let (what, kind, family, header) = dump.request();
        let mut body = vec![0; header];
        body[0] = family;
        self.send(what, kind + 2, NLM_F_DUMP, &body)?;
        self.dumping = true;
        let (mut whole, mut failed) = (true, Ok(()));
        loop {
            let bytes = receive(&self.socket, &mut self.buf).map_err(ControlError::os(what))?;
            for message in messages(bytes) {
                let wrong = |why| ControlError::Answer { what, why };
                let message = message.map_err(wrong)?;
                if message.serial != self.serial {
                    continue; // what is left of an answer that was given up
                }
                whole &= message.flags & NLM_F_DUMP_INTR == 0;
                if let DONE | ERROR = message.kind {
                    self.dumping = false;
                    let finished = finished(message.body).or_else(absent);
                    return failed.and(finished.map_err(ControlError::os(what))).map(|()| whole);
                }
                match decode(message.kind, message.flags, message.body, true) {
                    Ok(event) => event.into_iter().for_each(&mut take),
                    Err(why) => failed = failed.and(Err(wrong(why))),
                }
            }
            // read to its end in any case: the kernel takes no other dump before
            if failed.is_ok() {
                failed = meanwhile();
            }
        }
    }

    /// Waits until the kernel has told of each route that a dump so far may show: the kernel changes a table of IPv4 before it sends the
    /// message. It does both under one lock (`rtnl_mutex`), which this question needs too.
    pub(super) fn settle(&mut self) -> Result<(), ControlError> {
        let what = "asking for the loopback interface";
        let mut body = [0; 16]; // struct ifinfomsg
        body[4..8].copy_from_slice(&LOOPBACK.to_ne_bytes());
        self.send(what, kind::LINK + 2, NLM_F_ACK, &body)?;
        self.finished(what)
    }

    /// Reads up to the end of the answer to the last request.
    fn finished(&mut self, what: &'static str) -> Result<(), ControlError> {
        self.answer(what, |_, _| {})
    }

    /// The same, and hands out the kind and the body of each message before the end.
    fn answer(&mut self, what: &'static str, mut take: impl FnMut(u16, &[u8])) -> Result<(), ControlError> {
        loop {
            let bytes = receive(&self.socket, &mut self.buf).map_err(ControlError::os(what))?;
            for message in messages(bytes) {
                let message = message.map_err(|why| ControlError::Answer { what, why })?;
                match message.kind {
                    _ if message.serial != self.serial => {}
                    DONE | ERROR => return finished(message.body).map_err(ControlError::os(what)),
                    kind => take(kind, message.body),
                }
            }
        }
    }

    fn send(&mut self, what: &'static str, kind: u16, flags: u16, body: &[u8]) -> Result<(), ControlError> {
        if self.dumping {
            // it was given up: the kernel refuses another one on this socket
            (self.socket, self.dumping) = (patient()?, false);
        }
        self.serial += 1;
        let mut request = vec![0; 16];
        let mut head = NetlinkHeader::default();
        (head.length, head.message_type) = ((16 + body.len()) as u32, kind);
        (head.flags, head.sequence_number) = (NLM_F_REQUEST | flags, self.serial);
        head.emit(&mut request);
        request.extend(body);
        let sent = self.socket.send_to(&request, &SocketAddr::new(0, 0), 0);
        sent.map(|_| ()).map_err(ControlError::os(what))
    }
}

/// A socket on which answers are waited for, but not for ever.
fn patient() -> Result<Socket, ControlError> {
    let socket = open(1 << 20)?;
    sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))
        .map_err(|e| ControlError::os("setting the patience of a netlink socket")(e.into()))?;
    Ok(socket)
}

fn open(buffer: usize) -> Result<Socket, ControlError> {
    let mut socket = Socket::new(NETLINK_ROUTE).map_err(ControlError::os("opening a netlink socket"))?;
    // privileged, and bounded by net.core.rmem_max otherwise
    if sockopt::set_socket_recv_buffer_size_force(&socket, buffer).is_err() {
        let size = i32::try_from(buffer).unwrap_or(i32::MAX);
        socket.set_rx_buf_sz(size).map_err(ControlError::os("setting the buffer of a netlink socket"))?;
    }
    socket.bind_auto().map_err(ControlError::os("binding a netlink socket"))?;
    Ok(socket)
}

/// The next datagram of the kernel; others may send to the socket too, and are not heard.
fn receive<'a>(socket: &Socket, buf: &'a mut [u8]) -> io::Result<&'a [u8]> {
    loop {
        match socket.recv_from(&mut &mut buf[..], MSG_TRUNC) {
            Ok((len, _)) if len > buf.len() => return Err(ErrorKind::InvalidData.into()),
            Ok((len, from)) if from.port_number() == 0 => return Ok(&buf[..len]),
            Err(e) if e.kind() != ErrorKind::Interrupted => return Err(e),
            _ => {}
        }
    }
}

/// `MSG_TRUNC`: tell how long a datagram is, even if it is cut off.
const MSG_TRUNC: i32 = 0x20;

/// The messages of a datagram.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Result<Message<'_>, &'static str>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let Ok(message) = NetlinkBuffer::new_checked(bytes) else {
            bytes = &[];
            return Some(Err("is cut short"));
        };
        let (kind, flags, serial) = (message.message_type(), message.flags(), message.sequence_number());
        let len = message.length() as usize;
        let body = bytes.get(16..len).unwrap_or_default();
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(Ok(Message { kind, flags, serial, body }))
    })
}

/// The events of a datagram, up to the first message that makes no sense.
#[cfg(fuzzing)]
pub(crate) fn decoded(datagram: &[u8], dump: bool) -> Vec<Event> {
    let event = |m: Message<'_>| decode(m.kind, m.flags, m.body, dump);
    messages(datagram).map_while(|m| m.and_then(event).ok()).flatten().collect()
}

/// What a kernel lacks is as good as empty.
fn absent(e: io::Error) -> io::Result<()> {
    if e.raw_os_error().is_some_and(|code| ABSENT.contains(&code)) { Ok(()) } else { Err(e) }
}

/// What the end of an answer says.
fn finished(body: &[u8]) -> io::Result<()> {
    let code = body.get(..4).and_then(|b| b.try_into().ok()).map_or(0, i32::from_ne_bytes).wrapping_neg();
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_events_or_an_error(
            kinds in prop::collection::vec((prop::sample::select(vec![16u16, 20, 24, 28, 32, 80, 104]), 0..3u16,
                prop::collection::vec(any::<u8>(), 0..120)), 0..4),
            cut in 0..400usize,
        ) {
            let mut bytes = Vec::new();
            for (kind, more, body) in &kinds {
                bytes.extend(((16 + body.len()) as u32).to_ne_bytes());
                bytes.extend((kind + more).to_ne_bytes());
                bytes.extend([0; 10]);
                bytes.extend(body);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
            bytes.truncate(cut);
            for message in messages(&bytes).flatten() {
                let _ = decode(message.kind, message.flags, message.body, true);
            }
            let _ = messages(&bytes[bytes.len() / 2..]).count();
        }
    }

    /// Looks at the namespace that the test runs in, which needs no privilege.
    #[test]
    fn a_dump_that_was_given_up_does_not_stop_the_next() {
        let mut queries = QuerySocket::open().unwrap();
        queries.send("x", kind::LINK + 2, NLM_F_DUMP, &[0; 16]).unwrap();
        queries.dumping = true; // whose answer nobody reads
        let mut links = 0;
        assert!(queries.dump(Dump::Links, |_| links += 1, || Ok(())).unwrap());
        assert!(links > 0, "at least the loopback interface");
        assert!(!queries.dumping);
        let refused = queries.dump(Dump::Links, |_| {}, || Err(ControlError::Restless { tries: 1 }));
        assert!(refused.is_err() && !queries.dumping, "read to its end all the same");
    }

    #[test]
    fn a_dump_ends_well_or_with_its_error() {
        assert!(finished(&[0; 4]).is_ok());
        assert!(
            finished(&(-95i32).to_ne_bytes()).or_else(absent).is_ok(),
            "a kernel without next-hop objects"
        );
        assert!(finished(&(-1i32).to_ne_bytes()).or_else(absent).is_err());
        assert_eq!(finished(&(-1i32).to_ne_bytes()).unwrap_err().raw_os_error(), Some(1));
    }
}
