//! Texts of a story, and the calls that make them.

use std::rc::Rc;

use super::compiler::{Compiler, Done};
use super::scope::Binding;
use crate::code::{Dist, Shape};
use crate::compile::arguments::{arguments, optional};
use crate::compile::constant::{Given, MAX_TEXT, constant, whole_of};
use crate::compile::num::Num;
use crate::compile::part::{Form, Part, merge};
use crate::lang::{Call, Diagnostic, Expr, ExprKind, Unit, nearest};

/// Calls that make texts.
const TEXTS: [&str; 26] = [
    "hex",
    "dec",
    "word",
    "random",
    "pattern",
    "counter",
    "file",
    "u8",
    "u16",
    "u32",
    "u64",
    "bytes",
    "ftp_hostport",
    "ftp_extended",
    "ftp_eprt",
    "http.get",
    "http.head",
    "http.post",
    "http.put",
    "http.ok",
    "http.reply",
    "dns.query",
    "dns.reply",
    "zeros",
    "line",
    "dns.name",
];

/// All words that a value may begin with, for advice.
pub(super) const WORDS: [&str; 34] = [
    "hex",
    "dec",
    "word",
    "random",
    "pattern",
    "counter",
    "file",
    "u8",
    "u16",
    "u32",
    "u64",
    "bytes",
    "ftp_hostport",
    "ftp_extended",
    "ftp_eprt",
    "ftp_parse",
    "http.get",
    "http.head",
    "http.post",
    "http.put",
    "http.ok",
    "http.reply",
    "dns.query",
    "dns.reply",
    "dns.name",
    "zeros",
    "line",
    "ephemeral",
    "now",
    "rand8",
    "rand16",
    "rand32",
    "min",
    "max",
];

/// So many bytes of repeated content are written out.
const WRITTEN_OUT: usize = 4_096;
/// Most bytes of random or repeated content.
pub(super) const MAX_CONTENT: u64 = 1 << 40;

impl Compiler<'_, '_> {
    /// Whether an expression makes a text, not a number.
    pub(super) fn is_text(&self, expr: &Expr) -> bool {
        match &expr.node {
            ExprKind::Text(_) | ExprKind::Join(_) => true,
            ExprKind::Address(_) => true,
            ExprKind::Call(call) => TEXTS.contains(&call.name.node.as_str()) || call.name.node.contains('.'),
            ExprKind::Name(name) => {
                matches!(self.lookup(name), Some(Binding::Text(_))) || self.side(name).is_some()
            }
            _ => false,
        }
    }

    /// The parts of a text.
    pub(super) fn parts(&mut self, expr: &Expr) -> Done<Vec<Part>> {
        let mut parts = Vec::new();
        self.add_parts(expr, &mut parts)?;
        let parts = merge(parts);
        let bytes: usize =
            parts.iter().map(|part| if let Part::Bytes(bytes) = part { bytes.len() } else { 8 }).sum();
        if bytes > MAX_TEXT {
            return Err(Diagnostic::new(expr.span, "a text is longer than 1 MiB", "put together here"));
        }
        Ok(parts)
    }

    /// Appends the parts of an expression.
    fn add_parts(&mut self, expr: &Expr, parts: &mut Vec<Part>) -> Done {
        match &expr.node {
            ExprKind::Text(bytes) => parts.push(Part::bytes(bytes.clone())),
            ExprKind::Address(address) => parts.push(Part::bytes(address.to_string())),
            ExprKind::Join(list) => {
                for part in list {
                    parts.extend(self.parts(part)?);
                }
            }
            ExprKind::Call(call) if self.is_text(expr) => self.call(call, parts)?,
            ExprKind::Name(name) => {
                if let Some((slot, end)) = self.side(name) {
                    let v4 = self.slots[usize::from(slot)].as_ref().is_none_or(|slot| slot.v4);
                    parts.push(Part::Address { slot, end, v4, binary: false });
                } else if let Some(Binding::Text(text)) = self.lookup(name) {
                    parts.extend(text);
                } else {
                    let num = self.number(expr)?;
                    parts.push(written(num, Form::Decimal, expr));
                }
            }
            _ => {
                let num = self.number(expr)?;
                parts.push(written(num, Form::Decimal, expr));
            }
        }
        Ok(())
    }

