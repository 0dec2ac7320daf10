//! Parts of messages.

use std::rc::Rc;

use super::num::Num;
use crate::code::End;
use crate::lang::Span;

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// In decimal.
    Decimal,
    /// This many hexadecimal digits.
    Hex(u8),
    /// This many letters.
    Letters(u8),
    /// This many bytes.
    Bytes(u8),
}

impl Form {
    /// How many bytes it has, if that is always the same.
    pub(super) const fn len(self) -> Option<u8> {
        match self {
            Self::Decimal => None,
            Self::Hex(n) | Self::Letters(n) | Self::Bytes(n) => Some(n),
        }
    }
}

/// A part of a message.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// These bytes.
    Bytes(Rc<Vec<u8>>),
    /// A number.
    Number(Num, Form, Span),
    /// The address of a side of a connection, as text or as bytes.
    Address { slot: u8, end: End, v4: bool, binary: bool },
    /// An address and a port as FTP writes them.
    HostPort { slot: u8, end: End, port: Num, span: Span },
    /// This many random bytes, from a position in the table.
    Random { len: Num, start: Num, span: Span },
    /// This many bytes of a text, again and again.
    Repeated { text: Rc<Vec<u8>>, len: Num, span: Span },
    /// Random bytes in chunks of HTTP.
    Chunked { len: Num, start: Num, chunk: u64, span: Span },
}

impl Part {
    /// A part of these bytes.
    pub(super) fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Bytes(Rc::new(bytes.into()))
    }

    /// How many bytes it has, if that is known before it is made.
    pub(super) fn len(&self) -> Option<Num> {
        let fixed = |n: usize| Some(Num::constant(n as u64, crate::lang::Unit::Bytes));
        match self {
            Self::Bytes(bytes) => fixed(bytes.len()),
            Self::Number(_, form, _) => form.len().and_then(|n| fixed(usize::from(n))),
            Self::Address { binary: true, v4, .. } => fixed(if *v4 { 4 } else { 16 }),
            Self::Random { len, .. } | Self::Repeated { len, .. } => Some(len.clone()),
            Self::Address { .. } | Self::HostPort { .. } | Self::Chunked { .. } => None,
        }
    }

    /// About how many bytes it has, for estimates.
    pub(super) fn mean(&self) -> f64 {
        match self {
            Self::Number(num, Form::Decimal, _) => num.mean.max(1.0).log10().floor() + 1.0,
            Self::Address { binary: false, v4, .. } => {
                if *v4 {
                    12.0
                } else {
                    20.0
                }
            }
            Self::HostPort { .. } => 19.0,
            Self::Chunked { len, chunk, .. } => len.mean + (len.mean / *chunk as f64 + 1.0) * 8.0,
            _ => self.len().map_or(0.0, |len| len.mean),
        }
    }
}

/// Joins neighbouring bytes of a message.
pub(super) fn merge(parts: Vec<Part>) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match (out.last_mut(), part) {
            (_, Part::Bytes(bytes)) if bytes.is_empty() => {}
            (Some(Part::Bytes(last)), Part::Bytes(bytes)) => Rc::make_mut(last).extend_from_slice(&bytes),
            (_, part) => out.push(part),
        }
    }
    out
}
