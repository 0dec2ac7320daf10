//! Replies of FTP and SMTP, of one line or several, and the ports that FTP writes into them.
//!
//! The first line begins with the number and, if more lines follow, `-`. The last line begins with the number and a space, or is only the
//! number. Lines in between are whatever they are (RFC 959, section 4.2; RFC 5321, section 4.2.1).

use std::net::IpAddr;

use super::address::{Address, HOST_PORT, host_port};
use super::parse::{Char, Lines, Parse, done_if, more_if};
use super::state::{fields, steps};
use super::{Match, Verdict};

/// What to look for in the last line of a reply.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seek {
    /// Nothing.
    Nothing,
    /// Six numbers `h1,h2,h3,h4,p1,p2`, the first four of which are this address.
    HostPort(IpAddr),
    /// `(|||port|)`, or the same with another delimiter (RFC 2428, section 3).
    Extended,
}

/// What a reply must be.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplyRules {
    pub(super) code: u16,
    pub(super) seek: Seek,
}

steps! {
    /// Where in a line.
    enum Place { Code, Middle, Last, }
}

fields! {
    /// A reply. Captures the port that is sought.
    struct Reply {
        lines: Lines,
        place: Place,
        /// Digits of the number that were there in this line.
        matched: u8,
        /// A line is behind.
        several: bool,
        found: Found,
        port: u16,
    }
}

impl Parse<ReplyRules> for Reply {
    #[inline]
    fn feed(&mut self, rules: &ReplyRules, bytes: &[u8]) -> Match {
        Match::byte(match self.lines.take(bytes[0]) {
            Char::Text(byte) => self.text(rules, byte),
            Char::Cr => Verdict::More,
            Char::End => self.line(rules),
            Char::Bad => Verdict::Mismatch,
        })
    }

    fn captures(&self) -> [u64; 2] {
        [u64::from(self.port), 0]
    }
}

impl Reply {
    fn text(&mut self, rules: &ReplyRules, byte: u8) -> Verdict {
        match self.place {
            Place::Code if self.matched < CODE_DIGITS && byte == digit(rules.code, self.matched) => {
                self.matched += 1
            }
            Place::Code if self.matched == CODE_DIGITS && byte == b' ' => self.place = Place::Last,
            Place::Code if self.several || self.matched == CODE_DIGITS && byte == b'-' => {
                self.place = Place::Middle
            }
            Place::Code => return Verdict::Mismatch,
            Place::Middle => {}
            Place::Last => self.seek(rules.seek, byte),
        }
        Verdict::More
    }

    fn line(&mut self, rules: &ReplyRules) -> Verdict {
        let last = self.place == Place::Last || self.place == Place::Code && self.matched == CODE_DIGITS;
        if last {
            // The line's end ends a number, too.
            self.seek(rules.seek, b'\n');
            return done_if(matches!(rules.seek, Seek::Nothing) || self.port != 0);
        }
        let ends = self.place == Place::Code && !self.several;
        self.lines.restart();
        (self.place, self.matched, self.several) = (Place::Code, 0, true);
        more_if(!ends)
    }

    fn seek(&mut self, seek: Seek, byte: u8) {
        if self.found.done {
            return;
        }
        let port = match seek {
            Seek::Nothing => return,
            Seek::HostPort(sender) => {
                let found = self.found.host_port(byte).map(host_port);
                found.map(|(host, port)| if host == sender { port } else { 0 })
            }
            Seek::Extended => self.found.extended(byte),
        };
        if let Some(port) = port {
            (self.found.done, self.port) = (true, port);
        }
    }
}

/// Digits of a reply's number.
const CODE_DIGITS: u8 = 3;

/// A digit of a number of three.
pub(super) fn digit(number: u16, at: u8) -> u8 {
    let digit = match at {
        0 => number / 100,
        1 => number / 10,
        _ => number,
    };
    b'0' + (digit % 10) as u8
}

fields! {
    /// What was found in a line.
    struct Found {
        address: Address,
        /// Bytes of `(|||` that were there.
        open: u8,
        delimiter: u8,
        /// The digits here are of a number that is too large.
        skips: bool,
        done: bool,
    }
}