    /// A call that makes a text.
    fn call(&mut self, call: &Call, parts: &mut Vec<Part>) -> Done {
        let name = call.name.node.as_str();
        match name {
            "dec" => {
                let args = arguments(call, &["number"])?;
                let num = self.number(args[0])?;
                parts.push(written(num, Form::Decimal, args[0]));
            }
            "hex" => self.hex(call, parts)?,
            "u8" | "u16" | "u32" | "u64" => self.binary(call, parts)?,
            "word" => self.word(call, parts)?,
            "random" => {
                let args = arguments(call, &["length"])?;
                let len = self.size(args[0], MAX_CONTENT)?;
                let span = args[0].span;
                let start = self.draw(&Dist { shape: Shape::Uniform, lo: 0, hi: 65_535 }, Unit::One, span)?;
                parts.push(Part::Random { len, start, span });
            }
            "pattern" => {
                let args = arguments(call, &["text", "length"])?;
                let Given::Text(text) = constant(args[0], self)? else {
                    return Err(Diagnostic::new(args[0].span, "a pattern is a text", "this is no text"));
                };
                self.repeated(Rc::new(text), args[1], parts)?;
            }
            "counter" => {
                let args = arguments(call, &["length"])?;
                self.repeated(Rc::new((0..=255).collect()), args[0], parts)?;
            }
            "zeros" => {
                let args = arguments(call, &["length"])?;
                self.repeated(Rc::new(vec![0; 64]), args[0], parts)?;
            }
            "file" => self.file(call, parts)?,
            "line" => {
                let args = arguments(call, &["text"])?;
                parts.extend(self.parts(args[0])?);
                parts.push(Part::bytes(*b"\r\n"));
            }
            "bytes" | "ftp_hostport" | "ftp_extended" | "ftp_eprt" => self.addresses(call, parts)?,
            _ if name.starts_with("http.") => parts.extend(self.http(call)?),
            _ if name.starts_with("dns.") => parts.extend(self.dns_name_call(call)?),
            _ => {
                let diagnostic =
                    Diagnostic::new(call.name.span, format!("there is no call `{name}`"), "unknown call");
                return Err(match nearest(name, WORDS) {
                    Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                    None => diagnostic,
                });
            }
        }
        Ok(())
    }

    /// `hex(x)`, `hex(x, 4)`
    fn hex(&mut self, call: &Call, parts: &mut Vec<Part>) -> Done {
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
    fn binary(&mut self, call: &Call, parts: &mut Vec<Part>) -> Done {
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
    fn word(&mut self, call: &Call, parts: &mut Vec<Part>) -> Done {
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
    fn repeated(&mut self, text: Rc<Vec<u8>>, len: &Expr, parts: &mut Vec<Part>) -> Done {
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
    fn file(&mut self, call: &Call, parts: &mut Vec<Part>) -> Done {
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
    fn addresses(&mut self, call: &Call, parts: &mut Vec<Part>) -> Done {
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

/// A number as it is written. One that is always the same is written now.
pub(super) fn written(num: Num, form: Form, expr: &Expr) -> Part {
    let Some(value) = num.value() else { return Part::Number(num, form, expr.span) };
    match form {
        Form::Decimal => Part::bytes(value.to_string()),
        Form::Hex(digits) => {
            let text = format!("{value:016x}");
            Part::bytes(&text.as_bytes()[16 - usize::from(digits)..])
        }
        Form::Bytes(count) => Part::bytes(&value.to_be_bytes()[8 - usize::from(count)..]),
        Form::Letters(_) => Part::Number(num, form, expr.span),
    }
}

/// The error about an argument that is missing.
pub(super) fn missing(call: &Call, name: &str) -> Diagnostic {
    Diagnostic::new(call.name.span, format!("`{}` needs `{name}`", call.name.node), "it is missing here")
}
