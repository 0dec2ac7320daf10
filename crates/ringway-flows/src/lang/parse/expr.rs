//! Values.

use std::net::IpAddr;

use super::{Noted, Parsed, Parser};
use crate::lang::token::{RESERVED, Token};
use crate::lang::{Binary, Diagnostic, Expr, ExprKind, Spanned, Unit};

/// Most operations, calls and parentheses of one value.
const MAX_OPERATIONS: usize = 200;
/// Most parts of a joined value, arguments of a call, rows of a table.
pub(super) const MAX_PARTS: usize = 10_000;

impl Parser<'_> {
    /// Values one after the other, as in a message. A text at the start of a line goes on with the message of the line before.
    pub(super) fn joined(&mut self) -> Parsed<Expr> {
        let first = self.value()?;
        let mut parts = vec![first];
        while self.begins_part() {
            parts.push(self.value()?);
            if parts.len() > MAX_PARTS {
                let span = self.last_span();
                return self.fail(Diagnostic::new(
                    span,
                    "a value has more than 10000 parts",
                    "it goes on here",
                ));
            }
        }
        let span = parts[0].span.to(self.last_span());
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Spanned { node: ExprKind::Join(parts), span },
        })
    }

    /// Whether the next word begins another part of a joined value.
    fn begins_part(&self) -> bool {
        if matches!(self.peek(), Some(Token::Text(_))) {
            return true;
        }
        if self.blocks > 0 && self.parens == 0 && self.begins_statement() {
            return false;
        }
        match self.same_line() {
            Some(Token::Name(name)) => {
                !RESERVED.contains(&name.as_str()) && super::words::find(self.stops, name).is_none()
            }
            Some(Token::Number(_) | Token::V4(_) | Token::Colons(_) | Token::Sign('(')) => true,
            _ => false,
        }
    }

    /// One value: an expression, a range, or a distribution with its bounds.
    pub(super) fn value(&mut self) -> Parsed<Expr> {
        let outermost = self.operations == 0;
        let value = self.bounded();
        if outermost {
            self.operations = 0;
        }
        value
    }

    /// A range or expression, with `clamp` or `max` behind it.
    fn bounded(&mut self) -> Parsed<Expr> {
        self.operation()?;
        let mut value = self.range()?;
        if self.eat_word("clamp") {
            let start = self.span();
            let bounds = self.range()?;
            let span = value.span.to(bounds.span);
            let ExprKind::Range(lo, hi) = bounds.node else {
                return self.fail(
                    Diagnostic::new(start, "`clamp` needs a range", "this is no range")
                        .help("for example: clamp 200 B..2 MiB"),
                );
            };
            value = Spanned { node: ExprKind::Clamp(Box::new(value), Some(lo), hi), span };
        } else if self.eat_word("max") {
            let hi = self.sum()?;
            let span = value.span.to(hi.span);
            value = Spanned { node: ExprKind::Clamp(Box::new(value), None, Box::new(hi)), span };
        }
        Ok(value)
    }

    /// An expression, or two with `..` between them.
    fn range(&mut self) -> Parsed<Expr> {
        let mut lo = self.either()?;
        let bare = self.factor == (Unit::One, 1);
        if !self.eat(&Token::Dots) {
            return Ok(lo);
        }
        let hi = self.either()?;
        // The unit of `1..4 KiB` holds for both.
        if let (true, ExprKind::Number(low), ExprKind::Number(_)) = (bare, &mut lo.node, &hi.node) {
            *low = self.limit(low.micro * self.factor.1, self.factor.0, lo.span)?;
        }
        let span = lo.span.to(hi.span);
        Ok(Spanned { node: ExprKind::Range(Box::new(lo), Box::new(hi)), span })
    }

    /// Counts an operation, so that no text makes a tree too deep.
    fn operation(&mut self) -> Parsed<()> {
        self.operations += 1;
        if self.operations <= MAX_OPERATIONS {
            return Ok(());
        }
        let span = self.span();
        self.fail(
            Diagnostic::new(span, "a value has more than 200 operations", "it goes on here")
                .help("give parts of it names with `let`"),
        )
    }

    /// `x or y`
    fn either(&mut self) -> Parsed<Expr> {
        self.chain(Self::both, |parser| parser.is_word("or").then_some(Binary::Or))
    }

    /// `x and y`
    fn both(&mut self) -> Parsed<Expr> {
        self.chain(Self::negation, |parser| parser.is_word("and").then_some(Binary::And))
    }

    /// `not x`
    fn negation(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if !self.eat_word("not") {
            return self.comparison();
        }
        self.operation()?;
        let inner = self.negation()?;
        let span = start.to(inner.span);
        Ok(Spanned { node: ExprKind::Not(Box::new(inner)), span })
    }

    /// `x < y`
    fn comparison(&mut self) -> Parsed<Expr> {
        self.chain(Self::sum, |parser| {
            Some(match parser.same_line()? {
                Token::Equal => Binary::Equal,
                Token::Unequal => Binary::Unequal,
                Token::AtMost => Binary::AtMost,
                Token::AtLeast => Binary::AtLeast,
                Token::Sign('<') => Binary::Less,
                Token::Sign('>') => Binary::More,
                _ => return None,
            })
        })
    }

    /// `x + y`
    fn sum(&mut self) -> Parsed<Expr> {
        self.chain(Self::product, |parser| match parser.same_line()? {
            Token::Sign('+') => Some(Binary::Add),
            Token::Sign('-') => Some(Binary::Sub),
            _ => None,
        })
    }

    /// `x * y`
    fn product(&mut self) -> Parsed<Expr> {
        self.chain(Self::primary, |parser| match parser.same_line()? {
            Token::Sign('*') => Some(Binary::Mul),
            Token::Sign('/') => Some(Binary::Div),
            Token::Name(name) if name == "mod" => Some(Binary::Mod),
            _ => None,
        })
    }

    /// Operands with operations of one rank between them, from left to right.
    fn chain(
        &mut self,
        operand: fn(&mut Self) -> Parsed<Expr>,
        operation: fn(&Self) -> Option<Binary>,
    ) -> Parsed<Expr> {
        let mut left = operand(self)?;
        while let Some(binary) = operation(self) {
            self.at += 1;
            self.operation()?;
            let right = operand(self)?;
            let span = left.span.to(right.span);
            left = Spanned { node: ExprKind::Binary(binary, Box::new(left), Box::new(right)), span };
        }
        Ok(left)
    }

    /// A number, a text, a name, a call, an address, or a value in parentheses.
    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let node = match self.peek().cloned() {
            Some(Token::Number(micro)) => {
                self.at += 1;
                ExprKind::Number(self.number(micro)?)
            }
            Some(Token::Text(bytes)) => {
                self.at += 1;
                ExprKind::Text(bytes)
            }
            Some(Token::V4(address)) => {
                self.at += 1;
                ExprKind::Address(IpAddr::V4(address))
            }
            Some(Token::Colons(_)) => ExprKind::Address(self.address()?.node),
            Some(Token::Sign('(')) => {
                let inner = self.in_parens(Self::joined)?;
                return Ok(Spanned { node: inner.node, span: start.to(self.last_span()) });
            }
            Some(Token::Name(name))
                if !RESERVED.contains(&name.as_str()) || self.peek_second() == Some(&Token::Sign('(')) =>
            {
                self.named()?
            }
            _ => return self.unexpected("a value"),
        };
        Ok(Spanned { node, span: start.to(self.last_span()) })
    }

    /// What stands between parentheses.
    pub(super) fn in_parens<T>(&mut self, inner: fn(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.need_sign('(')?;
        self.operation()?;
        self.parens += 1;
        let found = inner(self);
        self.parens = self.parens.saturating_sub(1);
        let found = found?;
        self.need_sign(')')?;
        Ok(found)
    }

    /// An address.
    pub(super) fn address(&mut self) -> Parsed<Spanned<IpAddr>> {
        let span = self.span();
        let node = match self.peek() {
            Some(Token::V4(address)) => Ok(IpAddr::V4(*address)),
            Some(Token::Colons(text)) => text.parse().map_err(|_| Noted),
            _ => return self.unexpected("an address"),
        };
        match node {
            Ok(node) => {
                self.at += 1;
                Ok(Spanned { node, span })
            }
            Err(Noted) => self.fail(Diagnostic::new(span, "this is no IPv6 address", "not an address")),
        }
    }
}