impl Found {
    /// The first six numbers with commas in between.
    fn host_port(&mut self, byte: u8) -> Option<u64> {
        let digit = byte.is_ascii_digit();
        if self.skips {
            self.skips = digit;
            return None;
        }
        if self.address.list(byte, b',', HOST_PORT) {
            return None;
        }
        let found = if digit { None } else { self.address.list_end(HOST_PORT) };
        (self.address, self.skips) = (Address::default(), digit);
        found
    }

    /// The port of `(|||port|)`.
    fn extended(&mut self, byte: u8) -> Option<u16> {
        const OPEN: u8 = 4;
        match self.open {
            0 => self.open = u8::from(byte == b'('),
            1 if byte.is_ascii_punctuation() && byte != b'(' => (self.open, self.delimiter) = (2, byte),
            2..OPEN if byte == self.delimiter => self.open += 1,
            OPEN if self.address.number.decimal(byte, u64::from(u16::MAX)) => {}
            OPEN if self.address.number.digits > 0 && byte == self.delimiter => self.open += 1,
            _ => {
                let closed = self.open > OPEN && byte == b')';
                let port = self.address.number.finish() as u16;
                self.open = u8::from(byte == b'(');
                return closed.then_some(port);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;
    use super::*;

    fn reply(code: u16, seek: Seek, text: &str) -> Option<(usize, u64)> {
        parse::<_, Reply>(&ReplyRules { code, seek }, text.as_bytes(), false)
            .map(|(used, found)| (used, found[0]))
    }

    #[test]
    fn replies_of_one_line_and_several() {
        fn done(code: u16, text: &str) -> Option<&str> {
            reply(code, Seek::Nothing, text).map(|(used, _)| &text[used..])
        }
        assert_eq!(done(220, "220 ProFTPD ready\r\n331 x"), Some("331 x"));
        assert_eq!(done(250, "250\r\n"), Some(""));
        assert_eq!(
            done(230, "230-Welcome,\r\n  230 users\r\n\r\n220 x\r\n230x\r\n230 Login.\r\nrest"),
            Some("rest")
        );
        assert_eq!(done(250, "250-mail.example\r\n250-SIZE 1000\r\n250 PIPELINING\r\n"), Some(""));
        assert_eq!(done(211, "211-x\r\n211\r\n"), Some(""));
        for bad in
            ["331 no\r\n", "22 x\r\n", "220x\r\n", "22\r\n", "\r\n", " 220 x\r\n", "220 a\nb", "220 a\rb"]
        {
            assert_eq!(done(220, bad), None, "{bad}");
        }
        assert_eq!(done(220, "220-a\r\n220-b\r\n"), None, "not complete");
        assert_eq!(done(220, &format!("220-a\r\n{}220 b\r\n", "line\r\n".repeat(2_000))), Some(""));
    }

    #[test]
    fn passive_replies() {
        let sender = IpAddr::from([198, 19, 0, 7]);
        let port = |text: &str| reply(227, Seek::HostPort(sender), text).map(|(_, port)| port);
        assert_eq!(port("227 Entering Passive Mode (198,19,0,7,200,10).\r\n"), Some(51_210));
        assert_eq!(port("227 =198,19,0,7,0,21\r\n"), Some(21));
        assert_eq!(port("227-one\r\n 1,2,3,4,5,6\r\n227 1,2,3 999,198,19,0,7,0,21,9\r\n"), Some(21));
        assert_eq!(port("227 is 10198,19,0,7,0,21 198,19,0,7,0,22\r\n"), Some(22));
        for bad in [
            "198,19,0,8,200,10",
            "198,19,0,7,200",
            "198,19,0,7,0,0",
            "198,19,,7,2,200,10",
            "none",
            "1198,19,0,7,0,21",
        ] {
            assert_eq!(port(&format!("227 ok ({bad})\r\n")), None, "{bad}");
        }
    }

    #[test]
    fn extended_passive_replies() {
        let port = |text: &str| reply(229, Seek::Extended, text).map(|(_, port)| port);
        assert_eq!(port("229 Entering Extended Passive Mode (|||6446|)\r\n"), Some(6446));
        assert_eq!(port("229 (see RFC) (((!!!65535!)\r\n"), Some(65_535));
        for bad in ["(|||65536|)", "(|||0|)", "(||||)", "(||!1|)", "(|||1|", "|||1|", "(|||12)", "(|1|x|12|)"]
        {
            assert_eq!(port(&format!("229 ok {bad}\r\n")), None, "{bad}");
        }
    }
}
