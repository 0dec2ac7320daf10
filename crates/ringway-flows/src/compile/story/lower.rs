//! Parts of messages become instructions: of the end that sends them, and of the end that expects them.

use super::compiler::{Compiler, Done};
use crate::code::{End, Instr, MAX_FORMAT, Op, Piece};
use crate::compile::num::Num;
use crate::compile::part::{Form, Part};
use crate::lang::{Diagnostic, Span, Unit};

/// Texts that are longer than this are no pieces of formats.
const LONG: usize = 1_024;

/// One end's half of a message while it is lowered.
#[derive(Clone, Copy)]
struct Half {
    end: End,
    slot: u8,
    sending: bool,
}

impl Half {
    /// The operation: the first one if this end sends, else the other.
    const fn op(self, send: Op, expect: Op) -> Op {
        if self.sending { send } else { expect }
    }
}

/// Pieces that wait to become one instruction.
#[derive(Default)]
struct Pending {
    pieces: Vec<Piece>,
    longest: u32,
    /// What is taken in decimal, up to the next text.
    open: Option<Span>,
}

impl Compiler<'_, '_> {
    /// Sends parts.
    pub(super) fn send_parts(&mut self, end: End, slot: u8, parts: &[Part], span: Span) -> Done {
        self.lower(Half { end, slot, sending: true }, parts, span)
    }

    /// Expects parts. Numbers that the end does not know are taken from them.
    pub(super) fn expect_parts(&mut self, end: End, slot: u8, parts: &[Part], span: Span) -> Done {
        self.lower(Half { end, slot, sending: false }, parts, span)
    }

    /// The index of a template.
    pub(super) fn template(&mut self, bytes: &[u8], span: Span) -> Done<u32> {
        self.global.tables.template(bytes).ok_or_else(|| {
            Diagnostic::new(
                span,
                "all texts and files together are longer than 64 MiB",
                "there is no room for this one",
            )
        })
    }

    /// Parts of one end.
    fn lower(&mut self, half: Half, parts: &[Part], span: Span) -> Done {
        let mut pending = Pending::default();
        for part in parts {
            match part {
                Part::Bytes(bytes) => self.text(half, &mut pending, bytes, span)?,
                Part::Number(num, form, span) => {
                    self.piece_of_number(half, &mut pending, num, *form, *span)?
                }
                Part::Address { slot, end, binary: false, .. } => {
                    self.push(half, &mut pending, Piece::Address { slot: *slot, end: *end }, span)?;
                }
                Part::Address { slot, end, .. } => {
                    self.push(half, &mut pending, Piece::AddressBytes { slot: *slot, end: *end }, span)?;
                }
                Part::HostPort { slot, end, port, span } => {
                    self.host_port(half, &mut pending, (*slot, *end), port, *span)?;
                }
                Part::Random { len, start, span } => {
                    self.flush(half, &mut pending, *span)?;
                    let n = self.materialize(half.end, len, *span)?;
                    let start = self.materialize(half.end, start, *span)?;
                    let op = half.op(Op::SendR, Op::ExpectR);
                    self.put(half.end, Instr::new(op, half.slot, u16::from(n), u32::from(start)), *span)?;
                }
                Part::Repeated { text, len, span } => {
                    self.flush(half, &mut pending, *span)?;
                    let template = self.template(text, *span)?;
                    let n = self.materialize(half.end, len, *span)?;
                    let op = half.op(Op::SendW, Op::ExpectW);
                    self.put(half.end, Instr::new(op, half.slot, u16::from(n), template), *span)?;
                }
                Part::Chunked { len, start, chunk, span } => {
                    self.flush(half, &mut pending, *span)?;
                    self.chunks(half, len, start, *chunk, *span)?;
                }
            }
        }
        self.flush(half, &mut pending, span)
    }

