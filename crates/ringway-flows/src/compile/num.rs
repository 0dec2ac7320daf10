//! Numbers of a story: what is known of them, and to whom.

use std::rc::Rc;

use crate::code::{End, Op};
use crate::lang::{Span, Unit};

/// Where an end has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// It does not know it.
    Unknown,
    /// In a register.
    Register(u8),
}

/// How a number comes to be.
#[derive(Debug)]
pub(super) enum Node {
    /// It is always this one.
    Const(u64),
    /// Each end has it in a register, or does not know it.
    Leaf {
        /// Where the client and the server have it.
        held: [Held; 2],
        /// Where in the text it comes to be.
        origin: Span,
        /// How, for messages: "chosen by the server".
        how: &'static str,
    },
    /// The result of an operation.
    Result(Op, Num, Num),
}

/// A number with its unit and its bounds.
#[derive(Clone, Debug)]
pub(super) struct Num {
    pub(super) node: Rc<Node>,
    pub(super) unit: Unit,
    /// Least and greatest value.
    pub(super) lo: u64,
    pub(super) hi: u64,
    /// Its mean, for estimates.
    pub(super) mean: f64,
}

impl Num {
    /// A number that is always the same.
    pub(super) fn constant(value: u64, unit: Unit) -> Self {
        Self { node: Rc::new(Node::Const(value)), unit, lo: value, hi: value, mean: value as f64 }
    }

    /// A number that ends have in registers.
    pub(super) fn leaf(
        held: [Held; 2],
        origin: Span,
        how: &'static str,
        unit: Unit,
        bounds: (u64, u64),
    ) -> Self {
        let node = Rc::new(Node::Leaf { held, origin, how });
        let (lo, hi) = bounds;
        Self { node, unit, lo, hi, mean: (lo as f64 + hi as f64) / 2.0 }
    }

    /// Its value, if it is always the same.
    pub(super) fn value(&self) -> Option<u64> {
        match &*self.node {
            Node::Const(value) => Some(*value),
            _ => None,
        }
    }

    /// What an end lacks to know it: where that comes to be, and how.
    pub(super) fn lacks(&self, end: End) -> Option<(Span, &'static str)> {
        match &*self.node {
            Node::Const(_) => None,
            Node::Leaf { held, origin, how } => {
                (held[end as usize] == Held::Unknown).then_some((*origin, *how))
            }
            Node::Result(_, left, right) => left.lacks(end).or_else(|| right.lacks(end)),
        }
    }

    /// Whether it is one that an end can take from a message: it is no result of an operation.
    pub(super) fn is_leaf(&self) -> bool {
        matches!(&*self.node, Node::Leaf { .. })
    }

    /// Whether it is the result of an operation, which instructions make.
    pub(super) fn is_made(&self) -> bool {
        matches!(&*self.node, Node::Result(..))
    }

    /// The result of an operation on two numbers, folded if both are constant.
    pub(super) fn result(op: Op, left: &Self, right: &Self, unit: Unit) -> Self {
        if let (Some(a), Some(b)) = (left.value(), right.value()) {
            return Self::constant(fold(op, a, b), unit);
        }
        let (lo, hi) = interval(op, left, right);
        let mean = match op {
            Op::Add => left.mean + right.mean,
            Op::Sub => (left.mean - right.mean).max(0.0),
            Op::Mul => left.mean * right.mean,
            Op::Div => left.mean / right.mean.max(1.0),
            Op::Min => left.mean.min(right.mean),
            Op::Max => left.mean.max(right.mean),
            _ => (lo as f64 + hi as f64) / 2.0,
        };
        Self { node: Rc::new(Node::Result(op, left.clone(), right.clone())), unit, lo, hi, mean }
    }

    /// The difference, or 0 if it would be less.
    pub(super) fn difference(left: &Self, right: &Self, unit: Unit) -> Self {
        if left.lo >= right.hi {
            return Self::result(Op::Sub, left, right, unit);
        }
        Self::result(Op::Sub, &Self::result(Op::Max, left, right, unit), right, unit)
    }
}

/// The result of an operation, as the machine has it. A division by zero does not come here.
fn fold(op: Op, a: u64, b: u64) -> u64 {
    match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        Op::Div => a.checked_div(b).unwrap_or(0),
        Op::Rem => a.checked_rem(b).unwrap_or(0),
        Op::Min => a.min(b),
        Op::Max => a.max(b),
        Op::And => a & b,
        Op::Or => a | b,
        Op::Eq => u64::from(a == b),
        Op::Ne => u64::from(a != b),
        Op::Lt => u64::from(a < b),
        Op::Le => u64::from(a <= b),
        _ => 0,
    }
}

/// The bounds of the result of an operation.
fn interval(op: Op, left: &Num, right: &Num) -> (u64, u64) {
    match op {
        Op::Add => (left.lo.saturating_add(right.lo), left.hi.saturating_add(right.hi)),
        Op::Sub => (left.lo.saturating_sub(right.hi), left.hi.saturating_sub(right.lo)),
        Op::Mul => (left.lo.saturating_mul(right.lo), left.hi.saturating_mul(right.hi)),
        Op::Div => (left.lo / right.hi.max(1), left.hi / right.lo.max(1)),
        Op::Rem => (0, right.hi.saturating_sub(1).min(left.hi)),
        Op::Min => (left.lo.min(right.lo), left.hi.min(right.hi)),
        Op::Max => (left.lo.max(right.lo), left.hi.max(right.hi)),
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::And | Op::Or => (0, 1),
        _ => (0, u64::MAX),
    }
}
