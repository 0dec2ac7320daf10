//! Netlink: requests, answers, attributes (Documentation/userspace-api/netlink/intro.rst). Decoding takes any bytes.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::fd::check;

/// `NLM_F_REQUEST`, `NLM_F_ACK`, `NLM_F_CREATE | NLM_F_EXCL`, `NLM_F_DUMP` of linux/netlink.h.
const REQUEST: u16 = 0x1;
const ACK: u16 = 0x4;
/// Flags of a request that makes a new object, and fails where there is one.
pub const CREATE: u16 = 0x600;
/// Flags of a request for all objects.
pub const DUMP: u16 = 0x300;

/// Bytes of `struct nlmsghdr`.
const HEADER: usize = 16;

/// Set in the kind of an attribute that holds others.
pub const NESTED: u16 = 0x8000;

/// `NETLINK_EXT_ACK`, `NETLINK_CAP_ACK`: refusals say why in words, and do not repeat the request.
const WORDS: [i32; 2] = [11, 10];

/// `NLM_F_CAPPED`, `NLM_F_ACK_TLVS`, `NLMSGERR_ATTR_MSG`.
const CAPPED: u16 = 0x100;
const HAS_WORDS: u16 = 0x200;
const WORDS_TEXT: u16 = 1;

/// How long the kernel may take for an answer.
const PATIENCE: libc::timeval = libc::timeval { tv_sec: 2, tv_usec: 0 };

/// A socket to the kernel, in the network namespace of the thread that made it.
#[derive(Debug)]
pub struct Netlink {
    fd: OwnedFd,
    serial: u32,
    words: Option<String>,
}

/// One message of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The type of the message (`nlmsg_type`).
    pub kind: u16,
    /// All behind its header.
    pub body: Vec<u8>,
}

impl Netlink {
    /// For links, addresses, routes and traffic control.
    pub fn route() -> io::Result<Self> {
        Self::new(libc::NETLINK_ROUTE)
    }

    /// For families by name.
    pub fn generic() -> io::Result<Self> {
        Self::new(libc::NETLINK_GENERIC)
    }

    fn new(protocol: i32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers are passed.
        let fd = check(unsafe { libc::socket(libc::AF_NETLINK, kind, protocol) })?;
        // SAFETY: the call just made this descriptor.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let (value, len) = (std::ptr::from_ref(&PATIENCE).cast(), size_of::<libc::timeval>() as u32);
        // SAFETY: passes a live value and its size.
        check(unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVTIMEO, value, len) })?;
        for option in WORDS {
            let (on, len) = (1i32, size_of::<i32>() as u32);
            let value = (&raw const on).cast();
            // SAFETY: passes a live value and its size. Without the option there are only fewer words.
            unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_NETLINK, option, value, len) };
        }
        Ok(Self { fd, serial: 0, words: None })
    }

    /// What the kernel said about the last refusal, if it said more than a number.
    pub fn words(&mut self) -> Option<String> {
        self.words.take()
    }

    /// Sends a request and collects its answer. `flags`: [`DUMP`], [`CREATE`] or none.
    pub fn ask(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<Vec<Message>> {
        self.serial += 1;
        let flags = REQUEST | flags | if flags & DUMP == DUMP { 0 } else { ACK };
        let request = encode(kind, flags, self.serial, body);
        // SAFETY: the slice is readable for its length.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        let (mut all, mut buf) = (Vec::new(), vec![0u8; 1 << 16]);
        loop {
            let n = self.receive(&mut buf)?;
            match take(&buf[..n], self.serial, &mut all) {
                Ok(more) if n > 0 && !more => {}
                Ok(_) => return Ok(all),
                Err(e) => {
                    self.words = words(&buf[..n]);
                    return Err(e);
                }
            }
        }
    }

    /// The next datagram of the kernel, whose port id is 0. Other processes may send to this socket, too: the
    /// socket does not hear them.
    fn receive(&self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            // SAFETY: all zero is a valid value of this plain struct.
            let mut from: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
            let mut size = size_of::<libc::sockaddr_nl>() as u32;
            let sender = (&raw mut from).cast();
            // SAFETY: the kernel writes at most the buffer's length, and an address of at most `size` bytes
            // to `from`.
            let n = unsafe {
                libc::recvfrom(
                    self.fd.as_raw_fd(),
                    buf.as_mut_ptr().cast(),
                    buf.len(),
                    0,
                    sender,
                    &raw mut size,
                )
            };
            match usize::try_from(n) {
                Ok(n) if from.nl_pid == 0 => return Ok(n),
                Ok(_) => {}
                Err(_) => match io::Error::last_os_error() {
                    e if e.kind() == io::ErrorKind::Interrupted => {}
                    e => return Err(e),
                },
            }
        }
    }
}

