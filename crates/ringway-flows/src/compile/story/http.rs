//! Messages of HTTP/1.1.

use super::compiler::{Compiler, Done};
use crate::code::Op;
use crate::compile::arguments::optional;
use crate::compile::constant::whole_of;
use crate::compile::num::Num;
use crate::compile::part::{Form, Part};
use crate::lang::{Call, Diagnostic, Expr, ExprKind, Span, Unit};

/// Texts of status codes.
const REASONS: [(u64, &str); 12] = [
    (200, "OK"),
    (201, "Created"),
    (204, "No Content"),
    (301, "Moved Permanently"),
    (302, "Found"),
    (304, "Not Modified"),
    (400, "Bad Request"),
    (401, "Unauthorized"),
    (403, "Forbidden"),
    (404, "Not Found"),
    (500, "Internal Server Error"),
    (503, "Service Unavailable"),
];

impl Compiler<'_, '_> {
    /// A message of HTTP.
    pub(super) fn http(&mut self, call: &Call) -> Done<Vec<Part>> {
        match call.name.node.as_str() {
            "http.get" => self.request(call, "GET"),
            "http.head" => self.request(call, "HEAD"),
            "http.post" => self.request(call, "POST"),
            "http.put" => self.request(call, "PUT"),
            "http.ok" => self.response(call, false),
            "http.reply" => self.response(call, true),
            name => Err(Diagnostic::new(
                call.name.span,
                format!("`{name}` is no message of HTTP"),
                "unknown call",
            )
            .help("there are http.get, http.head, http.post, http.put, http.ok and http.reply")),
        }
    }

    /// A request.
    fn request(&mut self, call: &Call, method: &str) -> Done<Vec<Part>> {
        let has_body = matches!(method, "POST" | "PUT");
        let known: &[&str] =
            if has_body { &["path", "host", "header", "body", "type"] } else { &["path", "host", "header"] };
        let args = optional(call, known)?;
        let mut parts = vec![Part::bytes(format!("{method} "))];
        match args[0] {
            Some(path) => parts.extend(self.parts(path)?),
            None => parts.push(Part::bytes(*b"/")),
        }
        parts.push(Part::bytes(*b" HTTP/1.1\r\nHost: "));
        match args[1] {
            Some(host) => parts.extend(self.host(host)?),
            None => return Err(super::call::missing(call, "host")),
        }
        parts.push(Part::bytes(*b"\r\nUser-Agent: ringway\r\nAccept: */*\r\n"));
        if let Some(header) = args[2] {
            parts.extend(self.parts(header)?);
        }
        if has_body {
            let body = args[3].map_or(Ok(Vec::new()), |body| self.parts(body))?;
            self.body(call.name.span, &mut parts, body, args[4], true)?;
        } else {
            parts.push(Part::bytes(*b"\r\n"));
        }
        Ok(parts)
    }

    /// The host of a request. An IPv6 address stands in brackets.
    fn host(&mut self, expr: &Expr) -> Done<Vec<Part>> {
        let parts = self.parts(expr)?;
        let bare = matches!(parts.as_slice(), [Part::Address { v4: false, .. }]);
        if !bare {
            return Ok(parts);
        }
        Ok([Part::bytes(*b"[")].into_iter().chain(parts).chain([Part::bytes(*b"]")]).collect())
    }

    /// A response.
    fn response(&mut self, call: &Call, with_status: bool) -> Done<Vec<Part>> {
        let known: &[&str] = if with_status {
            &["status", "body", "type", "header", "chunked", "head"]
        } else {
            &["body", "type", "header", "chunked", "head"]
        };
        let mut args = optional(call, known)?;
        let status = match with_status.then(|| args.remove(0)) {
            None => 200,
            Some(Some(status)) => whole_of(status, Unit::One, self)?,
            Some(None) => return Err(super::call::missing(call, "status")),
        };
        if !(100..600).contains(&status) {
            return Err(Diagnostic::new(call.name.span, "a status is 100 to 599", "not in this range"));
        }
        let reason = REASONS.iter().find(|(code, _)| *code == status).map_or("Status", |(_, reason)| reason);
        let mut parts = vec![Part::bytes(format!("HTTP/1.1 {status} {reason}\r\nServer: ringway\r\n"))];
        if let Some(header) = args[2] {
            parts.extend(self.parts(header)?);
        }
        let head =
            args[4].map(|head| self.number(head)).transpose()?.is_some_and(|head| head.value() == Some(1));
        let body = args[0].map_or(Ok(Vec::new()), |body| self.parts(body))?;
        match args[3] {
            Some(chunk) => self.chunked(chunk, &mut parts, body)?,
            None => self.body(call.name.span, &mut parts, body, args[1], !head)?,
        }
        Ok(parts)
    }

    /// The end of a header with the length of a body, and the body.
    fn body(
        &mut self,
        span: Span,
        parts: &mut Vec<Part>,
        body: Vec<Part>,
        kind: Option<&Expr>,
        with_body: bool,
    ) -> Done {
        let len = total(&body, span)?;
        if !body.is_empty() {
            parts.push(Part::bytes(*b"Content-Type: "));
            match kind {
                Some(kind) => parts.extend(self.parts(kind)?),
                None => parts.push(Part::bytes(*b"application/octet-stream")),
            }
            parts.push(Part::bytes(*b"\r\n"));
        }
        let expr = Expr { node: ExprKind::Name(String::new()), span };
        parts.push(Part::bytes(*b"Content-Length: "));
        parts.push(super::call::written(len, Form::Decimal, &expr));
        parts.push(Part::bytes(*b"\r\n\r\n"));
        if with_body {
            parts.extend(body);
        }
        Ok(())
    }

    /// The end of a header, and a body in chunks.
    fn chunked(&mut self, chunk: &Expr, parts: &mut Vec<Part>, body: Vec<Part>) -> Done {
        let size = whole_of(chunk, Unit::Bytes, self)?;
        if !(1..=65_535).contains(&size) {
            return Err(Diagnostic::new(chunk.span, "a chunk has 1 to 65535 B", "not so many"));
        }
        parts.push(Part::bytes(*b"Transfer-Encoding: chunked\r\n\r\n"));
        match body.as_slice() {
            [Part::Random { len, start, span }] => {
                parts.push(Part::Chunked {
                    len: len.clone(),
                    start: start.clone(),
                    chunk: size,
                    span: *span,
                });
                Ok(())
            }
            [Part::Bytes(bytes)] => {
                for piece in bytes.chunks(size as usize) {
                    parts.push(Part::bytes(format!("{:x}\r\n", piece.len())));
                    parts.push(Part::bytes(piece));
                    parts.push(Part::bytes(*b"\r\n"));
                }
                parts.push(Part::bytes(*b"0\r\n\r\n"));
                Ok(())
            }
            _ => Err(Diagnostic::new(
                chunk.span,
                "a body in chunks is one text or random(n)",
                "this body is neither",
            )),
        }
    }
}

/// How many bytes parts have.
pub(super) fn total(parts: &[Part], span: Span) -> Done<Num> {
    let mut sum = Num::constant(0, Unit::Bytes);
    for part in parts {
        let Some(len) = part.len() else {
            return Err(Diagnostic::new(
                span,
                "the length of this content is not known before it is made",
                "it has a number in decimal or an address",
            )
            .help("write numbers with hex(x, DIGITS), whose length is fixed"));
        };
        sum = match (sum.value(), len.value()) {
            (Some(0), _) => len,
            (_, Some(0)) => sum,
            _ => Num::result(Op::Add, &sum, &len, Unit::Bytes),
        };
    }
    Ok(sum)
}
