//! Messages between Wireshark's toolbar and a capture, as bytes.
//!
//! A message has `T`, the length of the rest in three bytes, big-endian, the number of a control, a command, and its payload.

/// What begins a message.
const TYPE: u8 = b'T';

/// Bytes before the payload.
const HEAD: usize = 6;

/// Bytes of the control and the command, which the length counts.
const COUNTED: usize = 2;

/// Longest payload that is kept: Wireshark sends no longer one. The length field has room for 16 MiB.
pub(crate) const MAX_PAYLOAD: usize = 65535;

/// What messages ask for. Wireshark sends the first two, the capture the others and [`SET`].
pub(crate) const INITIALIZED: u8 = 0;
pub(crate) const SET: u8 = 1;
pub(crate) const ADD: u8 = 2;
pub(crate) const STATUS: u8 = 6;
pub(crate) const ERROR: u8 = 9;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) control: u8,
    pub(crate) command: u8,
    pub(crate) payload: Payload,
}

/// What comes with a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Payload {
    Bytes(Vec<u8>),
    /// So many bytes, above [`MAX_PAYLOAD`], which were skipped.
    TooLong(usize),
}

/// What came is no message. Nobody knows where the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

/// Finds messages in bytes that come in pieces. It keeps one payload at most.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    head: [u8; HEAD],
    /// Bytes of the head that came.
    filled: usize,
    /// Bytes of the payload that came, of which `kept` has all or none.
    came: usize,
    kept: Vec<u8>,
    broken: bool,
}

impl Parser {
    /// The messages that end in `bytes`, in their order.
    ///
    /// # Errors
    /// After the messages before it, [`Broken`] for bytes that are no message; and from then on always.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(Message)) -> Result<(), Broken> {
        while !self.broken && !bytes.is_empty() {
            bytes = if self.filled < HEAD { self.head(bytes) } else { self.payload(bytes) };
            if self.filled == HEAD && !self.broken && self.came == self.len() {
                each(self.whole());
            }
        }
        if self.broken { Err(Broken) } else { Ok(()) }
    }

    /// Takes bytes of the head; the others.
    fn head<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (mine, rest) = bytes.split_at(bytes.len().min(HEAD - self.filled));
        self.head[self.filled..][..mine.len()].copy_from_slice(mine);
        self.filled += mine.len();
        // As soon as it can be seen, in any pieces.
        self.broken = self.head[0] != TYPE || self.filled >= 4 && self.counted() < COUNTED;
        rest
    }

    /// Takes bytes of the payload; the others.
    fn payload<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (mine, rest) = bytes.split_at(bytes.len().min(self.len() - self.came));
        self.came += mine.len();
        if self.len() <= MAX_PAYLOAD {
            self.kept.extend_from_slice(mine);
        }
        rest
    }

    /// The message that has come as a whole. The next one may begin.
    fn whole(&mut self) -> Message {
        let bytes = std::mem::take(&mut self.kept);
        let payload =
            if self.came <= MAX_PAYLOAD { Payload::Bytes(bytes) } else { Payload::TooLong(self.came) };
        (self.filled, self.came) = (0, 0);
        Message { control: self.head[4], command: self.head[5], payload }
    }

    /// What the length field says.
    fn counted(&self) -> usize {
        let [_, high, middle, low, ..] = self.head.map(usize::from);
        high << 16 | middle << 8 | low
    }

    /// Bytes of the payload.
    fn len(&self) -> usize {
        self.counted() - COUNTED
    }
}

