//! Values that are known before a run, their units, and who knows their names.

use std::net::IpAddr;

use crate::code::{Dist, Place};
use crate::lang::{Binary, Call, Diagnostic, Expr, MICRO, Number, Span, Unit, nearest};

/// A value that is known before a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Given {
    /// A number.
    Number(Number),
    /// A text.
    Text(Vec<u8>),
    /// A distribution from which each flow draws.
    Dist(Dist, Unit),
    /// A pool or an address of one, and whether it is IPv4.
    Place(Place, bool),
}

impl Given {
    /// What it is, for messages.
    pub(super) const fn what(&self) -> &'static str {
        match self {
            Self::Number(number) => number.unit.name(),
            Self::Text(_) => "a text",
            Self::Dist(..) => "a distribution",
            Self::Place(..) => "a pool or an address",
        }
    }
}

/// A parameter with its value.
pub(super) type Argument = (String, Given);

/// The names of distributions.
pub(super) const DISTRIBUTIONS: [&str; 8] =
    ["const", "exp", "lognormal", "normal", "pareto", "table", "uniform", "zipf"];

/// Whether a call is one of a distribution.
pub(super) fn is_distribution(call: &Call) -> bool {
    DISTRIBUTIONS.contains(&call.name.node.as_str())
}

/// Most bytes of a text that is put together.
pub(super) const MAX_TEXT: usize = 1 << 20;

/// Knows the names that a value may use.
pub(super) trait Names {
    /// The value of a name, if it is known before a run.
    fn given(&self, name: &str) -> Option<Given>;
    /// The names that are near, for advice.
    fn candidates(&self) -> Vec<String>;
    /// An address as a place, if it lies in a pool.
    fn place(&self, address: IpAddr, span: Span) -> Result<Given, Diagnostic>;
    /// The text of a file as rows of a table.
    fn rows(&self, _file: &str, span: Span) -> Result<Vec<Expr>, Diagnostic> {
        Err(Diagnostic::new(span, "a file cannot be read here", "only tables of flows read files"))
    }
}

/// The error about a name that means nothing.
pub(super) fn unknown(name: &str, span: Span, names: &dyn Names) -> Diagnostic {
    let diagnostic = Diagnostic::new(span, format!("`{name}` is not known"), "unknown name");
    let candidates = names.candidates();
    match nearest(name, candidates.iter().map(String::as_str)) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic,
    }
}

/// A number as a whole one of its base unit.
pub(super) fn whole(number: Number, span: Span) -> Result<u64, Diagnostic> {
    if number.micro.is_multiple_of(MICRO) {
        Ok((number.micro / MICRO) as u64)
    } else {
        Err(Diagnostic::new(span, "this number must be whole", "a part of one is left over"))
    }
}

/// The unit that two numbers share, if they do. A plain number may stand for bytes.
pub(super) fn common(one: Unit, other: Unit) -> Option<Unit> {
    match (one, other) {
        (a, b) if a == b => Some(a),
        (Unit::Bytes, Unit::One) | (Unit::One, Unit::Bytes) => Some(Unit::Bytes),
        _ => None,
    }
}

/// The error about two units that do not fit.
pub(super) fn units_differ(one: (Unit, Span), other: (Unit, Span)) -> Diagnostic {
    Diagnostic::new(other.1, "these values have different units", format!("this is {}", other.0.name()))
        .and(one.1, format!("this is {}", one.0.name()))
}

/// The unit of the result of an operation, if it makes sense.
pub(super) fn unit_of(operation: Binary, one: (Unit, Span), other: (Unit, Span)) -> Result<Unit, Diagnostic> {
    let shared = common(one.0, other.0);
    match operation {
        Binary::Mul if one.0 == Unit::One => Some(other.0),
        Binary::Mul | Binary::Div | Binary::Mod if other.0 == Unit::One => Some(one.0),
        Binary::Div => shared.map(|_| Unit::One),
        Binary::Mul => None,
        Binary::Add | Binary::Sub | Binary::Mod => shared,
        _ => shared.map(|_| Unit::One),
    }
    .ok_or_else(|| units_differ(one, other))
}
