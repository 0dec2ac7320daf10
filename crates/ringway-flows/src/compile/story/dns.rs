//! Messages of DNS.

use std::net::IpAddr;

use super::compiler::{Compiler, Done};
use super::scope::Question;
use crate::code::{Dist, Shape, Transport};
use crate::compile::arguments::{arguments, optional};
use crate::compile::constant::{Given, constant, whole_of};
use crate::compile::part::{Form, Part, merge};
use crate::lang::{Call, Diagnostic, Expr, ExprKind, Span, Unit};

/// Types of records.
const TYPES: [(&str, u16); 7] =
    [("A", 1), ("NS", 2), ("CNAME", 5), ("MX", 15), ("TXT", 16), ("AAAA", 28), ("ANY", 255)];

impl Compiler<'_, '_> {
    /// Calls of DNS that are part of a text. Whole messages belong to a connection.
    pub(super) fn dns_name_call(&mut self, call: &Call) -> Done<Vec<Part>> {
        if call.name.node == "dns.name" {
            let args = arguments(call, &["name"])?;
            return self.dns_name(args[0]);
        }
        let diagnostic =
            Diagnostic::new(call.name.span, format!("`{}` is no text", call.name.node), "not here");
        Err(diagnostic.help("dns.query and dns.reply are whole messages: q > dns.query(...)"))
    }

    /// The message of a call, if it is one of DNS.
    pub(super) fn dns(&mut self, slot: u8, expr: &Expr) -> Option<Done<Vec<Part>>> {
        let ExprKind::Call(call) = &expr.node else { return None };
        let message = match call.name.node.as_str() {
            "dns.query" => {
                let message = self.query(slot, call);
                if let Some(slot) = &mut self.slots[usize::from(slot)] {
                    slot.wrong_question = message.is_err();
                }
                message
            }
            "dns.reply" => self.reply(slot, call),
            _ => return None,
        };
        let tcp = self.slots[usize::from(slot)].as_ref().is_some_and(|slot| slot.transport == Transport::Tcp);
        Some(message.and_then(|parts| if tcp { with_length(parts, expr.span) } else { Ok(parts) }))
    }