/// The bytes of a message. A text above [`MAX_PAYLOAD`] is cut.
pub(crate) fn encode(control: u8, command: u8, text: &str) -> Vec<u8> {
    let end = (0..=text.len().min(MAX_PAYLOAD)).rev().find(|&at| text.is_char_boundary(at));
    let text = &text[..end.unwrap_or(0)];
    let [.., high, middle, low] = (text.len() + COUNTED).to_be_bytes();
    [&[TYPE, high, middle, low, control, command], text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a parser finds in pieces, and whether they are messages.
    fn found<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Message>, bool) {
        let (mut parser, mut all, mut fine) = (Parser::default(), Vec::new(), true);
        for piece in pieces {
            fine = parser.feed(piece, |message| all.push(message)).is_ok();
        }
        (all, fine)
    }

    fn message(control: u8, command: u8, text: &[u8]) -> Message {
        Message { control, command, payload: Payload::Bytes(text.to_vec()) }
    }

    #[test]
    fn bytes_of_messages() {
        assert_eq!(encode(1, SET, "64"), b"T\0\0\x04\x01\x0164");
        let bytes = [encode(0, SET, "udp"), encode(0, INITIALIZED, "")].concat();
        let expected = vec![message(0, SET, b"udp"), message(0, INITIALIZED, b"")];
        assert_eq!(found([&*bytes]), (expected, true));
    }

    #[test]
    fn long_payloads_are_skipped_and_not_kept() {
        let len = (1 << 24) - 1 - COUNTED;
        let mut parser = Parser::default();
        let mut all = Vec::new();
        parser.feed(b"T\xff\xff\xff\x07\x09", |message| all.push(message)).unwrap();
        for _ in 0..len / 1000 {
            parser.feed(&[0; 1000], |message| all.push(message)).unwrap();
            assert!(all.is_empty() && parser.kept.capacity() == 0);
        }
        parser.feed(&vec![0; len % 1000], |message| all.push(message)).unwrap();
        parser.feed(&encode(1, SET, "0"), |message| all.push(message)).unwrap();
        let long = Message { control: 7, command: 9, payload: Payload::TooLong(len) };
        assert_eq!(all, [long, message(1, SET, b"0")]);
    }

    #[test]
    fn the_longest_payload_is_kept_and_a_longer_text_is_cut() {
        let text = "é".repeat(MAX_PAYLOAD);
        let (all, fine) = found([&*encode(0, SET, &text)]);
        assert_eq!((all, fine), (vec![message(0, SET, &text.as_bytes()[..MAX_PAYLOAD - 1])], true));
        let text = "a".repeat(MAX_PAYLOAD);
        assert_eq!(found([&*encode(0, SET, &text)]).0, [message(0, SET, text.as_bytes())]);
    }

    #[test]
    fn what_is_no_message_ends_the_stream() {
        for wrong in [&b"t\0\0\x02\0\0"[..], b"\0", b"T\0\0\x01", b"T\0\0\0\x01\x01"] {
            let bytes = [&encode(0, SET, "udp"), wrong, &encode(0, SET, "tcp")].concat();
            assert_eq!(found([&*bytes]), (vec![message(0, SET, b"udp")], false), "{wrong:?}");
        }
        assert_eq!(found([&b"T\0\0"[..]]), (Vec::new(), true), "the rest may come");
    }

    proptest! {
        /// Messages, then any bytes, in any pieces.
        #[test]
        fn pieces_bring_the_same_messages(
            texts in prop::collection::vec((any::<u8>(), any::<u8>(), "\\PC{0,40}"), 0..5),
            end in prop::collection::vec(any::<u8>(), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let mut bytes: Vec<u8> = texts.iter().flat_map(|(a, b, text)| encode(*a, *b, text)).collect();
            bytes.extend(end);
            let whole = found([&*bytes]);
            for (message, (control, command, text)) in whole.0.iter().zip(&texts) {
                let payload = Payload::Bytes(text.as_bytes().to_vec());
                prop_assert_eq!(message, &Message { control: *control, command: *command, payload });
            }
            prop_assert!(whole.0.len() >= texts.len());
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            prop_assert_eq!(&found(at.windows(2).map(|w| &bytes[w[0]..w[1]])), &whole);
            prop_assert_eq!(&found(bytes.chunks(1)), &whole);
        }
    }
}
