//! Numbers of a story.

use super::compiler::{Compiler, Done, ENDS};
use super::scope::Binding;
use crate::code::{Answer, Dist, End, Instr, Op, Shape};
use crate::compile::arguments::arguments;
use crate::compile::constant::{DISTRIBUTIONS, Given, constant, unit_of, whole};
use crate::compile::num::{Held, Node, Num};
use crate::lang::{Binary, Call, Diagnostic, Expr, ExprKind, Span, Unit};

/// Numbers that both ends draw, and how many bits they have.
const RANDOMS: [(&str, u32); 3] = [("rand8", 8), ("rand16", 16), ("rand32", 32)];

/// Longest time of a run: 30 days.
const MAX_RUN: u64 = 30 * 86_400 * 1_000_000_000;

/// Answers to a probe.
const ANSWERS: [(&str, Answer); 4] = [
    ("open", Answer::Open),
    ("closed", Answer::Closed),
    ("filtered", Answer::Filtered),
    ("unreachable", Answer::Unreachable),
];

impl Compiler<'_, '_> {
    /// The number of an expression.
    pub(super) fn number(&mut self, expr: &Expr) -> Done<Num> {
        let span = expr.span;
        match &expr.node {
            ExprKind::Number(number) => Ok(Num::constant(whole(*number, span)?, number.unit)),
            ExprKind::Name(name) => self.named_number(name, span),
            ExprKind::Range(..) | ExprKind::Clamp(..) => self.drawn(expr),
            ExprKind::Call(call) if DISTRIBUTIONS.contains(&call.name.node.as_str()) => self.drawn(expr),
            ExprKind::Call(call) => self.called_number(call),
            ExprKind::Not(inner) => {
                let inner = self.truth(inner)?;
                Ok(Num::result(Op::Eq, &inner, &Num::constant(0, Unit::One), Unit::One))
            }
            ExprKind::Binary(operation, left, right) => self.operation(*operation, left, right, span),
            _ => Err(Diagnostic::new(span, "a number is needed here", "this is no number")),
        }
    }

    /// A number drawn from a distribution.
    fn drawn(&mut self, expr: &Expr) -> Done<Num> {
        match constant(expr, self)? {
            Given::Dist(dist, unit) => self.draw(&dist, unit, expr.span),
            Given::Number(number) => Ok(Num::constant(whole(number, expr.span)?, number.unit)),
            _ => Err(Diagnostic::new(expr.span, "a number is needed here", "this is no number")),
        }
    }

    /// The number that a name stands for.
    fn named_number(&mut self, name: &str, span: Span) -> Done<Num> {
        match self.lookup(name) {
            Some(Binding::Number(num)) => return Ok(num),
            Some(Binding::Wrong) => return Err(Diagnostic::silent()),
            Some(Binding::Fraction(_)) => {
                return Err(Diagnostic::new(
                    span,
                    format!("`{name}` must be whole here"),
                    "a part of one is left over",
                ));
            }
            Some(_) => {
                return Err(Diagnostic::new(
                    span,
                    format!("`{name}` is no number"),
                    "a number is needed here",
                ));
            }
            None => {}
        }
        if let Some((_, bits)) = RANDOMS.iter().find(|(random, _)| *random == name) {
            let dist = Dist { shape: Shape::Uniform, lo: 0, hi: (1 << bits) - 1 };
            return self.draw(&dist, Unit::One, span);
        }
        if let Some((_, answer)) = ANSWERS.iter().find(|(word, _)| *word == name) {
            return Ok(Num::constant(*answer as u64, Unit::One));
        }
        if let Some((slot, end)) = name.strip_suffix(".port").and_then(|side| self.side(side)) {
            return self.port_of(slot, end, span);
        }
        // A distribution that a `define` names is drawn where it is used.
        if let Some(Given::Dist(dist, unit)) = crate::compile::constant::Names::given(&*self.global, name) {
            return self.draw(&dist, unit, span);
        }
        Err(self.unknown(name, span))
    }

    /// The port of a side of a connection.
    fn port_of(&mut self, slot: u8, end: End, span: Span) -> Done<Num> {
        let mut held = [Held::Unknown; 2];
        for at in ENDS {
            if self.only.is_some_and(|only| only != at) {
                continue;
            }
            let reg = self.register(at, span)?;
            self.put(at, Instr::two(Op::Port, reg, slot, end as u8), span)?;
            held[at as usize] = Held::Register(reg);
        }
        Ok(Num::leaf(held, span, "known to one end", Unit::One, (1, 65_535)))
    }

    /// Calls that give numbers.
    fn called_number(&mut self, call: &Call) -> Done<Num> {
        let span = call.name.span;
        match call.name.node.as_str() {
            name @ ("min" | "max") => {
                let args = arguments(call, &["one", "other"])?;
                let (left, right) = (self.number(args[0])?, self.number(args[1])?);
                let unit = unit_of(Binary::Add, (left.unit, args[0].span), (right.unit, args[1].span))?;
                Ok(Num::result(if name == "min" { Op::Min } else { Op::Max }, &left, &right, unit))
            }
            "now" => {
                let args = arguments(call, &["end"])?;
                let end = super::bind::end_of(args[0])?;
                let reg = self.register(end, span)?;
                self.put(end, Instr::new(Op::Now, reg, 0, 0), span)?;
                let mut held = [Held::Unknown; 2];
                held[end as usize] = Held::Register(reg);
                let how = if end == End::Client { "the client's time" } else { "the server's time" };
                Ok(Num::leaf(held, span, how, Unit::Time, (0, MAX_RUN)))
            }
            "ephemeral" => {
                Err(Diagnostic::new(span, "an ephemeral port needs a name", "used without a name")
                    .help("write: let p = ephemeral(server)"))
            }
            name if super::call::WORDS.contains(&name) => {
                Err(Diagnostic::new(span, format!("`{name}` gives no number"), "a number is needed here"))
            }
            name => {
                let diagnostic = Diagnostic::new(span, format!("there is no call `{name}`"), "unknown call");
                let calls = super::call::WORDS.into_iter().chain(DISTRIBUTIONS);
                Err(match crate::lang::nearest(name, calls) {
                    Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                    None => diagnostic,
                })
            }
        }
    }

