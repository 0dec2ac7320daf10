//! Messages of SIP (RFC 3261), and the media port in their SDP (RFC 8866).
//!
//! A message without `Content-Length` ends with its datagram. A body is SDP if `Content-Type` says so.

use super::head::{Head, HeadRules, Header};
use super::parse::{Char, Lines, Number, Parse, more_if};
use super::start::{First, Start};
use super::state::{fields, steps};
use super::{Match, Verdict};

const VERSION: &[u8] = b"SIP/2.0";
/// Headers with their short names (RFC 3261, section 20).
const HEADERS: HeadRules = HeadRules {
    names: &[
        (b"content-length", Header::Length),
        (b"l", Header::Length),
        (b"content-type", Header::Type),
        (b"c", Header::Type),
    ],
    folds: true,
};

steps! {
    /// Part of a message.
    enum Part { Start, Head, Body, }
}

fields! {
    /// A message. Captures the media port of its body, or 0.
    struct Sip {
        part: Part,
        lines: Lines,
        start: Start,
        head: Head,
        media: Media,
    }
}

impl Parse<First<'_>> for Sip {
    #[inline]
    fn feed(&mut self, first: &First<'_>, bytes: &[u8]) -> Match {
        if self.part == Part::Head {
            let used = self.head.skip(&mut self.lines, bytes);
            if used > 0 {
                return Match::more(used);
            }
        }
        Match::byte(match self.part {
            Part::Start => self.start(*first, bytes[0]),
            Part::Head => {
                let char = self.lines.take(bytes[0]);
                let verdict = self.head.take(&HEADERS, char);
                if verdict == Verdict::Done { self.begin() } else { verdict }
            }
            Part::Body => self.body(bytes[0]),
        })
    }

    fn end(&mut self, _: &First<'_>) -> bool {
        self.part == Part::Body && !self.head.has(Header::Length) && self.media.end()
    }

    fn captures(&self) -> [u64; 2] {
        [self.media.port.value, 0]
    }
}

impl Sip {
    fn start(&mut self, first: First<'_>, byte: u8) -> Verdict {
        match self.lines.take(byte) {
            Char::Text(byte) => self.start.text(first, VERSION, byte),
            Char::Cr => Verdict::More,
            Char::End => {
                self.part = Part::Head;
                more_if(self.start.ends(VERSION))
            }
            Char::Bad => Verdict::Mismatch,
        }
    }

    /// The end of the headers.
    fn begin(&mut self) -> Verdict {
        self.part = Part::Body;
        let empty = self.head.has(Header::Length) && self.head.length.value == 0;
        if empty { Verdict::Done } else { Verdict::More }
    }

    fn body(&mut self, byte: u8) -> Verdict {
        if self.head.sdp && !self.media.take(byte) {
            return Verdict::Mismatch;
        }
        if !self.head.has(Header::Length) {
            return Verdict::More;
        }
        let left = &mut self.head.length.value;
        *left -= 1;
        if *left > 0 {
            return Verdict::More;
        }
        if self.media.end() { Verdict::Done } else { Verdict::Mismatch }
    }
}

steps! {
    /// Where in a line of SDP.
    enum Place { Start, M, Equals, Kind, Port, Other, Found, }
}

fields! {
    /// The port of the first line `m=KIND PORT ...` of SDP.
    struct Media {
        place: Place,
        port: Number,
    }
}

impl Media {
    /// Takes a byte. False if the port is none.
    fn take(&mut self, byte: u8) -> bool {
        self.place = match (self.place, byte) {
            (Place::Found, _) => Place::Found,
            (Place::Port, b' ' | b'/') if self.port.digits > 0 => Place::Found,
            (Place::Port, _) if self.port.decimal(byte, u64::from(u16::MAX)) => Place::Port,
            (Place::Port, _) => return false,
            (_, b'\n') => Place::Start,
            (Place::Start, b'm') => Place::M,
            (Place::M, b'=') => Place::Equals,
            (Place::Equals, b' ') => Place::Other,
            (Place::Equals | Place::Kind, byte) if byte != b' ' => Place::Kind,
            (Place::Kind, _) => Place::Port,
            _ => Place::Other,
        };
        true
    }

