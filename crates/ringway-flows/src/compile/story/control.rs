//! Statements that decide, repeat, wait, count and check.

use super::compiler::{Compiler, Done, ENDS};
use super::open::MAX_WAIT;
use crate::code::{End, Instr, NONE, Op};
use crate::lang::{Block, Diagnostic, Expr, Ident, Span, StmtKind, Unit};

/// Most counters, and most latencies, of a flow.
const MAX_NAMED: usize = 64;

impl Compiler<'_, '_> {
    /// A statement that is no message and no declaration.
    pub(super) fn control(&mut self, span: Span, stmt: &StmtKind) -> Done {
        match stmt {
            StmtKind::Check(expr) => self.check(expr),
            StmtKind::Fail(reason) => {
                let name = self.global.tables.name(&reason.node);
                self.both(Instr::new(Op::Fail, 0, 0, name), span)?;
                if self.only.is_none() {
                    self.states = None;
                }
                Ok(())
            }
            StmtKind::Count(name, amount) => self.count(name, amount.as_ref()),
            StmtKind::Repeat(times, index, block) => self.repeat(span, times, index.as_ref(), block),
            StmtKind::Choose(cases) => self.choose(span, cases),
            StmtKind::If(condition, then, other) => self.condition(span, condition, then, other.as_ref()),
            StmtKind::Think { server, time } => self.think(*server, time),
            StmtKind::Parallel(blocks) => self.parallel(span, blocks),
            StmtKind::Measure(name, block) => self.measure(span, name, block),
            _ => Ok(()),
        }
    }

    /// The ends that run what is compiled.
    pub(super) fn ends(&self) -> Vec<End> {
        ENDS.into_iter().filter(|end| self.only.is_none_or(|only| only == *end)).collect()
    }

    /// `check x == y`: by each end that knows all of it.
    fn check(&mut self, expr: &Expr) -> Done {
        let num = self.truth(expr)?;
        match num.value() {
            Some(0) => return Err(Diagnostic::new(expr.span, "this never holds", "always false")),
            Some(_) => return Ok(()),
            None => {}
        }
        let text = self.global.text_of(expr.span);
        let name = self.global.tables.name(&text);
        let mut checked = false;
        for end in self.ends() {
            if num.lacks(end).is_none() {
                let reg = self.materialize(end, &num, expr.span)?;
                self.put(end, Instr::new(Op::Check, reg, 0, name), expr.span)?;
                checked = true;
            }
        }
        match (checked, num.lacks(self.ends()[0])) {
            (false, Some((origin, how))) => Err(self.not_known(self.ends()[0], expr.span, origin, how)),
            _ => Ok(()),
        }
    }

    /// `count part`, `count part n`: by one end, so that it counts once.
    fn count(&mut self, name: &Ident, amount: Option<&Expr>) -> Done {
        let text = self.global.tables.name(&name.node);
        let index = self.counters.iter().position(|known| *known == text).unwrap_or_else(|| {
            self.counters.push(text);
            self.counters.len() - 1
        });
        if index >= MAX_NAMED {
            return Err(Diagnostic::new(name.span, "a flow has at most 64 counters", "one too many"));
        }
        let ends = self.ends();
        let (end, reg) = match amount {
            None => (ends[0], NONE),
            Some(expr) => {
                let num = self.number(expr)?;
                let end = ends.iter().copied().find(|end| num.lacks(*end).is_none()).unwrap_or(ends[0]);
                (end, self.materialize(end, &num, expr.span)?)
            }
        };
        self.put(end, Instr::new(Op::Count, reg, 0, index as u32), name.span)
    }

    /// `think exp(20 ms) max 1 s`
    fn think(&mut self, server: bool, time: &Expr) -> Done {
        let num = self.number(time)?;
        if num.unit != Unit::Time || num.hi > MAX_WAIT {
            let label = if num.unit == Unit::Time {
                "it may be longer".to_owned()
            } else {
                format!("this is {}", num.unit.name())
            };
            return Err(Diagnostic::new(time.span, "`think` needs a time of at most 1 h", label)
                .help("for example: think 20 ms"));
        }
        let end = if server { End::Server } else { End::Client };
        let reg = self.materialize(end, &num, time.span)?;
        self.put(end, Instr::new(Op::Think, reg, 0, 0), time.span)?;
        self.estimate.think(num.mean);
        Ok(())
    }

    /// `measure login { }`
    fn measure(&mut self, span: Span, name: &Ident, block: &Block) -> Done {
        if self.measuring || self.in_branch || self.only == Some(End::Server) {
            return Err(Diagnostic::new(
                span,
                "one latency is measured at a time, by the client",
                "inside another one, or not at the client",
            ));
        }
        let index = self.latency(&name.node);
        if index as usize >= MAX_NAMED {
            return Err(Diagnostic::new(name.span, "a flow has at most 64 latencies", "one too many"));
        }
        self.put(End::Client, Instr::new(Op::Lat, 0, 0, 0), span)?;
        self.measuring = true;
        self.block(block);
        self.measuring = false;
        if self.states.is_none() {
            return Ok(());
        }
        self.put(End::Client, Instr::new(Op::Lat, 1, 0, index), span)
    }
}
