//! Texts of a story, and the calls that make them.

use std::rc::Rc;

use super::compiler::{Compiler, Done};
use super::scope::Binding;
use crate::code::{Dist, Shape};
use crate::compile::arguments::arguments;
use crate::compile::constant::{Given, MAX_TEXT, constant};
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