    /// An operation on two numbers.
    fn operation(&mut self, operation: Binary, left: &Expr, right: &Expr, span: Span) -> Done<Num> {
        if matches!(operation, Binary::And | Binary::Or) {
            let (a, b) = (self.truth(left)?, self.truth(right)?);
            let op = if operation == Binary::And { Op::And } else { Op::Or };
            return Ok(Num::result(op, &a, &b, Unit::One));
        }
        let (a, b) = (self.number(left)?, self.number(right)?);
        let unit = unit_of(operation, (a.unit, left.span), (b.unit, right.span))?;
        let num = match operation {
            Binary::Add => Num::result(Op::Add, &a, &b, unit),
            Binary::Sub => Num::difference(&a, &b, unit),
            Binary::Mul => Num::result(Op::Mul, &a, &b, unit),
            Binary::Div | Binary::Mod if b.hi == 0 => {
                return Err(Diagnostic::new(right.span, "a division by zero", "this is 0"));
            }
            Binary::Div => Num::result(Op::Div, &a, &b, unit),
            Binary::Mod => Num::result(Op::Rem, &a, &b, unit),
            Binary::Equal => Num::result(Op::Eq, &a, &b, Unit::One),
            Binary::Unequal => Num::result(Op::Ne, &a, &b, Unit::One),
            Binary::Less => Num::result(Op::Lt, &a, &b, Unit::One),
            Binary::AtMost => Num::result(Op::Le, &a, &b, Unit::One),
            Binary::More => Num::result(Op::Lt, &b, &a, Unit::One),
            _ => Num::result(Op::Le, &b, &a, Unit::One),
        };
        if num.hi > 1 << 62 {
            return Err(Diagnostic::new(
                span,
                "a number may become too large",
                "it may be greater than 2^62",
            ));
        }
        Ok(num)
    }

    /// A number that is 0 or 1.
    pub(super) fn truth(&mut self, expr: &Expr) -> Done<Num> {
        let num = self.number(expr)?;
        if num.hi <= 1 {
            return Ok(num);
        }
        if num.unit != Unit::One {
            return Err(Diagnostic::new(
                expr.span,
                "a condition is needed here",
                format!("this is {}", num.unit.name()),
            )
            .help("compare it with something: x > 0"));
        }
        Ok(Num::result(Op::Ne, &num, &Num::constant(0, Unit::One), Unit::One))
    }

    /// A number that is a size in bytes, at most `most`.
    pub(super) fn size(&mut self, expr: &Expr, most: u64) -> Done<Num> {
        let num = self.number(expr)?;
        if !matches!(num.unit, Unit::One | Unit::Bytes) {
            return Err(Diagnostic::new(
                expr.span,
                "a size is needed here",
                format!("this is {}", num.unit.name()),
            ));
        }
        if num.hi > most {
            let label = format!("it may be {}", num.hi);
            return Err(Diagnostic::new(expr.span, format!("a size is at most {most} B here"), label));
        }
        Ok(num)
    }

    /// The register in which an end has a number. It makes the number first if need be.
    pub(super) fn materialize(&mut self, end: End, num: &Num, span: Span) -> Done<u8> {
        match &*num.node {
            Node::Leaf { held, origin, how } => match (held[end as usize], self.learned(end, num)) {
                (Held::Register(reg), _) | (Held::Unknown, Some(reg)) => Ok(reg),
                (Held::Unknown, None) => Err(self.not_known(end, span, *origin, how)),
            },
            Node::Const(value) => {
                let reg = self.register(end, span)?;
                let instr = match u32::try_from(*value) {
                    Ok(value) => Instr::new(Op::Ldi, reg, 0, value),
                    Err(_) => Instr::new(Op::Ld, reg, 0, self.global.tables.constant(*value)),
                };
                self.put(end, instr, span)?;
                Ok(reg)
            }
            Node::Result(op, left, right) => {
                let before = self.emit[end as usize].in_use;
                let a = self.materialize(end, left, span)?;
                let b = self.materialize(end, right, span)?;
                self.emit[end as usize].in_use = before;
                let reg = self.register(end, span)?;
                self.put(end, Instr::two(*op, reg, a, b), span)?;
                Ok(reg)
            }
        }
    }

    /// The error about a value that an end does not know.
    pub(super) fn not_known(&self, end: End, span: Span, origin: Span, how: &str) -> Diagnostic {
        let (who, other) = if end == End::Client { ("client", "server") } else { ("server", "client") };
        let (used, source) = (self.global.text_of(span), self.global.text_of(origin));
        let text = if used.chars().count() <= 20 { used } else { source };
        Diagnostic::new(span, format!("the {who} does not know `{text}`"), format!("the {who} needs it here"))
            .and(origin, how.to_owned())
            .help(format!(
                "let the {other} send it in a message before, or draw it with a distribution, which both ends know"
            ))
    }
}
