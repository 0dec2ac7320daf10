//! Ways through a story: loops, choices, conditions.

use super::compiler::{Compiler, Done, ENDS};
use super::scope::Binding;
use super::scope::State;
use crate::code::{Dist, End, Instr, Op, Shape};
use crate::compile::constant::number;
use crate::compile::emit::Label;
use crate::compile::num::{Held, Num};
use crate::lang::{Block, Diagnostic, Expr, Ident, MICRO, Span, Unit};

/// Most turns of a loop.
const MAX_TURNS: u64 = 1_000_000;

impl Compiler<'_, '_> {
    /// A jump of all ends that run this.
    pub(super) fn jump_all(&mut self, op: Op, reg: [u8; 2], to: [Label; 2], span: Span) -> Done {
        for end in self.ends() {
            let emit = &mut self.emit[end as usize];
            emit.jump(op, reg[end as usize], to[end as usize])
                .map_err(|full| super::compiler::too_much(full, span))?;
        }
        Ok(())
    }

    /// A label in both programs.
    pub(super) fn labels(&mut self) -> [Label; 2] {
        self.emit.each_mut().map(super::super::emit::Emitter::label)
    }

    /// Places a label in both programs.
    pub(super) fn place_all(&mut self, labels: [Label; 2]) {
        for (emit, label) in self.emit.iter_mut().zip(labels) {
            emit.place(label);
        }
    }

    /// The registers of a number at all ends that run this.
    pub(super) fn materialize_all(&mut self, num: &Num, span: Span) -> Done<[u8; 2]> {
        let mut regs = [0; 2];
        for end in self.ends() {
            regs[end as usize] = self.materialize(end, num, span)?;
        }
        Ok(regs)
    }

    /// `repeat n as i { }`
    pub(super) fn repeat(&mut self, span: Span, times: &Expr, index: Option<&Ident>, block: &Block) -> Done {
        let turns = self.number(times)?;
        if turns.unit != Unit::One || turns.hi > MAX_TURNS {
            return Err(Diagnostic::new(
                times.span,
                "a loop has at most 1000000 turns",
                format!("it may have {}", turns.hi),
            ));
        }
        if turns.hi == 0 {
            return Err(Diagnostic::new(times.span, "a loop without a turn", "always 0"));
        }
        let limit = self.materialize_all(&turns, times.span)?;
        let turn = self.materialize_all(&Num::constant(0, Unit::One), span)?;
        let (again, done) = (self.labels(), self.labels());
        self.place_all(again);
        let test = self.compare_all(Op::Lt, turn, limit, span)?;
        self.jump_all(Op::Jz, test, done, span)?;
        let names = self.names.len();
        if let Some(index) = index {
            let held = self.held(turn);
            let num = Num::leaf(held, index.span, "counted by the loop", Unit::One, (0, turns.hi - 1));
            self.names.push((index.node.clone(), Binding::Number(num)));
        }
        let (before, factor) = (self.states.clone(), self.estimate.factor);
        self.estimate.factor *= turns.mean;
        self.loops += 1;
        let outer = self.enter_region();
        self.block(block);
        self.region = outer;
        self.loops -= 1;
        self.estimate.factor = factor;
        self.names.truncate(names);
        if self.states.is_none() {
            self.states.clone_from(&before);
        }
        let after = self.states.clone();
        self.meet(before, span)?;
        if turns.lo > 0 {
            self.states = after;
        }
        for end in self.ends() {
            let one = self.materialize(end, &Num::constant(1, Unit::One), span)?;
            let reg = turn[end as usize];
            self.put(end, Instr::two(Op::Add, reg, reg, one), span)?;
        }
        self.jump_all(Op::Jmp, [0; 2], again, span)?;
        self.place_all(done);
        Ok(())
    }

    /// Enters a loop or a branch. Gives the one around it.
    pub(super) fn enter_region(&mut self) -> u32 {
        self.regions += 1;
        std::mem::replace(&mut self.region, self.regions)
    }

    /// Where the ends that run this have a number.
    pub(super) fn held(&self, regs: [u8; 2]) -> [Held; 2] {
        ENDS.map(|end| match self.only {
            Some(only) if only != end => Held::Unknown,
            _ => Held::Register(regs[end as usize]),
        })
    }

    /// A comparison of registers at all ends that run this.
    pub(super) fn compare_all(&mut self, op: Op, left: [u8; 2], right: [u8; 2], span: Span) -> Done<[u8; 2]> {
        let mut regs = [0; 2];
        for end in self.ends() {
            let reg = self.register(end, span)?;
            self.put(end, Instr::two(op, reg, left[end as usize], right[end as usize]), span)?;
            regs[end as usize] = reg;
        }
        Ok(regs)
    }

