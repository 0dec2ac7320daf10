//! Answers to segments for which there is no connection (RFC 9293, section 3.10.7.1).

use super::segment::{Outgoing, Segment, flag};
use super::settings::Settings;

/// What a segment without a connection gets. `None`: silence.
///
/// Without TIME-WAIT the end that closed first forgets the connection when it has the peer's FIN. Its last acknowledgement may be lost;
/// then FIN comes again, and is acknowledged here, so that the peer ends in order.
pub(crate) fn answer(segment: &Segment<'_>, settings: &Settings) -> Option<Outgoing> {
    let end = segment.seq.wrapping_add(segment.len());
    let relevant = segment.flags & (flag::SYN | flag::ACK | flag::FIN | flag::RST);
    if segment.has(flag::RST) {
        return None;
    }
    if settings.time_wait == 0 && relevant == flag::FIN | flag::ACK {
        return Some(Outgoing { seq: segment.ack, ack: end, flags: flag::ACK, ..Outgoing::default() });
    }
    let number = if segment.has(flag::ACK) { (segment.ack, None) } else { (0, Some(end)) };
    settings.refuse.then(|| reset(number))
}

/// The reset with a number, and an acknowledgement where the segment that it answers had none.
pub(crate) fn reset((seq, ack): (u32, Option<u32>)) -> Outgoing {
    let flags = if ack.is_some() { flag::RST | flag::ACK } else { flag::RST };
    Outgoing { seq, ack: ack.unwrap_or(0), flags, ..Outgoing::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(flags: u8, data: &[u8], settings: &Settings) -> Option<(u8, u32, u32)> {
        let segment = Segment { seq: u32::MAX - 1, ack: 7, flags, data, ..Segment::default() };
        answer(&segment, settings).map(|out| (out.flags, out.seq, out.ack))
    }

    #[test]
    fn resets_take_their_numbers_from_the_segment() {
        let settings = Settings { time_wait: 1, ..Settings::default() };
        assert_eq!(to(flag::SYN, b"", &settings), Some((flag::RST | flag::ACK, 0, u32::MAX)));
        assert_eq!(to(flag::SYN | flag::FIN, b"abc", &settings), Some((flag::RST | flag::ACK, 0, 3)));
        assert_eq!(to(0, b"abc", &settings), Some((flag::RST | flag::ACK, 0, 1)));
        for flags in [flag::ACK, flag::ACK | flag::SYN, flag::ACK | flag::FIN, flag::ACK | flag::PSH] {
            assert_eq!(to(flags, b"abc", &settings), Some((flag::RST, 7, 0)), "{flags:#x}");
        }
        for flags in [flag::RST, flag::RST | flag::ACK, flag::RST | flag::SYN | flag::FIN] {
            assert_eq!(to(flags, b"", &settings), None, "{flags:#x}");
        }
    }

    #[test]
    fn a_late_fin_is_acknowledged_when_nobody_waits() {
        let settings = Settings { time_wait: 0, ..Settings::default() };
        assert_eq!(to(flag::FIN | flag::ACK, b"", &settings), Some((flag::ACK, 7, u32::MAX)));
        assert_eq!(to(flag::FIN | flag::ACK | flag::PSH, b"abc", &settings), Some((flag::ACK, 7, 2)));
        assert_eq!(to(flag::FIN, b"", &settings), Some((flag::RST | flag::ACK, 0, u32::MAX)));
        assert_eq!(to(flag::FIN | flag::ACK | flag::SYN, b"", &settings), Some((flag::RST, 7, 0)));
    }

    #[test]
    fn silence_answers_only_late_fins() {
        let settings = Settings { time_wait: 0, refuse: false, ..Settings::default() };
        assert_eq!((to(flag::SYN, b"", &settings), to(flag::ACK, b"", &settings)), (None, None));
        assert!(to(flag::FIN | flag::ACK, b"", &settings).is_some());
    }
}