fn encode(kind: u16, flags: u16, serial: u32, body: &[u8]) -> Vec<u8> {
    let mut m = Vec::with_capacity(HEADER + body.len());
    m.extend_from_slice(&((HEADER + body.len()) as u32).to_ne_bytes());
    m.extend_from_slice(&kind.to_ne_bytes());
    m.extend_from_slice(&flags.to_ne_bytes());
    m.extend_from_slice(&serial.to_ne_bytes());
    m.extend_from_slice(&0u32.to_ne_bytes());
    m.extend_from_slice(body);
    m
}

/// Takes the messages of one datagram; true when the answer is complete.
pub fn take(mut bytes: &[u8], serial: u32, all: &mut Vec<Message>) -> io::Result<bool> {
    while let (Some(len), Some(kind), Some(of)) = (u32_at(bytes, 0), u16_at(bytes, 4), u32_at(bytes, 8)) {
        let len = len as usize;
        let Some(body) = bytes.get(HEADER..len) else { return Err(io::ErrorKind::InvalidData.into()) };
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        if of != serial {
            continue;
        }
        match i32::from(kind) {
            libc::NLMSG_DONE => return Ok(true),
            libc::NLMSG_ERROR => {
                return match u32_at(body, 0) {
                    Some(0) => Ok(true),
                    Some(e) => Err(io::Error::from_raw_os_error((e as i32).wrapping_neg())),
                    None => Err(io::ErrorKind::InvalidData.into()),
                };
            }
            _ => all.push(Message { kind, body: body.to_vec() }),
        }
    }
    Ok(false)
}

/// The words in a datagram that is a refusal (`struct nlmsgerr`: the error, the header of the request, all of it unless
/// it is capped, then attributes).
fn words(bytes: &[u8]) -> Option<String> {
    let flags = u16_at(bytes, 6)?;
    let request = if flags & CAPPED != 0 { HEADER } else { u32_at(bytes, HEADER + 4)? as usize };
    let attrs = bytes.get((HEADER + 4).checked_add(request.checked_next_multiple_of(4)?)?..)?;
    let said = attribute(attrs, WORDS_TEXT).filter(|_| flags & HAS_WORDS != 0)?;
    Some(text(said)).filter(|t| !t.is_empty())
}

/// Native-endian words in a message.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

/// The same, 32 bits.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The attributes in `bytes`: kind, without the flag for nesting, and value. Stops at the first that is malformed.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (len, kind) = (usize::from(u16_at(bytes, 0)?), u16_at(bytes, 2)?);
        let value = bytes.get(4..len)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & !NESTED, value))
    })
}

/// The value of the first attribute of a kind.
pub fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(k, _)| *k == kind).map(|(_, v)| v)
}

