//! `match`: a message is read as its protocol allows, not byte by byte.

use super::compiler::{Compiler, Done};
use crate::code::{End, Instr, Method, Op, Parser, Piece};
use crate::compile::arguments::{arguments, optional};
use crate::compile::constant::{Given, constant, whole_of};
use crate::compile::num::{Held, Num};
use crate::compile::part::{Form, Part};
use crate::lang::{Call, Diagnostic, Expr, ExprKind, Ident, Span, Spanned, Unit, nearest};

/// How an end expects a message.
#[derive(Clone, Debug)]
pub(super) enum Matching {
    /// Each byte.
    Exact,
    /// As many bytes, whatever they are.
    Length,
    /// As a protocol allows.
    Parser(Parser),
}

/// What can stand behind `match`.
const WORDS: [&str; 19] = [
    "dns_query",
    "dns_reply",
    "dots",
    "exact",
    "ftp_eprt",
    "ftp_extended",
    "ftp_passive",
    "ftp_port",
    "http_request",
    "http_response",
    "length",
    "line",
    "ntp",
    "number",
    "prefix",
    "reply",
    "sip_request",
    "sip_response",
    "tftp",
];

impl Compiler<'_, '_> {
    /// What stands behind `match`.
    pub(super) fn matching(&mut self, slot: u8, value: &Expr) -> Done<Matching> {
        let call = match &value.node {
            ExprKind::Call(call) => call.clone(),
            ExprKind::Name(name) => {
                Call { name: Spanned { node: name.clone(), span: value.span }, args: Vec::new() }
            }
            _ => return Err(unknown(&Spanned { node: String::new(), span: value.span })),
        };
        let parser = match call.name.node.as_str() {
            "exact" => return Ok(Matching::Exact),
            "length" => return Ok(Matching::Length),
            "number" => Parser::Number,
            "dots" => Parser::Dots,
            "ftp_port" => Parser::FtpPort,
            "ftp_eprt" => Parser::FtpEprt,
            "line" | "prefix" => Parser::Line { prefix: self.text_argument(&call)? },
            "sip_request" => Parser::SipRequest { method: self.text_argument(&call)? },
            "reply" => Parser::Reply { code: self.code(&call, 100, 599)? },
            "ftp_passive" => Parser::FtpPassive { code: self.code_or(&call, 227)? },
            "ftp_extended" => Parser::FtpExtended { code: self.code_or(&call, 229)? },
            "sip_response" => Parser::SipResponse { status: self.code(&call, 100, 699)? },
            "tftp" => Parser::Tftp { opcode: self.code(&call, 1, 6)? as u8 },
            "ntp" => Parser::Ntp { mode: self.code(&call, 1, 7)? as u8 },
            "dns_query" => Parser::DnsQuery { kind: self.record_type(arguments(&call, &["type"])?[0])? },
            "http_request" => Parser::HttpRequest { method: method(&call)? },
            "http_response" => self.http_response(&call)?,
            "dns_reply" => self.dns_reply(slot, &call)?,
            _ => return Err(unknown(&call.name)),
        };
        Ok(Matching::Parser(parser))
    }

    /// The template of the only argument, which is a text.
    fn text_argument(&mut self, call: &Call) -> Done<u32> {
        let args = arguments(call, &["text"])?;
        match constant(args[0], self)? {
            Given::Text(text) => self.template(&text, args[0].span),
            _ => Err(Diagnostic::new(args[0].span, "a text is needed here", "this is no text")),
        }
    }

    /// The only argument, which is a number in a range.
    fn code(&self, call: &Call, least: u64, greatest: u64) -> Done<u16> {
        let args = arguments(call, &["code"])?;
        let code = whole_of(args[0], Unit::One, self)?;
        if (least..=greatest).contains(&code) {
            return Ok(code as u16);
        }
        Err(Diagnostic::new(args[0].span, format!("this code is {least} to {greatest}"), "not in this range"))
    }

    /// The only argument, or what is usual.
    fn code_or(&self, call: &Call, usual: u16) -> Done<u16> {
        if call.args.is_empty() { Ok(usual) } else { self.code(call, 100, 599) }
    }

    /// `http_response(200)`, `http_response(200, head = 1)`
    fn http_response(&self, call: &Call) -> Done<Parser> {
        let args = optional(call, &["code", "head"])?;
        let [Some(code), head] = args[..] else { return Err(super::call::missing(call, "code")) };
        let status = whole_of(code, Unit::One, self)?;
        if !(100..600).contains(&status) {
            return Err(Diagnostic::new(code.span, "this code is 100 to 599", "not in this range"));
        }
        let head =
            head.map(|head| whole_of(head, Unit::One, self)).transpose()?.is_some_and(|head| head != 0);
        Ok(Parser::HttpResponse { status: status as u16, head })
    }

