//! Expressions whose values are known before a run: numbers, texts, distributions, places.

use super::arguments::arguments;
pub(super) use super::value::{
    Argument, DISTRIBUTIONS, Given, MAX_TEXT, Names, common, unit_of, unknown, whole,
};
use super::value::{is_distribution, units_differ};
use crate::code::{Dist, Row, Shape};
use crate::lang::{Arg, Binary, Call, Diagnostic, Expr, ExprKind, MICRO, Number, Span, Unit};

/// The value of an expression that is known before a run.
pub(super) fn constant(expr: &Expr, names: &dyn Names) -> Result<Given, Diagnostic> {
    match &expr.node {
        ExprKind::Number(number) => Ok(Given::Number(*number)),
        ExprKind::Text(bytes) => Ok(Given::Text(bytes.clone())),
        ExprKind::Name(name) => names.given(name).ok_or_else(|| unknown(name, expr.span, names)),
        ExprKind::Address(address) => names.place(*address, expr.span),
        ExprKind::Join(parts) => join(parts, expr.span, names),
        ExprKind::Binary(operation, left, right) => arithmetic(*operation, left, right, expr.span, names),
        ExprKind::Range(lo, hi) => uniform(lo, hi, expr.span, names),
        ExprKind::Clamp(inner, lo, hi) => clamp(inner, lo.as_deref(), hi, expr.span, names),
        ExprKind::Call(call) if is_distribution(call) => match shape(call, names)? {
            (
                Shape::Exp { .. } | Shape::Normal { .. } | Shape::Lognormal { .. } | Shape::Pareto { .. },
                ..,
            ) => Err(Diagnostic::new(
                expr.span,
                format!("`{}` has no bounds", call.name.node),
                "its values may be of any size",
            )
            .help(format!("add bounds: {}(...) clamp LEAST..GREATEST, or max GREATEST", call.name.node))),
            (shape, unit, lo, hi) => Ok(Given::Dist(Dist { shape, lo, hi }, unit)),
        },
        _ => Err(Diagnostic::new(
            expr.span,
            "this must be known before a run",
            "not a value that is known before a run",
        )),
    }
}

/// Texts one after the other.
fn join(parts: &[Expr], span: Span, names: &dyn Names) -> Result<Given, Diagnostic> {
    let mut text = Vec::new();
    for part in parts {
        match constant(part, names)? {
            Given::Text(bytes) => text.extend(bytes),
            Given::Number(number) => text.extend(whole(number, part.span)?.to_string().bytes()),
            other => {
                return Err(Diagnostic::new(
                    part.span,
                    "this is no part of a text",
                    format!("{} is no text", other.what()),
                ));
            }
        }
        if text.len() > MAX_TEXT {
            return Err(Diagnostic::new(span, "a text is longer than 1 MiB", "put together here"));
        }
    }
    Ok(Given::Text(text))
}

/// A number of an expression.
pub(super) fn number(expr: &Expr, names: &dyn Names) -> Result<Number, Diagnostic> {
    match constant(expr, names)? {
        Given::Number(number) => Ok(number),
        other => {
            Err(Diagnostic::new(expr.span, "a number is needed here", format!("this is {}", other.what())))
        }
    }
}

/// A whole number of an expression with this unit. A plain number may stand for bytes.
pub(super) fn whole_of(expr: &Expr, unit: Unit, names: &dyn Names) -> Result<u64, Diagnostic> {
    let number = number(expr, names)?;
    if number.unit != unit && !(unit == Unit::Bytes && number.unit == Unit::One) {
        let label = format!("this is {}", number.unit.name());
        let diagnostic = Diagnostic::new(expr.span, format!("{} is needed here", unit.name()), label);
        return Err(if unit == Unit::Time {
            diagnostic.help("write its unit: ns, us, ms, s, min or h")
        } else {
            diagnostic
        });
    }
    whole(number, expr.span)
}