    /// `choose { 30 % { } 70 % { } }`
    pub(super) fn choose(&mut self, span: Span, cases: &[(Expr, Block)]) -> Done {
        let weights = self.weights(span, cases)?;
        let total: u64 = weights.iter().sum();
        let draw = self.draw(&Dist { shape: Shape::Uniform, lo: 0, hi: total - 1 }, Unit::One, span)?;
        let drawn = self.materialize_all(&draw, span)?;
        let (done, before, factor) = (self.labels(), self.states.clone(), self.estimate.factor);
        let (mut behind, mut sum): (Option<Option<Vec<State>>>, u64) = (None, 0);
        for ((_, block), weight) in cases.iter().zip(weights) {
            sum += weight;
            let next = self.labels();
            if sum < total {
                let in_use = self.emit.each_ref().map(|emit| emit.in_use);
                let limit = self.materialize_all(&Num::constant(sum, Unit::One), span)?;
                let test = self.compare_all(Op::Lt, drawn, limit, span)?;
                self.jump_all(Op::Jz, test, next, span)?;
                for (emit, in_use) in self.emit.iter_mut().zip(in_use) {
                    emit.in_use = in_use;
                }
            }
            self.states.clone_from(&before);
            self.estimate.factor = factor * weight as f64 / total as f64;
            self.block(block);
            self.estimate.factor = factor;
            if let Some(other) = behind {
                self.meet(other, span)?;
            }
            behind = Some(self.states.clone());
            if sum < total {
                self.jump_all(Op::Jmp, [0; 2], done, span)?;
            }
            self.place_all(next);
        }
        self.place_all(done);
        Ok(())
    }

    /// The weights of a choice.
    pub(super) fn weights(&self, span: Span, cases: &[(Expr, Block)]) -> Done<Vec<u64>> {
        let (mut weights, mut percent) = (Vec::new(), 0);
        for (expr, _) in cases {
            let weight = number(expr, self)?;
            if !matches!(weight.unit, Unit::One | Unit::Percent) || weight.micro > 1_000_000_000 * MICRO {
                return Err(Diagnostic::new(
                    expr.span,
                    "a weight is a plain number or a percentage",
                    "not such a number",
                ));
            }
            percent += usize::from(weight.unit == Unit::Percent);
            weights.push(weight.micro as u64);
        }
        let total: u64 = weights.iter().sum();
        if total == 0 {
            return Err(Diagnostic::new(span, "a choice needs a weight above 0", "it has none"));
        }
        if percent > 0 && (percent < cases.len() || total != 100 * MICRO as u64) {
            let label = format!("they are {} %", total as f64 / MICRO as f64);
            return Err(Diagnostic::new(span, "the percentages of a choice are 100 % together", label));
        }
        Ok(weights)
    }

    /// `if x { } else { }`
    pub(super) fn condition(
        &mut self,
        span: Span,
        condition: &Expr,
        then: &Block,
        other: Option<&Block>,
    ) -> Done {
        let num = self.truth(condition)?;
        if let Some(value) = num.value() {
            if value != 0 {
                self.block(then);
            } else if let Some(other) = other {
                self.block(other);
            }
            return Ok(());
        }
        let (ends, outer) = (self.ends(), self.only);
        let knows: Vec<End> = ends.iter().copied().filter(|end| num.lacks(*end).is_none()).collect();
        match (knows.as_slice(), num.lacks(ends[0])) {
            ([], Some((origin, how))) => return Err(self.not_known(ends[0], condition.span, origin, how)),
            ([end], _) if ends.len() > 1 => self.only = Some(*end),
            _ => {}
        }
        let done = self.ways(span, &num, then, other);
        self.only = outer;
        done
    }

    /// Both ways of a condition.
    pub(super) fn ways(&mut self, span: Span, num: &Num, then: &Block, other: Option<&Block>) -> Done {
        let test = self.materialize_all(num, span)?;
        let (no, done) = (self.labels(), self.labels());
        self.jump_all(Op::Jz, test, no, span)?;
        let (before, factor) = (self.states.clone(), self.estimate.factor);
        self.estimate.factor = factor / 2.0;
        self.block(then);
        let behind = std::mem::replace(&mut self.states, before);
        if let Some(other) = other {
            self.jump_all(Op::Jmp, [0; 2], done, span)?;
            self.place_all(no);
            self.block(other);
        } else {
            self.place_all(no);
        }
        self.place_all(done);
        self.estimate.factor = factor;
        self.meet(behind, span)
    }
}