    /// `dns_reply`, `dns_reply(rcode = 3)`: it has the number and the question of the query before.
    fn dns_reply(&mut self, slot: u8, call: &Call) -> Done<Parser> {
        let args = optional(call, &["rcode", "truncated"])?;
        let value = |arg: Option<&Expr>| arg.map_or(Ok(0), |arg| whole_of(arg, Unit::One, self));
        let (rcode, truncated) = (value(args[0])?, value(args[1])? != 0);
        let asked = self.slots[usize::from(slot)].as_ref().and_then(|slot| slot.question.clone());
        let Some(question) = asked else {
            return Err(Diagnostic::new(
                call.name.span,
                "a reply needs a query on the same connection",
                "no query before it",
            ));
        };
        let span = call.name.span;
        let id = self.materialize(End::Client, &question.id, span)?;
        let mut pieces = Vec::new();
        for part in &question.parts {
            pieces.push(match part {
                Part::Bytes(bytes) => Piece::Text(self.template(bytes, span)?),
                Part::Number(num, Form::Letters(count), _) => {
                    Piece::Letters { reg: self.materialize(End::Client, num, span)?, count: *count }
                }
                Part::Number(num, Form::Hex(digits), _) => {
                    Piece::Hex { reg: self.materialize(End::Client, num, span)?, digits: *digits }
                }
                _ => {
                    return Err(Diagnostic::new(
                        span,
                        "this question can't be compared",
                        "it has other parts than words",
                    ));
                }
            });
        }
        let question = self.global.tables.format(pieces);
        Ok(Parser::DnsReply { id, question, rcode: rcode.min(15) as u8, truncated })
    }

    /// An end expects a message that a parser takes. What it captures becomes known, or is compared.
    pub(super) fn expect_parser(
        &mut self,
        end: End,
        slot: u8,
        parser: Parser,
        parts: &[Part],
        count: Option<&Ident>,
        span: Span,
    ) -> Done {
        let captures = parser.captures();
        let index = self.global.tables.parser(parser);
        let first = match captures {
            0 => 0,
            n => {
                self.emit[end as usize].registers(n).map_err(|full| super::compiler::too_much(full, span))?
            }
        };
        self.put(end, Instr::new(Op::ExpectP, slot, u16::from(first), index), span)?;
        let is_size = matches!(
            parser,
            Parser::HttpRequest { .. } | Parser::HttpResponse { .. } | Parser::Dots | Parser::Tftp { .. }
        );
        if let Some(name) = count {
            if !is_size {
                return Err(Diagnostic::new(
                    name.span,
                    "this match counts no bytes",
                    "`count` has nothing to count",
                ));
            }
            let mut held = [Held::Unknown; 2];
            held[end as usize] = Held::Register(first + captures - 1);
            let num = Num::leaf(held, name.span, "counted by one end", Unit::Bytes, (0, 1 << 62));
            self.names.push((name.node.clone(), super::scope::Binding::Number(num)));
        }
        if matches!(
            parser,
            Parser::HttpRequest { .. } | Parser::HttpResponse { .. } | Parser::Dots | Parser::DnsReply { .. }
        ) {
            return Ok(());
        }
        let value = parts.iter().find_map(|part| match part {
            Part::HostPort { port, .. } => Some(port),
            Part::Number(num, ..) => Some(num),
            _ => None,
        });
        match value {
            Some(num) if captures > 0 && num.lacks(end).is_some() && num.is_leaf() => {
                self.learn(end, num, first);
                Ok(())
            }
            // A real client chooses the number of its query, and a reply has that one.
            Some(num) if matches!(parser, Parser::DnsQuery { .. }) => {
                let known = self.materialize(end, num, span)?;
                self.put(end, Instr::new(Op::Mov, known, u16::from(first), 0), span)
            }
            Some(num) if captures > 0 => self.compare(end, num, first, span),
            _ => Ok(()),
        }
    }

    /// A captured value must be the one that the end knows.
    fn compare(&mut self, end: End, num: &Num, captured: u8, span: Span) -> Done {
        let known = self.materialize(end, num, span)?;
        let test = self.register(end, span)?;
        self.put(end, Instr::two(Op::Eq, test, captured, known), span)?;
        let name = format!("the message has the value of `{}`", self.global.text_of(span));
        let name = self.global.tables.name(&name);
        self.put(end, Instr::new(Op::Check, test, 0, name), span)
    }
}

/// The error about a word that is no way to match.
fn unknown(name: &Ident) -> Diagnostic {
    let diagnostic = Diagnostic::new(name.span, format!("there is no match `{}`", name.node), "unknown word");
    diagnostic.help(match nearest(&name.node, WORDS) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", WORDS.join(", ")),
    })
}

/// A method of HTTP by its name.
fn method(call: &Call) -> Done<Method> {
    let args = arguments(call, &["method"])?;
    match &args[0].node {
        ExprKind::Name(name) if name == "GET" => Ok(Method::Get),
        ExprKind::Name(name) if name == "HEAD" => Ok(Method::Head),
        ExprKind::Name(name) if name == "POST" => Ok(Method::Post),
        ExprKind::Name(name) if name == "PUT" => Ok(Method::Put),
        _ => Err(Diagnostic::new(args[0].span, "a method is GET, HEAD, POST or PUT", "none of them")),
    }
}
