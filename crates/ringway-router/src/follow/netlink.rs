//! Dumps of packet filters and IPsec policies, as far as telling whether there are any takes.

use std::io;

use netlink_packet_core::{Emitable, NLM_F_DUMP, NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader, NlasIterator};
use netlink_sys::{Socket, SocketAddr};
use rustix::net::sockopt::{self, Timeout};

const ERROR: u16 = 2;
const DONE: u16 = 3;
/// The kernel sends no more at once in a dump.
const DATAGRAM: usize = 1 << 17;

/// Asks for all entries: `take` gets the type and the body of each message. A kernel that lacks the protocol has no entries.
pub(super) fn dump(
    protocol: isize,
    kind: u16,
    body: &[u8],
    mut take: impl FnMut(u16, &[u8]),
) -> io::Result<()> {
    let mut socket = match Socket::new(protocol) {
        Err(e) if e.raw_os_error() == Some(libc::EPROTONOSUPPORT) => return Ok(()),
        socket => socket?,
    };
    socket.bind_auto()?;
    dump_on(&socket, kind, body, &mut take)
}

fn dump_on(socket: &Socket, kind: u16, body: &[u8], take: &mut dyn FnMut(u16, &[u8])) -> io::Result<()> {
    sockopt::set_socket_timeout(socket, Timeout::Recv, Some(std::time::Duration::from_secs(10)))?;
    let mut request = vec![0; 16];
    let mut head = NetlinkHeader::default();
    (head.length, head.message_type) = ((16 + body.len()) as u32, kind);
    (head.flags, head.sequence_number) = (NLM_F_REQUEST | NLM_F_DUMP, 1);
    head.emit(&mut request);
    request.extend(body);
    socket.send_to(&request, &SocketAddr::new(0, 0), 0)?;
    let mut buffer = vec![0; DATAGRAM];
    loop {
        let (len, from) = socket.recv_from(&mut &mut buffer[..], 0)?;
        if from.port_number() != 0 {
            continue; // the kernel has 0; other processes may send to the socket, too
        }
        let mut bytes = &buffer[..len];
        while !bytes.is_empty() {
            let cut = |_| io::Error::from(io::ErrorKind::InvalidData);
            let message = NetlinkBuffer::new_checked(bytes).map_err(cut)?;
            let (kind, len) = (message.message_type(), message.length() as usize);
            let body = bytes.get(16..len).unwrap_or_default();
            match kind {
                DONE => return Ok(()),
                ERROR => return refused(body),
                _ => take(kind, body),
            }
            bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

fn refused(body: &[u8]) -> io::Result<()> {
    let code = body.get(..4).and_then(|b| b.try_into().ok()).map_or(0, i32::from_ne_bytes).wrapping_neg();
    match code {
        0 | libc::EOPNOTSUPP | libc::ENOENT | libc::EINVAL => Ok(()), // the part of the kernel is not there
        _ => Err(io::Error::from_raw_os_error(code)),
    }
}

/// The attributes behind `header` bytes, up to the first that is cut short: number without flags, and value.
pub(super) fn attributes(body: &[u8], header: usize) -> impl Iterator<Item = (u16, &[u8])> {
    let all = NlasIterator::new(body.get(header..).unwrap_or_default());
    all.map_while(|attribute| {
        let attribute = attribute.ok()?;
        let (kind, end) = (attribute.kind() & 0x3fff, usize::from(attribute.length()));
        Some((kind, attribute.into_inner().get(4..end)?))
    })
}

/// A number in network order, 0 where it is missing.
pub(super) fn number(value: &[u8]) -> u32 {
    value.get(..4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// Text up to its zero byte.
pub(super) fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value.split(|b| *b == 0).next().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW_LINK: u16 = 16;
    const GET_LINK: u16 = 18;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 16];
        let mut head = NetlinkHeader::default();
        (head.length, head.message_type, head.sequence_number) = ((16 + body.len()) as u32, kind, 1);
        head.emit(&mut bytes);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn an_answer_of_another_process_is_not_believed() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("SKIP: sending to the socket of another needs root; run these tests with sudo");
        }
        let mut socket = Socket::new(netlink_sys::protocols::NETLINK_ROUTE).unwrap();
        let reader = socket.bind_auto().unwrap();
        let mut forger = Socket::new(netlink_sys::protocols::NETLINK_ROUTE).unwrap();
        forger.bind_auto().unwrap();
        for forged in [message(NEW_LINK, b"forged!!"), message(DONE, &[0; 4])] {
            forger.send_to(&forged, &reader, 0).unwrap();
        }
        let mut links = Vec::new();
        dump_on(&socket, GET_LINK, &[0; 16], &mut |kind, body| links.push((kind, body.to_vec()))).unwrap();
        assert!(!links.is_empty(), "the kernel was heard");
        assert!(links.iter().all(|(kind, body)| *kind == NEW_LINK && body != b"forged!!"), "{links:?}");
    }
}
