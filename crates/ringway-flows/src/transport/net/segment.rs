//! TCP and UDP of received packets.

use ringway_wire::checksum::PseudoHeader;
use ringway_wire::{Tcp, TcpFlags, Udp};

use super::Ports;
use super::received::Body;
use super::refused::Refused;
use crate::transport::segment::{Segment, flag};

/// The greatest shift of a window (RFC 7323, section 2.3).
const MAX_SHIFT: u8 = 14;

/// Reads a segment, which is all of an IP packet behind its headers.
#[inline(always)]
pub(super) fn tcp(bytes: &[u8], pseudo: PseudoHeader) -> Result<Body<'_>, Refused> {
    let tcp = Tcp::new_checked(bytes)?;
    if !tcp.verify_checksum(pseudo) {
        return Err(Refused::Checksum);
    }
    let ports = Ports { source: tcp.src_port(), target: tcp.dst_port() };
    let TcpFlags(flags) = tcp.flags();
    let (mss, shift) = if flags & flag::SYN == 0 { (0, None) } else { options(tcp.options()) };
    let (seq, ack, window) = (tcp.seq(), tcp.ack(), tcp.window());
    Ok(Body::Tcp(ports, Segment { seq, ack, window, flags, mss, shift, data: tcp.into_payload() }))
}

/// Reads a datagram.
#[inline]
pub(super) fn udp(bytes: &[u8], pseudo: PseudoHeader) -> Result<Body<'_>, Refused> {
    let udp = Udp::new_checked(bytes)?;
    if !udp.verify_checksum(pseudo) {
        return Err(Refused::Checksum);
    }
    Ok(Body::Udp(Ports { source: udp.src_port(), target: udp.dst_port() }, udp.into_payload()))
}

/// Largest segment and shift of windows from the options of a SYN. Behind an option with a wrong length nothing counts.
pub(super) fn options(mut bytes: &[u8]) -> (u16, Option<u8>) {
    let (mut mss, mut shift) = (0, None);
    loop {
        match *bytes {
            [1, ref rest @ ..] => bytes = rest,
            [2, 4, high, low, ref rest @ ..] => {
                mss = u16::from_be_bytes([high, low]);
                bytes = rest;
            }
            [3, 3, value, ref rest @ ..] => {
                shift = Some(value.min(MAX_SHIFT));
                bytes = rest;
            }
            [kind, len, ..] if !matches!(kind, 0 | 2 | 3) && len >= 2 && bytes.len() >= len.into() => {
                bytes = &bytes[len.into()..];
            }
            _ => return (mss, shift),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::options;

    #[test]
    fn options_of_a_syn() {
        // As Linux sends them: MSS 1460, SACK, time stamps, no operation, shift 7.
        let linux = [2, 4, 5, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7];
        assert_eq!(options(&linux), (1460, Some(7)));
        assert_eq!(options(&[]), (0, None));
        assert_eq!(options(&[1, 1, 3, 3, 200, 0, 2, 4, 5, 0xb4]), (0, Some(14)), "the end of the list");
    }

    #[test]
    fn an_option_with_a_wrong_length_ends_the_list() {
        for wrong in [&[2, 3, 5][..], &[2, 4, 5], &[3, 4, 1, 1], &[3], &[8, 0, 1], &[8, 1], &[8, 20, 0, 0]] {
            let bytes = [&[2, 4, 1, 0], wrong, &[3, 3, 9]].concat();
            let behind = &bytes[..4 + wrong.len()];
            assert_eq!(options(behind), (256, None), "{wrong:?}");
        }
        assert_eq!(options(&[2, 4, 1, 0, 8, 0, 3, 3, 9]), (256, None));
    }
}
