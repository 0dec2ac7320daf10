//! The language: from text to a syntax tree, and errors that show where they are.

mod diagnostic;
mod parse;
mod span;
mod suggest;
mod token;
mod tree;
mod unit;

pub use diagnostic::{Diagnostic, Diagnostics};
pub(crate) use parse::{parse_file, parse_value};
pub use span::{Ident, Span, Spanned};
pub(crate) use suggest::nearest;
pub(crate) use token::MICRO;
pub use tree::{
    Arg, Binary, Block, Call, Expr, ExprKind, Item, Opening, Param, PoolItem, PoolRange, RangeEnd, RunItem,
    Setting, Sides, Stmt, StmtKind, Story, What,
};
pub use unit::{Number, Unit};