    /// `dns.query(name = ..., type = A)`
    fn query(&mut self, slot: u8, call: &Call) -> Done<Vec<Part>> {
        let args = optional(call, &["name", "type"])?;
        let Some(name) = args[0] else { return Err(super::call::missing(call, "name")) };
        let kind = args[1].map_or(Ok(1), |kind| self.record_type(kind))?;
        let span = call.name.span;
        let id = self.draw(&Dist { shape: Shape::Uniform, lo: 0, hi: 65_535 }, Unit::One, span)?;
        let mut question = self.dns_name(name)?;
        question.push(Part::bytes([(kind >> 8) as u8, kind as u8, 0, 1]));
        let question = merge(question);
        let mut parts = vec![Part::Number(id.clone(), Form::Bytes(2), span)];
        // Recursion desired, one question.
        parts.push(Part::bytes([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
        parts.extend(question.iter().cloned());
        // The numbers of the question stay in their registers until its reply.
        self.keep(&[Part::Number(id.clone(), Form::Bytes(2), span)]);
        self.keep(&question);
        if let Some(slot) = &mut self.slots[usize::from(slot)] {
            slot.question = Some(Question { id, parts: question, kind });
        }
        Ok(merge(parts))
    }

    /// Gives the numbers of parts a name that nobody can write, so that they stay in their registers as long as the block lasts.
    fn keep(&mut self, parts: &[Part]) {
        for part in parts {
            if let Part::Number(num, ..) = part {
                self.names.push((" kept".to_owned(), super::scope::Binding::Number(num.clone())));
            }
        }
    }

    /// `dns.reply(addr = 198.19.0.9)`
    fn reply(&mut self, slot: u8, call: &Call) -> Done<Vec<Part>> {
        let args = optional(call, &["addr", "ttl", "nxdomain", "truncated"])?;
        let question = self.slots[usize::from(slot)].as_ref().and_then(|slot| slot.question.clone());
        let Some(question) = question else {
            if self.slots[usize::from(slot)].as_ref().is_some_and(|slot| slot.wrong_question) {
                return Err(Diagnostic::silent());
            }
            return Err(Diagnostic::new(
                call.name.span,
                "a reply needs a query on the same connection",
                "no query before it",
            ));
        };
        let mut flag = |arg: Option<&Expr>| match arg {
            Some(arg) => self.truth(arg).map(|value| value.value() == Some(1)),
            None => Ok(false),
        };
        let (missing, truncated) = (flag(args[2])?, flag(args[3])?);
        let answer = match args[0] {
            Some(addr) if !missing && !truncated => self.answer(addr, &question, args[1])?,
            Some(addr) => {
                return Err(Diagnostic::new(
                    addr.span,
                    "this reply has no address",
                    "nxdomain and truncated replies have none",
                ));
            }
            None => Vec::new(),
        };
        let count = u8::from(!answer.is_empty());
        let flags = [0x81 | if truncated { 2 } else { 0 }, 0x80 | if missing { 3 } else { 0 }];
        let mut parts = vec![Part::Number(question.id, Form::Bytes(2), call.name.span)];
        parts.push(Part::bytes([flags[0], flags[1], 0, 1, 0, count, 0, 0, 0, 0]));
        parts.extend(question.parts);
        parts.extend(answer);
        Ok(merge(parts))
    }

    /// The record of an answer.
    fn answer(&mut self, addr: &Expr, question: &Question, ttl: Option<&Expr>) -> Done<Vec<Part>> {
        let ttl = match ttl {
            Some(ttl) => whole_of(ttl, Unit::Time, self)? / 1_000_000_000,
            None => 60,
        };
        let (v4, part) = match &addr.node {
            ExprKind::Address(IpAddr::V4(address)) => (true, Part::bytes(address.octets())),
            ExprKind::Address(IpAddr::V6(address)) => (false, Part::bytes(address.octets())),
            ExprKind::Name(name) => match self.side(name) {
                Some((slot, end)) => {
                    let v4 = self.slots[usize::from(slot)].as_ref().is_none_or(|slot| slot.v4);
                    (v4, Part::Address { slot, end, v4, binary: true })
                }
                None => {
                    return Err(Diagnostic::new(addr.span, "an address is needed here", "not an address"));
                }
            },
            _ => return Err(Diagnostic::new(addr.span, "an address is needed here", "not an address")),
        };
        let fits = if v4 { question.kind == 1 } else { question.kind == 28 };
        if !fits {
            return Err(Diagnostic::new(
                addr.span,
                "the answer is not of the type that the query asks for",
                "another type of address",
            )
            .help("type A is IPv4, type AAAA is IPv6"));
        }
        // The name is that of the question, 12 bytes from the start.
        let mut head = vec![0xc0, 0x0c, 0, question.kind as u8, 0, 1];
        head.extend((ttl as u32).to_be_bytes());
        head.extend([0, if v4 { 4 } else { 16 }]);
        Ok(vec![Part::bytes(head), part])
    }

    /// A type by its name or number.
    pub(super) fn record_type(&self, expr: &Expr) -> Done<u16> {
        if let ExprKind::Name(name) = &expr.node
            && let Some((_, kind)) = TYPES.iter().find(|(known, _)| known == name)
        {
            return Ok(*kind);
        }
        match constant(expr, self) {
            Ok(Given::Number(number)) => {
                let kind = crate::compile::constant::whole(number, expr.span)?;
                u16::try_from(kind)
                    .map_err(|_| Diagnostic::new(expr.span, "a type is below 65536", "too large"))
            }
            _ => Err(Diagnostic::new(expr.span, "this is no type of a DNS record", "unknown type")
                .help("there are A, AAAA, NS, CNAME, MX, TXT, ANY, and numbers")),
        }
    }

    /// A name as DNS writes it: a length in front of each label.
    fn dns_name(&mut self, expr: &Expr) -> Done<Vec<Part>> {
        let (mut parts, mut label, mut len, mut total) = (Vec::new(), Vec::new(), 0usize, 1usize);
        for part in self.parts(expr)? {
            match part {
                Part::Bytes(bytes) => {
                    for (i, piece) in bytes.split(|byte| *byte == b'.').enumerate() {
                        if i > 0 {
                            total += end_label(&mut parts, &mut label, &mut len, expr.span)?;
                        }
                        len += piece.len();
                        label.push(Part::bytes(piece));
                    }
                }
                Part::Number(num, form, span) => {
                    let Some(digits) = form.len() else {
                        return Err(Diagnostic::new(
                            span,
                            "the length of a label is not known before it is made",
                            "a number in decimal",
                        )
                        .help("use word(n) or hex(x, DIGITS), whose length is fixed"));
                    };
                    len += usize::from(digits);
                    label.push(Part::Number(num, form, span));
                }
                _ => {
                    return Err(Diagnostic::new(
                        expr.span,
                        "a name of DNS has texts, words and hexadecimal numbers",
                        "it has something else",
                    ));
                }
            }
        }
        if len > 0 {
            total += end_label(&mut parts, &mut label, &mut len, expr.span)?;
        }
        if total > 255 {
            return Err(Diagnostic::new(
                expr.span,
                "a name of DNS has at most 255 B",
                format!("this one has {total}"),
            ));
        }
        parts.push(Part::bytes([0]));
        Ok(merge(parts))
    }
}

/// Puts the length of a label in front of it. Gives the bytes that it takes.
fn end_label(parts: &mut Vec<Part>, label: &mut Vec<Part>, len: &mut usize, span: Span) -> Done<usize> {
    if !(1..=63).contains(len) {
        return Err(Diagnostic::new(span, "a label of a DNS name has 1 to 63 B", format!("one has {len}")));
    }
    parts.push(Part::bytes([*len as u8]));
    parts.append(label);
    Ok(std::mem::take(len) + 1)
}

/// A message over TCP: its length in front of it.
fn with_length(parts: Vec<Part>, span: Span) -> Done<Vec<Part>> {
    let len = super::http::total(&parts, span)?;
    let value = len.value().unwrap_or(0) as u16;
    Ok(merge([Part::bytes(value.to_be_bytes())].into_iter().chain(parts).collect()))
}