/// Text of an attribute, up to its NUL.
pub fn text(value: &[u8]) -> String {
    let end = value.iter().position(|&b| b == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

/// Appends an attribute. Values are short: names, numbers and nests of those.
pub fn put(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend_from_slice(&((4 + value.len()) as u16).to_ne_bytes());
    body.extend_from_slice(&kind.to_ne_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn answers_end_with_done_or_an_error() {
        let mut all = Vec::new();
        let two = [encode(16, 0, 7, b"abcde"), vec![0; 3], encode(16, 0, 6, b"other")].concat();
        assert!(!take(&two, 7, &mut all).unwrap());
        assert_eq!(all, [Message { kind: 16, body: b"abcde".to_vec() }]);
        assert!(take(&encode(3, 0, 7, &[0; 4]), 7, &mut all).unwrap());
        assert!(take(&encode(2, 0, 7, &[0; 4]), 7, &mut all).unwrap());
        let refused = take(&encode(2, 0, 7, &(-libc::EPERM).to_ne_bytes()), 7, &mut all).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
        let mut cut = encode(16, 0, 7, b"abcd");
        cut.pop();
        assert!(take(&cut, 7, &mut all).is_err());
    }

    #[test]
    fn refusals_say_why() {
        let mut all = Vec::new();
        let body = |request: &[u8]| {
            let mut body = [&(-libc::EINVAL).to_ne_bytes(), request].concat();
            put(&mut body, 1, b"MTU too large\0");
            body
        };
        let request = encode(19, REQUEST, 7, b"abcd");
        let full = encode(2, HAS_WORDS, 7, &body(&request));
        assert_eq!(words(&full).as_deref(), Some("MTU too large"));
        let capped = encode(2, HAS_WORDS | CAPPED, 7, &body(&request[..HEADER]));
        assert_eq!(words(&capped).as_deref(), Some("MTU too large"));
        assert!(take(&capped, 7, &mut all).is_err());
        assert_eq!(words(&encode(2, 0, 7, &body(&request))), None);
        // The kernel's own words about the number of an interface (RTA_OIF) that is cut off.
        let mut netlink = Netlink::route().unwrap();
        let mut route = vec![0; 12];
        route[0] = libc::AF_INET as u8;
        put(&mut route, 4, &[1, 0]);
        let asked = netlink.ask(libc::RTM_GETROUTE, 0, &route);
        assert!(asked.is_err() && netlink.words().is_some() && netlink.words().is_none());
    }

    #[test]
    fn attributes_come_back_as_put() {
        let mut inner = Vec::new();
        put(&mut inner, 1, b"veth\0");
        let mut body = Vec::new();
        put(&mut body, 3, b"a0\0");
        put(&mut body, 18 | NESTED, &inner);
        assert_eq!(attribute(&body, 3).map(text).as_deref(), Some("a0"));
        let kind = attribute(&body, 18).and_then(|i| attribute(i, 1)).map(text);
        assert_eq!(kind.as_deref(), Some("veth"));
        assert_eq!(attribute(&body, 4), None);
    }

    /// The port id that the kernel gave a socket with its first request.
    fn port_id(socket: &Netlink) -> u32 {
        // SAFETY: all zero is a valid value of this plain struct.
        let mut own: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        let mut size = size_of::<libc::sockaddr_nl>() as u32;
        // SAFETY: the kernel writes an address of at most `size` bytes to `own`.
        check(unsafe { libc::getsockname(socket.fd.as_raw_fd(), (&raw mut own).cast(), &raw mut size) })
            .unwrap();
        own.nl_pid
    }

    fn send_to(from: &Netlink, port: u32, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: all zero is a valid value of this plain struct.
        let mut to: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        (to.nl_family, to.nl_pid) = (libc::AF_NETLINK as u16, port);
        let (data, size) = (bytes.as_ptr().cast(), size_of::<libc::sockaddr_nl>() as u32);
        // SAFETY: the slice is readable for its length, and so is the address.
        let sent =
            unsafe { libc::sendto(from.fd.as_raw_fd(), data, bytes.len(), 0, (&raw const to).cast(), size) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    #[test]
    fn an_answer_of_another_process_is_not_believed() {
        if !crate::is_root() {
            return eprintln!("SKIP: sending to the socket of another needs root; run these tests with sudo");
        }
        let body = [0; 16]; // struct ifinfomsg
        let mut reader = Netlink::route().unwrap();
        reader.ask(libc::RTM_GETLINK, DUMP, &body).unwrap();
        let serial = reader.serial + 1;
        let forger = Netlink::route().unwrap();
        for answer in [
            encode(libc::RTM_NEWLINK, 0, serial, b"forged"),
            encode(libc::NLMSG_DONE as u16, 0, serial, &[0; 4]),
            encode(libc::NLMSG_ERROR as u16, 0, serial, &(-libc::EPERM).to_ne_bytes()),
        ] {
            send_to(&forger, port_id(&reader), &answer).unwrap();
        }
        let links = reader.ask(libc::RTM_GETLINK, DUMP, &body).unwrap();
        assert!(!links.is_empty() && links.iter().all(|link| link.body != b"forged"), "{links:?}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_messages_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut all = Vec::new();
            let _ = (take(&bytes, 7, &mut all), words(&bytes));
            for (_, value) in attributes(&bytes) {
                prop_assert!(value.len() < bytes.len());
                text(value);
            }
        }
    }
}
