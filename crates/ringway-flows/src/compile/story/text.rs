//! Calls that write numbers, words, files and addresses.

use std::rc::Rc;

use super::call::{MAX_CONTENT, missing, written};
use super::compiler::{Compiler, Done};
use crate::code::{Dist, Shape};
use crate::compile::arguments::{arguments, optional};
use crate::compile::constant::{Given, constant, whole_of};
use crate::compile::num::Num;
use crate::compile::part::{Form, Part};
use crate::lang::{Call, Diagnostic, Expr, ExprKind, Unit};

/// So many bytes of repeated content are written out.
const WRITTEN_OUT: usize = 4_096;

impl Compiler<'_, '_> {
    /// `hex(x)`, `hex(x, 4)`
    pub(super) fn hex(&mut self, call: &Call, parts: &mut Vec<Part>) -> Done {
        let args = optional(call, &["number", "digits"])?;
        let [Some(value), digits] = args[..] else { return Err(missing(call, "number")) };
        let num = self.number(value)?;
        let digits = match digits {
            Some(digits) => whole_of(digits, Unit::One, self)?,
            // As many as its greatest value needs.
            None => u64::from((64 - num.hi.leading_zeros()).div_ceil(4).max(1)),
        };
        if !(1..=16).contains(&digits) {
            return Err(Diagnostic::new(
                call.name.span,
                "a number has 1 to 16 hexadecimal digits",
                "not so many",
            ));
        }
        parts.push(written(num, Form::Hex(digits as u8), value));
        Ok(())
    }

    /// `u16(x)`: the bytes of a number, the highest one first.
    pub(super) fn binary(&mut self, call: &Call, parts: &mut Vec<Part>) -> Done {
        let args = arguments(call, &["number"])?;
        let num = self.number(args[0])?;
        let count = match call.name.node.as_str() {
            "u8" => 1,
            "u16" => 2,
            "u32" => 4,
            _ => 8,
        };
        if num.hi.checked_shr(8 * count).unwrap_or(0) != 0 {
            return Err(Diagnostic::new(
                args[0].span,
                format!("a number must fit into {count} B"),
                format!("it may be {}", num.hi),
            ));
        }
        parts.push(written(num, Form::Bytes(count as u8), args[0]));
        Ok(())
    }

    /// `word(8)`: random letters.
    pub(super) fn word(&mut self, call: &Call, parts: &mut Vec<Part>) -> Done {
        let args = arguments(call, &["letters"])?;
        let mut left = whole_of(args[0], Unit::One, self)?;
        if !(1..=63).contains(&left) {
            return Err(Diagnostic::new(args[0].span, "a word has 1 to 63 letters", "not so many"));
        }
        while left > 0 {
            let count = left.min(12);
            let dist = Dist { shape: Shape::Uniform, lo: 0, hi: (1 << (5 * count)) - 1 };
            let num = self.draw(&dist, Unit::One, args[0].span)?;
            parts.push(Part::Number(num, Form::Letters(count as u8), args[0].span));
            left -= count;
        }
        Ok(())
    }

    /// So many bytes of a text, again and again.
    pub(super) fn repeated(&mut self, text: Rc<Vec<u8>>, len: &Expr, parts: &mut Vec<Part>) -> Done {
        if text.is_empty() {
            return Err(Diagnostic::new(len.span, "an empty text cannot be repeated", "repeated here"));
        }
        let num = self.size(len, MAX_CONTENT)?;
        match num.value() {
            // Short ones become part of a template.
            Some(value) if value <= WRITTEN_OUT as u64 => {
                parts
                    .push(Part::bytes(text.iter().copied().cycle().take(value as usize).collect::<Vec<_>>()));
            }
            // An end queues few copies of a text at a time, and no more for a whole datagram: each is to be long.
            _ => {
                let copies = (WRITTEN_OUT / text.len()).max(1);
                parts.push(Part::Repeated { text: Rc::new(text.repeat(copies)), len: num, span: len.span });
            }
        }
        Ok(())
    }

    /// `file("name")`, `file("name", length)`
    pub(super) fn file(&mut self, call: &Call, parts: &mut Vec<Part>) -> Done {
        let args = optional(call, &["name", "length"])?;
        let [Some(name), len] = args[..] else { return Err(missing(call, "name")) };
        let Given::Text(text) = constant(name, self)? else {
            return Err(Diagnostic::new(name.span, "the name of a file is a text", "this is no text"));
        };
        let bytes = self.global.content(&String::from_utf8_lossy(&text), name.span)?;
        match len {
            Some(len) => self.repeated(bytes, len, parts),
            None => {
                let len = Num::constant(bytes.len() as u64, Unit::Bytes);
                parts.push(Part::Repeated { text: bytes, len, span: name.span });
                Ok(())
            }
        }
    }

    /// Addresses and ports, as bytes and as FTP writes them.
    pub(super) fn addresses(&mut self, call: &Call, parts: &mut Vec<Part>) -> Done {
        let needed: &[&str] = match call.name.node.as_str() {
            "bytes" => &["side"],
            "ftp_extended" => &["port"],
            _ => &["side", "port"],
        };
        let args = arguments(call, needed)?;
        let span = args[args.len() - 1].span;
        if call.name.node == "ftp_extended" {
            let port = self.number(args[0])?;
            parts.extend([Part::bytes(*b"(|||"), written(port, Form::Decimal, args[0]), Part::bytes(*b"|)")]);
            return Ok(());
        }
        let side = match &args[0].node {
            ExprKind::Name(name) => self.side(name),
            _ => None,
        };
        let Some((slot, end)) = side else {
            return Err(Diagnostic::new(args[0].span, "an end of a connection is needed here", "not an end")
                .help("for example: ctl.server"));
        };
        let v4 = self.slots[usize::from(slot)].as_ref().is_none_or(|slot| slot.v4);
        match call.name.node.as_str() {
            "bytes" => parts.push(Part::Address { slot, end, v4, binary: true }),
            "ftp_hostport" if !v4 => {
                return Err(Diagnostic::new(
                    args[0].span,
                    "ftp_hostport is for IPv4",
                    "this connection is IPv6",
                )
                .help("use ftp_extended(port) or ftp_eprt(side, port)"));
            }
            "ftp_hostport" => {
                let port = self.number(args[1])?;
                parts.push(Part::HostPort { slot, end, port, span });
            }
            _ => {
                let port = self.number(args[1])?;
                let family = if v4 { "|1|" } else { "|2|" };
                parts.extend([
                    Part::bytes(family),
                    Part::Address { slot, end, v4, binary: false },
                    Part::bytes(*b"|"),
                    written(port, Form::Decimal, args[1]),
                    Part::bytes(*b"|"),
                ]);
            }
        }
        Ok(())
    }
}
