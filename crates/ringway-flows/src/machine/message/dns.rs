//! Messages of DNS (RFC 1035). Their records are followed to the end, and not kept.

use super::parse::{Parse, more_if};
use super::state::{fields, steps};
use super::{Match, MatchState, Verdict};

/// What a message must be.
#[derive(Clone, Copy)]
pub(super) enum DnsRules<'a> {
    /// A query for this type.
    Query(u16),
    /// A reply.
    Reply {
        id: u16,
        rcode: u8,
        truncated: bool,
        /// Compares the question.
        question: &'a dyn Fn(&mut MatchState, &[u8]) -> Match,
    },
}

steps! {
    /// Part of a message.
    enum Part { Header, Question, Name, Label, Pointer, Fixed, Data, }
}

fields! {
    /// A message. Captures the id of a query, or how many answers a reply has.
    struct Dns {
        part: Part,
        /// Bytes of all parts so far.
        taken: u16,
        /// The last two bytes.
        pair: u16,
        capture: u16,
        /// The question is behind.
        asked: bool,
        /// Records that are not complete.
        records: u32,
        /// Bytes of this part that were there, or are missing.
        at: u16,
        /// Bytes of this name.
        name: u16,
        /// How far the question is compared.
        question: u64,
    }
}

const HEADER: u16 = 12;
/// Type and class of a question; type, class, time to live and length of a record.
const QUESTION_FIXED: u16 = 4;
const RECORD_FIXED: u16 = 10;
/// Most bytes of a name.
const LONGEST_NAME: u16 = 255;
const LONGEST_LABEL: u8 = 63;
/// Bits of a pointer to a name before.
const POINTER: u16 = 0xc000;
/// Bits of the second word of the header: response, operation, truncated, response code.
const RESPONSE: u16 = 0x8000;
const OPERATION: u16 = 0x7800;
const TRUNCATED: u16 = 0x0200;
const RCODE: u16 = 0x000f;

impl Parse<DnsRules<'_>> for Dns {
    fn feed(&mut self, rules: &DnsRules<'_>, bytes: &[u8]) -> Match {
        let room = usize::from(u16::MAX - self.taken);
        let bytes = &bytes[..bytes.len().min(room)];
        let Some(&byte) = bytes.first() else { return Match::mismatch(0) };
        let step = match (self.part, rules) {
            (Part::Question, DnsRules::Reply { question, .. }) => self.compare(question, bytes),
            (Part::Data, _) => {
                let used = bytes.len().min(usize::from(self.at));
                self.at -= used as u16;
                let verdict = if self.at == 0 { self.record() } else { Verdict::More };
                Match { used, verdict }
            }
            _ => Match::byte(self.byte(rules, byte)),
        };
        self.taken += step.used as u16;
        step
    }

    fn captures(&self) -> [u64; 2] {
        [u64::from(self.capture), 0]
    }
}

impl Dns {
    fn byte(&mut self, rules: &DnsRules<'_>, byte: u8) -> Verdict {
        self.pair = self.pair << 8 | u16::from(byte);
        match self.part {
            Part::Header => {
                self.at += 1;
                more_if(self.at % 2 == 1 || self.header(rules))
            }
            Part::Question | Part::Name => more_if(self.name(byte)),
            Part::Label => {
                self.at -= 1;
                self.part = if self.at == 0 { Part::Name } else { Part::Label };
                Verdict::More
            }
            Part::Pointer => {
                let target = self.pair & !POINTER;
                self.fixed();
                more_if((HEADER..self.taken.saturating_sub(1)).contains(&target))
            }
            Part::Fixed => {
                self.at -= 1;
                if self.asked { self.record_fixed() } else { self.question_fixed(rules) }
            }
            Part::Data => Verdict::More,
        }
    }

