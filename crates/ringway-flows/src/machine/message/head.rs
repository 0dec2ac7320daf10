//! The headers of a message of HTTP or SIP.
//!
//! Only the headers that say how the message goes on are read. All others must be well-formed. Names are compared while they come, and no
//! byte is kept.

use super::Verdict;
use super::parse::{Char, Lines, Number, is_text, more_if};
use super::state::{fields, steps};

/// What sets the headers of protocols apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadRules {
    /// The headers to read, by their names in lower case; at most 8.
    pub(super) names: &'static [(&'static [u8], Header)],
    /// A line that begins with a space goes on with the header before, and a name may have spaces behind it.
    pub(super) folds: bool,
}

steps! {
    /// A header.
    enum Header { Other, Length, Encoding, Host, Type, }
}

steps! {
    /// Where in a line.
    enum Place { Start, Name, Colon, Value, }
}

steps! {
    /// Where in a value.
    enum Spot { Before, Inside, Behind, }
}

fields! {
    /// The headers of a message up to the empty line behind them.
    struct Head {
        place: Place,
        /// Names that this one may still be, as bits.
        names: u8,
        /// Bytes of the name or value that were there.
        matched: u8,
        header: Header,
        spot: Spot,
        /// Headers that were there, as bits.
        seen: u8,
        /// The value of `Content-Length`.
        length: Number,
        chunked: bool,
        sdp: bool,
    }
}

impl Head {
    /// Takes a byte of the headers. `Done` with the last byte of the empty line.
    #[inline]
    pub(super) fn take(&mut self, rules: &HeadRules, char: Char) -> Verdict {
        match (char, self.place) {
            (Char::Text(byte), Place::Value) => more_if(is_text(byte) && self.value(byte)),
            (Char::Text(byte), Place::Name) => more_if(self.name(rules, byte)),
            (Char::Text(byte), Place::Colon) => more_if(byte == b':' && self.begin(rules) || is_space(byte)),
            (Char::Text(byte), Place::Start) => more_if(self.start(rules, byte)),
            (Char::Cr, _) => Verdict::More,
            (Char::End, Place::Value) => {
                self.place = Place::Start;
                more_if(rules.folds || self.finish())
            }
            (Char::End, Place::Start) if self.finish() => Verdict::Done,
            (Char::End, _) | (Char::Bad, _) => Verdict::Mismatch,
        }
    }

    /// Takes the first bytes if they are of a name or value that nobody reads. Returns how many it took.
    #[inline]
    pub(super) fn skip(&self, lines: &mut Lines, bytes: &[u8]) -> usize {
        match (self.place, self.header) {
            (Place::Name, _) if self.names == 0 => lines.skip(bytes, is_token),
            (Place::Value, Header::Other | Header::Host) => lines.skip(bytes, is_text),
            _ => 0,
        }
    }

    /// Whether this header was there.
    pub(super) fn has(&self, header: Header) -> bool {
        self.seen >> header as u8 & 1 == 1
    }

    /// The first byte of a line.
    fn start(&mut self, rules: &HeadRules, byte: u8) -> bool {
        if is_space(byte) {
            // Only behind a header, which `seen` has.
            self.place = Place::Value;
            return rules.folds && self.seen != 0 && self.value(byte);
        }
        let ended = self.finish();
        (self.place, self.matched, self.names) = (Place::Name, 0, u8::MAX);
        ended && self.name(rules, byte)
    }

    fn name(&mut self, rules: &HeadRules, byte: u8) -> bool {
        if byte == b':' {
            return self.matched > 0 && self.begin(rules);
        }
        if rules.folds && is_space(byte) {
            self.place = Place::Colon;
            return true;
        }
        if self.names != 0 {
            let at = usize::from(self.matched);
            let fits = |name: &[u8]| name.get(at) == Some(&byte.to_ascii_lowercase());
            let bits = rules.names.iter().enumerate().map(|(i, (name, _))| u8::from(fits(name)) << i);
            self.names &= bits.fold(0, |all, bit| all | bit);
        }
        self.matched = self.matched.saturating_add(1);
        is_token(byte)
    }

    /// The colon behind a name. False if it is the second one of a header that may be there once.
    fn begin(&mut self, rules: &HeadRules) -> bool {
        let whole =
            |i: usize, name: &[u8]| self.names >> i & 1 == 1 && name.len() == usize::from(self.matched);
        let found = rules.names.iter().enumerate().find(|(i, (name, _))| whole(*i, name));
        self.header = found.map_or(Header::Other, |(_, (_, header))| *header);
        (self.place, self.spot, self.matched) = (Place::Value, Spot::Before, 0);
        let twice = self.header != Header::Other && self.has(self.header);
        self.seen |= 1 << self.header as u8;
        !twice
    }

    /// A byte of a value.
    #[inline]
    fn value(&mut self, byte: u8) -> bool {
        match self.header {
            Header::Other | Header::Host => true,
            Header::Length => self.part(byte, |head| head.length.decimal(byte, u64::MAX)),
            Header::Encoding => self.part(byte, |head| head.word(CHUNKED, byte)),
            Header::Type => {
                let ended =
                    self.spot == Spot::Behind || usize::from(self.matched) == SDP.len() && byte == b';';
                if !ended && !self.part(byte, |head| head.word(SDP, byte)) {
                    self.header = Header::Other;
                }
                self.spot = if ended { Spot::Behind } else { self.spot };
                true
            }
        }
    }

    /// A byte of a value that is one word with spaces around it.
    fn part(&mut self, byte: u8, inside: impl FnOnce(&mut Self) -> bool) -> bool {
        match (self.spot, is_space(byte)) {
            (Spot::Before | Spot::Behind, true) => true,
            (Spot::Inside, true) => {
                self.spot = Spot::Behind;
                true
            }
            (Spot::Before | Spot::Inside, false) => {
                self.spot = Spot::Inside;
                inside(self)
            }
            (Spot::Behind, false) => false,
        }
    }

    fn word(&mut self, word: &[u8], byte: u8) -> bool {
        let at = usize::from(self.matched);
        self.matched = self.matched.saturating_add(1);
        word.get(at) == Some(&byte.to_ascii_lowercase())
    }

    /// The end of a value. False if it is not complete.
    fn finish(&mut self) -> bool {
        let matched = usize::from(self.matched);
        match std::mem::take(&mut self.header) {
            Header::Other | Header::Host => true,
            Header::Length => self.length.digits > 0,
            Header::Encoding => {
                self.chunked = matched == CHUNKED.len();
                self.chunked
            }
            Header::Type => {
                self.sdp = matched == SDP.len();
                true
            }
        }
    }
}

const CHUNKED: &[u8] = b"chunked";
const SDP: &[u8] = b"application/sdp";

#[inline]
fn is_space(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Whether the byte may stand in the name of a header (RFC 9110, section 5.6.2).
#[inline]
fn is_token(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

const TOKEN: [bool; 256] = {
    let (mut table, marks) = ([false; 256], b"!#$%&'*+-.^_`|~");
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut i = 0;
    while i < marks.len() {
        table[marks[i] as usize] = true;
        i += 1;
    }
    table
};