    /// Whether the body may end here.
    fn end(&self) -> bool {
        self.place != Place::Port
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;
    use super::*;

    fn read(first: First<'_>, text: &str, last: bool) -> Option<(usize, u64)> {
        parse::<_, Sip>(&first, text.as_bytes(), last).map(|(used, found)| (text.len() - used, found[0]))
    }

    const SDP: &str = "v=0\r\no=- 1 1 IN IP4 198.18.0.1\r\ns=m=audio 9\r\nc=IN IP4 198.18.0.1\r\nt=0 0\r\n\
        m=audio 49170/2 RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\nm=video 51372 RTP/AVP 99\r\n";

    fn invite(headers: &str, body: &str) -> String {
        format!("INVITE sip:bob@198.19.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 198.18.0.1\r\n{headers}\r\n{body}")
    }

    #[test]
    fn the_media_port_of_an_invite() {
        let port = |text: &str| read(First::Request(b"INVITE"), text, false);
        let len = SDP.len();
        assert_eq!(
            port(&invite(
                &format!("Content-Type: application/sdp\r\nContent-Length: {len}\r\n"),
                &format!("{SDP}rest")
            )),
            Some((4, 49_170))
        );
        assert_eq!(
            port(&invite(&format!("c : Application/SDP;x=y\r\nL\t:\r\n {len}\r\n"), SDP)),
            Some((0, 49_170))
        );
        assert_eq!(
            port(&invite(&format!("c: application/sdpx\r\nl: {len}\r\n"), SDP)),
            Some((0, 0)),
            "not SDP"
        );
        assert_eq!(port(&invite(&format!("l: {len}\r\n"), SDP)), Some((0, 0)), "no type");
        assert_eq!(port(&invite("c: application/sdp\r\nl: 3\r\n", "v=0")), Some((0, 0)));
        assert_eq!(port(&invite("c: application/sdp\r\nl: 0\r\n", "")), Some((0, 0)));
        for bad in ["m=audio 65536 x", "m=audio x", "m=audio ", "m=audio 5x "] {
            assert_eq!(
                port(&invite(&format!("c: application/sdp\r\nl: {}\r\n", bad.len()), bad)),
                None,
                "{bad}"
            );
        }
        for bad in ["l: 1\r\nContent-Length: 1\r\n", "l:\r\n", "l: 1\r\n 2\r\n", "l: x\r\n", "no colon\r\n"] {
            assert_eq!(port(&invite(bad, "a")), None, "{bad}");
        }
    }

    #[test]
    fn a_datagram_is_not_shorter_than_its_length() {
        let text = invite("l: 4\r\n", "abc");
        assert_eq!(read(First::Request(b"INVITE"), &text, true), None);
    }

    #[test]
    fn responses_and_datagrams_without_a_length() {
        let ok = "SIP/2.0 180 Ringing\r\nCSeq: 1 INVITE\r\n folded\r\nc: application/sdp\r\n\r\nm=audio 8000 RTP/AVP 0\r\n";
        assert_eq!(read(First::Response(180), ok, false), None);
        assert_eq!(read(First::Response(180), ok, true), Some((0, 8_000)));
        assert_eq!(read(First::Response(180), "SIP/2.0 180 R\r\n\r\n", true), Some((0, 0)));
        for bad in [
            "SIP/2.0 200 OK\r\n\r\n",
            "SIP/1.0 180 R\r\n\r\n",
            "SIP/2.0 180 R\r\n x: y\r\n\r\n",
            "HTTP/1.1 180 R\r\n\r\n",
            "SIP/2.0 180 R\r\n",
        ] {
            assert_eq!(read(First::Response(180), bad, true), None, "{bad}");
        }
    }
}