/// An operation on two numbers.
fn arithmetic(
    operation: Binary,
    left: &Expr,
    right: &Expr,
    span: Span,
    names: &dyn Names,
) -> Result<Given, Diagnostic> {
    let (a, b) = (number(left, names)?, number(right, names)?);
    let unit = unit_of(operation, (a.unit, left.span), (b.unit, right.span))?;
    let zero = || Diagnostic::new(right.span, "a division by zero", "this is 0");
    let micro = match operation {
        Binary::Add => a.micro.checked_add(b.micro),
        Binary::Sub => Some(a.micro.saturating_sub(b.micro)),
        Binary::Mul => a.micro.checked_mul(b.micro).map(|product| product / MICRO),
        Binary::Div if b.micro == 0 => return Err(zero()),
        Binary::Div => a.micro.checked_mul(MICRO).map(|scaled| scaled / b.micro),
        Binary::Mod if b.micro == 0 => return Err(zero()),
        Binary::Mod => Some(a.micro % b.micro),
        _ => return Err(Diagnostic::new(span, "a comparison is no number here", "compared here")),
    };
    match micro {
        Some(micro) if micro / MICRO <= 1 << 62 => Ok(Given::Number(Number { micro, unit })),
        _ => Err(Diagnostic::new(span, "a number is too large", "the result is greater than 2^62")),
    }
}

/// `lo..hi`
fn uniform(lo: &Expr, hi: &Expr, span: Span, names: &dyn Names) -> Result<Given, Diagnostic> {
    let (lo, hi, unit) = bounds(Some(lo), hi, span, names)?;
    Ok(Given::Dist(Dist { shape: Shape::Uniform, lo, hi }, unit))
}

/// Two bounds in order, and their unit.
pub(super) fn bounds(
    lo: Option<&Expr>,
    hi: &Expr,
    span: Span,
    names: &dyn Names,
) -> Result<(u64, u64, Unit), Diagnostic> {
    let high = number(hi, names)?;
    let top = whole(high, hi.span)?;
    let Some(lo) = lo else { return Ok((0, top, high.unit)) };
    let low = number(lo, names)?;
    let unit =
        common(low.unit, high.unit).ok_or_else(|| units_differ((low.unit, lo.span), (high.unit, hi.span)))?;
    let bottom = whole(low, lo.span)?;
    if bottom > top {
        return Err(Diagnostic::new(
            span,
            "a range ends below its start",
            format!("{bottom} is greater than {top}"),
        ));
    }
    Ok((bottom, top, unit))
}

/// A distribution with bounds.
fn clamp(
    inner: &Expr,
    lo: Option<&Expr>,
    hi: &Expr,
    span: Span,
    names: &dyn Names,
) -> Result<Given, Diagnostic> {
    let (lo, hi_value, unit) = bounds(lo, hi, span, names)?;
    let (shape, own) = match &inner.node {
        ExprKind::Call(call) if is_distribution(call) => {
            let (shape, own, least, greatest) = shape(call, names)?;
            if matches!(shape, Shape::Zipf { .. } | Shape::Uniform | Shape::Const) {
                if lo > least || hi_value < greatest {
                    let message = "this distribution has bounds of its own";
                    return Err(Diagnostic::new(span, message, "these bounds cut it")
                        .help("change its own bounds instead"));
                }
                return Ok(Given::Dist(Dist { shape, lo: least, hi: greatest }, own));
            }
            (shape, own)
        }
        _ => {
            return Err(Diagnostic::new(
                inner.span,
                "only a distribution is clamped",
                "this is no distribution",
            ));
        }
    };
    let unit = common(own, unit).ok_or_else(|| units_differ((own, inner.span), (unit, hi.span)))?;
    Ok(Given::Dist(Dist { shape, lo, hi: hi_value }, unit))
}