    /// A text: a piece, or an instruction of its own if it is long.
    fn text(&mut self, half: Half, pending: &mut Pending, bytes: &[u8], span: Span) -> Done {
        let mut bytes = bytes;
        if let Some(number) = pending.open.take() {
            if bytes.first().is_some_and(u8::is_ascii_digit) {
                return Err(no_end(number));
            }
            let (first, rest) = bytes.split_at(bytes.len().min(LONG));
            let index = self.template(first, span)?;
            self.push(half, pending, Piece::Text(index), span)?;
            bytes = rest;
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let index = self.template(bytes, span)?;
        if bytes.len() <= LONG {
            return self.push(half, pending, Piece::Text(index), span);
        }
        self.flush(half, pending, span)?;
        self.put(half.end, Instr::new(half.op(Op::SendT, Op::ExpectT), half.slot, 0, index), span)
    }

    /// A piece, in a new format if the one that waits is full.
    fn push(&mut self, half: Half, pending: &mut Pending, piece: Piece, span: Span) -> Done {
        if let Some(number) = pending.open {
            return Err(no_end(number));
        }
        let bundle = &self.global.tables.bundle;
        let longest = piece.longest(|index| bundle.template(index).len() as u32);
        // A text behind a number that is taken stays with it.
        let tied = matches!(pending.pieces.last(), Some(Piece::TakeDecimal(_) | Piece::TakeHostPort { .. }));
        if pending.longest + longest > MAX_FORMAT / 2 && !tied {
            self.flush(half, pending, span)?;
        }
        pending.longest += longest;
        pending.pieces.push(piece);
        Ok(())
    }

    /// A number: written or compared if the end knows it, else taken.
    fn piece_of_number(
        &mut self,
        half: Half,
        pending: &mut Pending,
        num: &Num,
        form: Form,
        span: Span,
    ) -> Done {
        let piece = |reg: u8, take: bool| match (form, take) {
            (Form::Decimal, false) => Piece::Decimal(reg),
            (Form::Decimal, true) => Piece::TakeDecimal(reg),
            (Form::Hex(digits), false) => Piece::Hex { reg, digits },
            (Form::Hex(digits), true) => Piece::TakeHex { reg, digits },
            (Form::Bytes(count), true) => Piece::TakeBytes { reg, count },
            (Form::Letters(count), _) => Piece::Letters { reg, count },
            (Form::Bytes(count), false) => Piece::Bytes { reg, count },
        };
        self.flush_for(half, pending, num, span)?;
        let (reg, take) = self.known_or_taken(half, num, span)?;
        self.push(half, pending, piece(reg, take), span)?;
        if take && form == Form::Decimal {
            pending.open = Some(span);
        }
        Ok(())
    }

    /// What is made from a number needs the number: if that is taken from this message, it must come first.
    fn flush_for(&mut self, half: Half, pending: &mut Pending, num: &Num, span: Span) -> Done {
        let takes = pending.pieces.iter().any(|piece| piece.takes().is_some());
        if takes && num.is_made() { self.flush(half, pending, span) } else { Ok(()) }
    }

    /// The register of a number, and whether it is to be taken from the message.
    fn known_or_taken(&mut self, half: Half, num: &Num, span: Span) -> Done<(u8, bool)> {
        let known = num.lacks(half.end).is_none() || self.learned(half.end, num).is_some();
        if half.sending || known || !num.is_leaf() {
            return Ok((self.materialize(half.end, num, span)?, false));
        }
        let reg = self.register(half.end, span)?;
        self.learn(half.end, num, reg);
        Ok((reg, true))
    }

    /// An address and a port as FTP writes them. The address is compared, and a port that the end does not know is taken.
    fn host_port(
        &mut self,
        half: Half,
        pending: &mut Pending,
        side: (u8, End),
        port: &Num,
        span: Span,
    ) -> Done {
        let (slot, end) = side;
        self.flush_for(half, pending, port, span)?;
        let (reg, take) = self.known_or_taken(half, port, span)?;
        let piece =
            if take { Piece::TakeHostPort { slot, end, reg } } else { Piece::HostPort { slot, end, reg } };
        self.push(half, pending, piece, span)?;
        if take {
            pending.open = Some(span);
        }
        Ok(())
    }

    /// Makes an instruction of the pieces that wait.
    fn flush(&mut self, half: Half, pending: &mut Pending, span: Span) -> Done {
        let Pending { pieces, open, .. } = std::mem::take(pending);
        if let Some(number) = open {
            return Err(no_end(number));
        }
        let instr = match pieces.as_slice() {
            [] => return Ok(()),
            [Piece::Text(index)] => Instr::new(half.op(Op::SendT, Op::ExpectT), half.slot, 0, *index),
            _ => {
                let format = self.global.tables.format(pieces);
                Instr::new(half.op(Op::SendV, Op::ExpectV), half.slot, 0, format)
            }
        };
        self.put(half.end, instr, span)
    }

    /// Random bytes in chunks of HTTP: a loop over full chunks, then the rest.
    fn chunks(&mut self, half: Half, len: &Num, start: &Num, chunk: u64, span: Span) -> Done {
        let (end, slot) = (half.end, half.slot);
        let (from, first) = (self.materialize(end, len, span)?, self.materialize(end, start, span)?);
        let (left, at) = (self.register(end, span)?, self.register(end, span)?);
        self.put(end, Instr::new(Op::Mov, left, u16::from(from), 0), span)?;
        self.put(end, Instr::new(Op::Mov, at, u16::from(first), 0), span)?;
        let size = self.materialize(end, &Num::constant(chunk, Unit::Bytes), span)?;
        let test = self.register(end, span)?;
        let head = self.template(format!("{chunk:04x}\r\n").as_bytes(), span)?;
        let tail = self.template(b"\r\n", span)?;
        let last = self.template(b"0\r\n\r\n", span)?;
        let hex = self.global.tables.format(vec![Piece::Hex { reg: left, digits: 4 }, Piece::Text(tail)]);
        let text = half.op(Op::SendT, Op::ExpectT);
        let random = half.op(Op::SendR, Op::ExpectR);
        let emit = &mut self.emit[end as usize];
        let (again, rest, done) = (emit.label(), emit.label(), emit.label());
        let full = |full| super::compiler::too_much(full, span);
        emit.place(again);
        emit.push(Instr::two(Op::Lt, test, left, size)).map_err(full)?;
        emit.jump(Op::Jnz, test, rest).map_err(full)?;
        for instr in [
            Instr::new(text, slot, 0, head),
            Instr::new(random, slot, u16::from(size), u32::from(at)),
            Instr::new(text, slot, 0, tail),
            Instr::two(Op::Sub, left, left, size),
            Instr::two(Op::Add, at, at, size),
        ] {
            emit.push(instr).map_err(full)?;
        }
        emit.jump(Op::Jmp, 0, again).map_err(full)?;
        emit.place(rest);
        emit.jump(Op::Jz, left, done).map_err(full)?;
        for instr in [
            Instr::new(half.op(Op::SendV, Op::ExpectV), slot, 0, hex),
            Instr::new(random, slot, u16::from(left), u32::from(at)),
            Instr::new(text, slot, 0, tail),
        ] {
            emit.push(instr).map_err(full)?;
        }
        emit.place(done);
        emit.push(Instr::new(text, slot, 0, last)).map_err(full)
    }
}

/// The error about a number whose end cannot be seen.
fn no_end(span: Span) -> Diagnostic {
    Diagnostic::new(
        span,
        "the other end can't see where this number ends",
        "it takes this number from the message",
    )
    .help("put a text behind it that begins with no digit, or write it with hex(x, DIGITS) or u16(x)")
}
