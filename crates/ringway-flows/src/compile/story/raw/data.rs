//! The data of a raw packet: bytes, and stretches that are random in each packet.

use super::super::compiler::{Compiler, Done};
use crate::compile::arguments::{arguments, optional};
use crate::compile::constant::{Given, constant, whole_of};
use crate::lang::{Call, Diagnostic, Expr, ExprKind, Unit};

/// Most bytes of the data of a raw packet.
const MAX_DATA: u64 = 1_480;

/// A stretch of data.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// These bytes.
    Bytes(Vec<u8>),
    /// So many random letters, at most 63.
    Letters(u8),
    /// So many random bytes, at most 8.
    Random(u8),
}

impl Compiler<'_, '_> {
    /// A text that is the same in each packet.
    pub(super) fn raw_text(&self, expr: &Expr) -> Done<Vec<u8>> {
        match constant(expr, self)? {
            Given::Text(text) => Ok(text),
            other => {
                Err(Diagnostic::new(expr.span, "a text is needed here", format!("this is {}", other.what())))
            }
        }
    }

    /// The stretches of data.
    pub(super) fn raw_data(&mut self, expr: &Expr) -> Done<Vec<Piece>> {
        match &expr.node {
            ExprKind::Join(parts) => {
                let mut pieces = Vec::new();
                for part in parts {
                    pieces.extend(self.raw_data(part)?);
                }
                Ok(pieces)
            }
            ExprKind::Name(name) if matches!(name.as_str(), "rand8" | "rand16" | "rand32") => {
                let bits: u8 = name[4..].parse().unwrap_or(8);
                Ok(vec![Piece::Random(bits / 8)])
            }
            ExprKind::Call(call) => self.raw_call(call, expr),
            _ => Ok(vec![Piece::Bytes(self.raw_text(expr)?)]),
        }
    }

    /// A call in the data of a raw packet.
    fn raw_call(&mut self, call: &Call, expr: &Expr) -> Done<Vec<Piece>> {
        match call.name.node.as_str() {
            "word" => {
                let count = self.raw_count(call, 63)?;
                Ok(vec![Piece::Letters(count as u8)])
            }
            "random" => {
                let count = self.raw_count(call, MAX_DATA)?;
                let whole = (0..count / 8).map(|_| Piece::Random(8));
                let rest = (!count.is_multiple_of(8)).then_some(Piece::Random((count % 8) as u8));
                Ok(whole.chain(rest).collect())
            }
            "zeros" => Ok(vec![Piece::Bytes(vec![0; self.raw_count(call, MAX_DATA)? as usize])]),
            "counter" => Ok(vec![Piece::Bytes((0..=255).cycle().take(self.raw_count(call, MAX_DATA)? as usize).collect())]),
            "pattern" => {
                let args = arguments(call, &["text", "length"])?;
                let (text, count) = (self.raw_text(args[0])?, whole_of(args[1], Unit::Bytes, self)?);
                if text.is_empty() || count > MAX_DATA {
                    return Err(Diagnostic::new(expr.span, "a pattern has a text, and at most 1480 B here", "not so"));
                }
                Ok(vec![Piece::Bytes(text.into_iter().cycle().take(count as usize).collect())])
            }
            "dns.query" => self.raw_query(call),
            "u8" | "u16" | "u32" => {
                let args = arguments(call, &["number"])?;
                let width = match call.name.node.as_str() {
                    "u8" => 1,
                    "u16" => 2,
                    _ => 4,
                };
                let value = whole_of(args[0], Unit::One, self)?;
                if value >> (8 * width) != 0 {
                    return Err(Diagnostic::new(args[0].span, format!("a number must fit into {width} B"), "it is greater"));
                }
                Ok(vec![Piece::Bytes(value.to_be_bytes()[8 - width..].to_vec())])
            }
            name => Err(Diagnostic::new(call.name.span, format!("`{name}` can't be in a raw packet"), "not here")
                .help("there are texts, word, random, zeros, counter, pattern, u8, u16, u32, rand8, rand16, rand32 and dns.query")),
        }
    }

    /// The only argument of a call: how many bytes.
    fn raw_count(&self, call: &Call, most: u64) -> Done<u64> {
        let args = arguments(call, &["length"])?;
        let count = whole_of(args[0], Unit::Bytes, self)?;
        if (1..=most).contains(&count) {
            return Ok(count);
        }
        Err(Diagnostic::new(args[0].span, format!("this length is 1 to {most}"), "not in this range"))
    }

    /// A query of DNS with a random number. Words of its name are random in each packet.
    fn raw_query(&mut self, call: &Call) -> Done<Vec<Piece>> {
        let args = optional(call, &["name", "type"])?;
        let Some(name) = args[0] else { return Err(super::super::call::missing(call, "name")) };
        let kind = args[1].map_or(Ok(1), |kind| self.record_type(kind))?;
        let mut pieces = vec![Piece::Random(2), Piece::Bytes(vec![1, 0, 0, 1, 0, 0, 0, 0, 0, 0])];
        let (mut label, mut len): (Vec<Piece>, usize) = (Vec::new(), 0);
        let wrong = |len: usize| {
            Diagnostic::new(name.span, "a label of a DNS name has 1 to 63 B", format!("one has {len}"))
        };
        let mut close = |label: &mut Vec<Piece>, len: &mut usize| {
            if !(1..=63).contains(len) {
                return Err(wrong(*len));
            }
            pieces.push(Piece::Bytes(vec![std::mem::take(len) as u8]));
            pieces.append(label);
            Ok(())
        };
        for piece in self.raw_data(name)? {
            match piece {
                Piece::Bytes(bytes) => {
                    for (i, part) in bytes.split(|byte| *byte == b'.').enumerate() {
                        if i > 0 {
                            close(&mut label, &mut len)?;
                        }
                        len += part.len();
                        label.push(Piece::Bytes(part.to_vec()));
                    }
                }
                Piece::Letters(count) => {
                    len += usize::from(count);
                    label.push(piece);
                }
                Piece::Random(_) => {
                    return Err(Diagnostic::new(name.span, "a name has letters", "it has random bytes"));
                }
            }
        }
        if len > 0 {
            close(&mut label, &mut len)?;
        }
        pieces.push(Piece::Bytes(vec![0, (kind >> 8) as u8, kind as u8, 0, 1]));
        Ok(pieces)
    }
}