    /// Takes a word of the header.
    fn header(&mut self, rules: &DnsRules<'_>) -> bool {
        let reply = matches!(rules, DnsRules::Reply { .. });
        match (self.at, *rules) {
            (2, DnsRules::Query(_)) => self.capture = self.pair,
            (2, DnsRules::Reply { id, .. }) => return self.pair == id,
            (4, DnsRules::Query(_)) => return self.pair & (RESPONSE | OPERATION | TRUNCATED | RCODE) == 0,
            (4, DnsRules::Reply { rcode, truncated, .. }) => {
                let wanted = RESPONSE | if truncated { TRUNCATED } else { 0 } | u16::from(rcode);
                return self.pair & (RESPONSE | OPERATION | TRUNCATED | RCODE) == wanted;
            }
            (6, _) => return self.pair == 1,
            (8 | 10, _) => {
                self.records += u32::from(self.pair);
                self.capture = if reply && self.at == 8 { self.pair } else { self.capture };
                return reply || self.pair == 0;
            }
            _ => {
                self.records += u32::from(self.pair);
                self.part = if reply { Part::Question } else { Part::Name };
            }
        }
        true
    }

    /// The first byte of a label.
    fn name(&mut self, byte: u8) -> bool {
        match byte {
            0 => self.fixed(),
            1..=LONGEST_LABEL => {
                (self.part, self.at) = (Part::Label, u16::from(byte));
                self.name += self.at + 1;
            }
            _ => self.part = Part::Pointer,
        }
        // A question comes first, and can't point to a name before it.
        self.name < LONGEST_NAME && (byte <= LONGEST_LABEL || self.asked && byte >= 0xc0)
    }

    /// The end of a name.
    fn fixed(&mut self) {
        (self.part, self.name) = (Part::Fixed, 0);
        self.at = if self.asked { RECORD_FIXED } else { QUESTION_FIXED };
    }

    fn question_fixed(&mut self, rules: &DnsRules<'_>) -> Verdict {
        const INTERNET: u16 = 1;
        match (self.at, rules) {
            (2, DnsRules::Query(kind)) => more_if(self.pair == *kind),
            (0, _) if self.pair != INTERNET => Verdict::Mismatch,
            (0, _) => self.record(),
            _ => Verdict::More,
        }
    }

    fn record_fixed(&mut self) -> Verdict {
        if self.at > 0 {
            return Verdict::More;
        }
        if self.pair == 0 {
            return self.record();
        }
        (self.part, self.at) = (Part::Data, self.pair);
        Verdict::More
    }

    /// Compares bytes of the question.
    fn compare(&mut self, question: &dyn Fn(&mut MatchState, &[u8]) -> Match, bytes: &[u8]) -> Match {
        let mut state = MatchState(self.question);
        let step = question(&mut state, bytes);
        self.question = state.0;
        if step.verdict == Verdict::Done { Match { verdict: self.record(), ..step } } else { step }
    }