/// The shape, the unit, and the least and greatest value of a distribution.
fn shape(call: &Call, names: &dyn Names) -> Result<(Shape, Unit, u64, u64), Diagnostic> {
    let name = call.name.node.as_str();
    if name == "table" {
        return table(call, names);
    }
    let needed: &[&str] = match name {
        "const" => &["value"],
        "exp" => &["mean"],
        "uniform" => &["least", "greatest"],
        "normal" => &["mean", "deviation"],
        "lognormal" => &["median", "sigma"],
        "pareto" => &["scale", "shape"],
        _ => &["ranks", "exponent"],
    };
    let args = arguments(call, needed)?;
    let first = number(args[0], names)?;
    let value = whole(first, args[0].span)?;
    let positive = |ok: bool| {
        let diagnostic = Diagnostic::new(
            call.name.span,
            format!("`{name}` has a parameter out of range"),
            "with these parameters",
        );
        if ok { Ok(()) } else { Err(diagnostic) }
    };
    let unit = first.unit;
    Ok(match name {
        "const" => (Shape::Const, unit, value, value),
        "exp" => (Shape::Exp { mean: value }, unit, 0, u64::MAX),
        "uniform" => {
            let (lo, hi, unit) = bounds(Some(args[0]), args[1], call.name.span, names)?;
            (Shape::Uniform, unit, lo, hi)
        }
        "normal" => {
            let deviation = number(args[1], names)?;
            if common(unit, deviation.unit).is_none() {
                return Err(units_differ((unit, args[0].span), (deviation.unit, args[1].span)));
            }
            (Shape::Normal { mean: value, deviation: whole(deviation, args[1].span)? }, unit, 0, u64::MAX)
        }
        "lognormal" => {
            let sigma = millionths(args[1], names)?;
            positive(value > 0 && sigma <= 10_000_000)?;
            (Shape::Lognormal { median: value, sigma }, unit, 0, u64::MAX)
        }
        "pareto" => {
            let shape = millionths(args[1], names)?;
            positive(value > 0 && (10_000..=1_000_000_000).contains(&shape))?;
            (Shape::Pareto { scale: value, shape }, unit, 0, u64::MAX)
        }
        _ => {
            let exponent = millionths(args[1], names)?;
            positive((1..=crate::code::MAX_RANKS).contains(&value) && exponent <= 10_000_000)?;
            (Shape::Zipf { exponent }, unit, 1, value)
        }
    })
}

/// `table(10: 1 KiB, 90: 2 KiB..8 KiB)`, or `table("file")`.
fn table(call: &Call, names: &dyn Names) -> Result<(Shape, Unit, u64, u64), Diagnostic> {
    let own: Vec<Expr>;
    let exprs: Vec<&Expr> = match call.args.as_slice() {
        [Arg { value: Expr { node: ExprKind::Text(file), span }, .. }] => {
            own = names.rows(&String::from_utf8_lossy(file), *span)?;
            own.iter().collect()
        }
        args => args.iter().map(|arg| &arg.value).collect(),
    };
    let (mut rows, mut shared) = (Vec::new(), None);
    for expr in exprs {
        let ExprKind::Row(weight, value) = &expr.node else {
            return Err(Diagnostic::new(expr.span, "a table has rows", "this is no row")
                .help("for example: table(30: 1 KiB, 70: 2 KiB..8 KiB)"));
        };
        let share = number(weight, names)?;
        if !matches!(share.unit, Unit::One | Unit::Percent) || share.micro / 1_000 > u128::from(u32::MAX) {
            return Err(Diagnostic::new(
                weight.span,
                "a weight is a plain number or a percentage",
                "not such a number",
            ));
        }
        let (lo, hi, unit) = match &value.node {
            ExprKind::Range(lo, hi) => bounds(Some(lo), hi, value.span, names)?,
            _ => {
                let number = number(value, names)?;
                let value = whole(number, value.span)?;
                (value, value, number.unit)
            }
        };
        let before = *shared.get_or_insert(unit);
        shared = Some(
            common(before, unit).ok_or_else(|| units_differ((before, call.name.span), (unit, value.span)))?,
        );
        rows.push(Row { weight: (share.micro / 1_000) as u32, lo, hi });
    }
    let (Some(unit), true) = (shared, rows.iter().any(|row| row.weight > 0)) else {
        return Err(Diagnostic::new(
            call.name.span,
            "a table needs rows with a weight above 0",
            "it has none",
        ));
    };
    let lo = rows.iter().map(|row| row.lo).min().unwrap_or(0);
    let hi = rows.iter().map(|row| row.hi).max().unwrap_or(0);
    Ok((Shape::Table(rows), unit, lo, hi))
}

/// Millionths of a plain number.
fn millionths(expr: &Expr, names: &dyn Names) -> Result<u64, Diagnostic> {
    let number = number(expr, names)?;
    if number.unit != Unit::One || number.micro > 1_000_000_000 {
        return Err(Diagnostic::new(
            expr.span,
            "a plain number below 1000 is needed here",
            "not such a number",
        ));
    }
    Ok(number.micro as u64)
}
