//! Names, and calls with their arguments.

use super::expr::MAX_PARTS;
use super::{Parsed, Parser};
use crate::lang::token::Token;
use crate::lang::{Arg, Call, Diagnostic, Expr, ExprKind, Spanned};

impl Parser<'_> {
    /// A name with dots, and the arguments behind it if it is a call.
    pub(super) fn named(&mut self) -> Parsed<ExprKind> {
        let name = self.dotted("a name")?;
        if self.same_line() == Some(&Token::Sign('(')) {
            let args = self.in_parens(Self::args)?;
            return Ok(ExprKind::Call(Call { name, args }));
        }
        Ok(ExprKind::Name(name.node))
    }

    /// A name with dots.
    pub(super) fn dotted(&mut self, what: &str) -> Parsed<Spanned<String>> {
        let mut name = self.name(what)?;
        while self.peek() == Some(&Token::Sign('.')) {
            self.at += 1;
            let part = self.name("a name behind the dot")?;
            name.node = format!("{}.{}", name.node, part.node);
            name.span = name.span.to(part.span);
        }
        Ok(name)
    }

    /// A name that may have arguments, as flows in mixes and runs.
    pub(super) fn call(&mut self, what: &str) -> Parsed<Call> {
        let name = self.name(what)?;
        let open = self.same_line() == Some(&Token::Sign('('));
        let args = if open { self.in_parens(Self::args)? } else { Vec::new() };
        self.operations = 0;
        Ok(Call { name, args })
    }

    /// Arguments with commas between them.
    fn args(&mut self) -> Parsed<Vec<Arg>> {
        let mut args = Vec::new();
        while self.peek() != Some(&Token::Sign(')')) {
            let named = self.peek_second() == Some(&Token::Sign('='));
            let name = if named { Some(self.name("a name")?) } else { None };
            self.at += usize::from(named);
            args.push(Arg { name, value: self.row()? });
            if args.len() > MAX_PARTS {
                let span = self.last_span();
                return self.fail(Diagnostic::new(
                    span,
                    "a call has more than 10000 arguments",
                    "it goes on here",
                ));
            }
            if !self.eat_sign(',') {
                break;
            }
        }
        Ok(args)
    }

    /// A joined value, or a row of a table: `10: 1 KiB`.
    fn row(&mut self) -> Parsed<Expr> {
        let operations = self.operations;
        let value = self.joined()?;
        if !self.eat_sign(':') {
            self.operations = operations;
            return Ok(value);
        }
        let right = self.joined()?;
        self.operations = operations;
        let span = value.span.to(right.span);
        Ok(Spanned { node: ExprKind::Row(Box::new(value), Box::new(right)), span })
    }
}