    /// The end of the question or of a record.
    fn record(&mut self) -> Verdict {
        self.asked = true;
        let Some(left) = self.records.checked_sub(1) else { return Verdict::Done };
        (self.records, self.part) = (left, Part::Name);
        Verdict::More
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;
    use super::*;

    const QUESTION: &[u8] = b"\x05ahost\x07example\0\0\x01\0\x01";
    /// An answer with a pointer to the question's name.
    const ANSWER: &[u8] = b"\xc0\x0c\0\x01\0\x01\0\0\x0e\x10\0\x04\xc6\x13\0\x09";
    const OPT: &[u8] = b"\0\0\x29\x04\xd0\0\0\0\0\0\0";

    fn message(flags: u16, counts: [u16; 4], parts: &[&[u8]]) -> Vec<u8> {
        let words = [0x1234, flags, counts[0], counts[1], counts[2], counts[3]];
        [&words.map(u16::to_be_bytes).concat(), &parts.concat()[..]].concat()
    }

    fn query(bytes: &[u8]) -> Option<(usize, u64)> {
        parse::<_, Dns>(&DnsRules::Query(1), bytes, false).map(|(used, found)| (bytes.len() - used, found[0]))
    }

    fn reply(bytes: &[u8], rcode: u8, truncated: bool) -> Option<(usize, u64)> {
        let question =
            |state: &mut MatchState, bytes: &[u8]| super::super::content::template(QUESTION, state, bytes);
        let rules = DnsRules::Reply { id: 0x1234, rcode, truncated, question: &question };
        parse::<_, Dns>(&rules, bytes, false).map(|(used, found)| (bytes.len() - used, found[0]))
    }

    #[test]
    fn queries() {
        assert_eq!(query(&message(0x0100, [1, 0, 0, 0], &[QUESTION, b"rest"])), Some((4, 0x1234)));
        assert_eq!(query(&message(0x0120, [1, 0, 0, 1], &[QUESTION, OPT])), Some((0, 0x1234)));
        assert_eq!(
            query(&message(0x0100, [1, 0, 0, 0], &[b"\0\0\x01\0\x01"])),
            Some((0, 0x1234)),
            "the root"
        );
        let other: &[u8] = b"\x01a\0\0\x1c\0\x01";
        let chaos: &[u8] = b"\x01a\0\0\x01\0\x03";
        let pointer: &[u8] = b"\xc0\x0c\0\x01\0\x01";
        let label: &[u8] = b"\x40a\0\0\x01\0\x01";
        for part in [other, chaos, pointer, label, &QUESTION[..16]] {
            assert_eq!(query(&message(0x0100, [1, 0, 0, 0], &[part])), None);
        }
        for (flags, counts) in [
            (0x8100, [1, 0, 0, 0]),
            (0x0900, [1, 0, 0, 0]),
            (0x0300, [1, 0, 0, 0]),
            (0x0100, [2, 0, 0, 0]),
            (0x0100, [1, 1, 0, 0]),
            (0x0100, [1, 0, 1, 0]),
            (0x0100, [0, 0, 0, 0]),
        ] {
            assert_eq!(query(&message(flags, counts, &[QUESTION, ANSWER])), None, "{flags:x} {counts:?}");
        }
    }

    #[test]
    fn names_have_a_limit() {
        let name = |last: usize| {
            let mut name = [vec![63], vec![b'a'; 63]].concat().repeat(3);
            name.extend([vec![last as u8], vec![b'a'; last], b"\0\0\x01\0\x01".to_vec()].concat());
            query(&message(0, [1, 0, 0, 0], &[&name]))
        };
        assert_eq!((name(61), name(62)), (Some((0, 0x1234)), None));
    }

    #[test]
    fn replies() {
        assert_eq!(
            reply(&message(0x8180, [1, 2, 0, 1], &[QUESTION, ANSWER, ANSWER, OPT, b"x"]), 0, false),
            Some((1, 2))
        );
        assert_eq!(reply(&message(0x8183, [1, 0, 0, 0], &[QUESTION]), 3, false), Some((0, 0)));
        assert_eq!(reply(&message(0x8380, [1, 0, 0, 0], &[QUESTION]), 0, true), Some((0, 0)));
        let good = message(0x8180, [1, 1, 0, 0], &[QUESTION, ANSWER]);
        assert_eq!(reply(&good, 0, false), Some((0, 1)));
        assert_eq!((reply(&good, 3, false), reply(&good, 0, true)), (None, None));
        for at in [0, 1, 5, 13, 20, 30] {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            assert_eq!(reply(&bad, 0, false), None, "byte {at}");
        }
        let forward: &[u8] = b"\xc0\xff\0\x01\0\x01\0\0\x0e\x10\0\0";
        assert_eq!(reply(&message(0x8180, [1, 1, 0, 0], &[QUESTION, forward]), 0, false), None);
    }

    #[test]
    fn a_message_has_a_limit() {
        let record = |len: u16| {
            [&b"\0\0\x10\0\x01\0\0\0\0"[..], &len.to_be_bytes(), &vec![0; usize::from(len)]].concat()
        };
        let fits = 65_535 - 12 - QUESTION.len() as u16 - 11;
        let whole = |len| reply(&message(0x8180, [1, 1, 0, 0], &[QUESTION, &record(len)]), 0, false);
        assert_eq!((whole(fits), whole(fits + 1)), (Some((0, 1)), None));
    }
}
