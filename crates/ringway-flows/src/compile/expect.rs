//! Expectations.

use super::arguments::optional;
use super::constant::{number, whole};
use super::global::Global;
use crate::code::{BUILT_IN, Compare, Expectation, Measure};
use crate::lang::{Binary, Call, Diagnostic, Expr, ExprKind, MICRO, Span, Unit, nearest};

/// Names of measures.
const MEASURES: [&str; 6] = ["active", "complete", "counter", "failed", "percentile", "rate"];

/// Most expectations of a file.
const MAX_EXPECTATIONS: usize = 1_000;

/// Adds all expectations.
pub(super) fn add_all(global: &mut Global<'_>, list: &[Expr]) {
    for expr in list {
        if global.tables.bundle.expectations.len() > MAX_EXPECTATIONS {
            return global.error(Diagnostic::new(
                expr.span,
                "a file has more than 1000 expectations",
                "one too many",
            ));
        }
        match expectation(global, expr) {
            Ok(found) => global.tables.bundle.expectations.extend(found),
            Err(diagnostic) => global.error(diagnostic),
        }
    }
}

/// The expectations of a line: one for each flow of the story that it names.
fn expectation(global: &Global<'_>, expr: &Expr) -> Result<Vec<Expectation>, Diagnostic> {
    let wrong = || {
        Diagnostic::new(expr.span, "an expectation compares a measure with a number", "not such a comparison")
            .help("for example: complete >= 99.99 %, p99(web.reply) < 5 ms")
    };
    let ExprKind::Binary(operation, left, right) = &expr.node else { return Err(wrong()) };
    let compare = match operation {
        Binary::Less => Compare::Less,
        Binary::AtMost => Compare::AtMost,
        Binary::More => Compare::More,
        Binary::AtLeast => Compare::AtLeast,
        Binary::Equal => Compare::Equal,
        _ => return Err(wrong()),
    };
    let (name, call) = match &left.node {
        ExprKind::Name(name) => (name.as_str(), None),
        ExprKind::Call(call) => (call.name.node.as_str(), Some(call)),
        _ => return Err(wrong()),
    };
    let measures = measures(global, name, call, left.span)?;
    let value = value(global, measures[0], right)?;
    Ok(measures.into_iter().map(|measure| Expectation { measure, compare, value }).collect())
}

/// What is measured.
fn measures(
    global: &Global<'_>,
    name: &str,
    call: Option<&Call>,
    span: Span,
) -> Result<Vec<Measure>, Diagnostic> {
    let flows = |make: fn(Option<u32>) -> Measure| match call {
        None => Ok(vec![make(None)]),
        Some(call) => {
            let (_, found) = argument(global, call, false)?;
            Ok(found.into_iter().map(|flow| make(Some(flow))).collect())
        }
    };
    match name {
        "complete" => flows(Measure::Complete),
        "failed" => flows(Measure::Failed),
        "rate" => flows(Measure::Rate),
        "active" if call.is_none() => Ok(vec![Measure::Active]),
        "counter" => {
            let call = call.ok_or_else(|| no_argument(name, span))?;
            let (part, found) = argument(global, call, true)?;
            find(&found, |flow| position(global, &global.tables.bundle.flows[flow as usize].counters, &part))
                .map(|list| {
                    list.into_iter().map(|(flow, counter)| Measure::Counter { flow, counter }).collect()
                })
                .ok_or_else(|| {
                    Diagnostic::new(
                        call.args[0].value.span,
                        format!("this flow has no counter `{part}`"),
                        "unknown counter",
                    )
                })
        }
        _ => {
            let Some(milli) = percentile(global, name, call)? else { return Err(unknown(name, span)) };
            let call = call.ok_or_else(|| no_argument(name, span))?;
            let (part, found) = argument(global, call, true)?;
            let latency = |flow: u32| {
                let own = position(global, &global.tables.bundle.flows[flow as usize].latencies, &part);
                let built_in = BUILT_IN.iter().position(|name| *name == part).map(|at| at as u32);
                built_in.or(own.map(|at| at + BUILT_IN.len() as u32))
            };
            find(&found, latency)
                .map(|list| list.into_iter().map(|(flow, latency)| Measure::Percentile { milli, flow, latency }).collect())
                .ok_or_else(|| {
                    let place = call.args.last().map_or(span, |arg| arg.value.span);
                    Diagnostic::new(place, format!("this flow has no latency `{part}`"), "unknown latency")
                        .help("each flow has connect, first and flow; one that answers has reply; `measure` makes others")
                })
        }
    }
}

/// The thousandths of a percentile: `p99`, `p999` is 99.9, `percentile(99.9, ...)`.
fn percentile(global: &Global<'_>, name: &str, call: Option<&Call>) -> Result<Option<u32>, Diagnostic> {
    if name == "percentile" {
        let Some(first) = call.and_then(|call| call.args.first()) else { return Ok(None) };
        let value = number(&first.value, global)?;
        if value.micro > 100 * MICRO {
            return Err(Diagnostic::new(first.value.span, "a percentile is at most 100", "it is greater"));
        }
        return Ok(Some((value.micro / 1_000) as u32));
    }
    let Some(digits) = name.strip_prefix('p').filter(|digits| (1..=5).contains(&digits.len())) else {
        return Ok(None);
    };
    let Ok(value) = digits.parse::<u32>() else { return Ok(None) };
    // Two digits are per cent, and each further one is a tenth.
    let scaled = if digits.len() <= 2 { value * 1_000 } else { value * 10u32.pow(5 - digits.len() as u32) };
    Ok((scaled <= 100_000).then_some(scaled))
}

/// The flows that an argument names, and what it names of them.
fn argument(global: &Global<'_>, call: &Call, with_part: bool) -> Result<(String, Vec<u32>), Diagnostic> {
    let known: &[&str] = if call.name.node == "percentile" { &["percent", "of"] } else { &["of"] };
    let args = optional(call, known)?;
    let Some(expr) = args.last().copied().flatten() else {
        return Err(no_argument(&call.name.node, call.name.span));
    };
    let ExprKind::Name(name) = &expr.node else {
        return Err(Diagnostic::new(expr.span, "the name of a flow is needed here", "not a name"));
    };
    let (story, part) = match name.split_once('.') {
        Some((story, part)) if with_part => (story, part.to_owned()),
        None if !with_part => (name.as_str(), String::new()),
        _ => {
            let help = if with_part { "for example: p99(web.reply)" } else { "for example: complete(web)" };
            return Err(Diagnostic::new(
                expr.span,
                "this names no part of a flow that is measured",
                "not such a name",
            )
            .help(help));
        }
    };
    let indexes = global.story_of.iter().enumerate().filter(|(_, of)| *of == story).map(|(at, _)| at as u32);
    let found: Vec<u32> = indexes.collect();
    if found.is_empty() {
        // It may be in the part of the file that is wrong.
        if !global.errors.is_empty() && global.stories.contains_key(story) {
            return Err(Diagnostic::silent());
        }
        let diagnostic = Diagnostic::new(expr.span, format!("the run has no flow `{story}`"), "unknown flow");
        return Err(match nearest(story, global.story_of.iter().map(String::as_str)) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic,
        });
    }
    Ok((part, found))
}

/// The error about a measure that needs a flow.
fn no_argument(name: &str, span: Span) -> Diagnostic {
    Diagnostic::new(span, format!("`{name}` needs a flow and what is measured of it"), "nothing behind it")
        .help("for example: p99(web.reply), counter(scan.open)")
}

/// The error about a measure that does not exist.
fn unknown(name: &str, span: Span) -> Diagnostic {
    let diagnostic = Diagnostic::new(span, format!("there is no measure `{name}`"), "unknown measure");
    diagnostic.help(match nearest(name, MEASURES) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "there are complete, failed, rate, active, counter, p50, p99, p999 and percentile".to_owned(),
    })
}

/// The position of a name in a list of names.
fn position(global: &Global<'_>, list: &[u32], name: &str) -> Option<u32> {
    list.iter().position(|index| global.tables.bundle.name(*index) == name).map(|at| at as u32)
}

/// What each flow has, if all have it.
fn find(flows: &[u32], of: impl Fn(u32) -> Option<u32>) -> Option<Vec<(u32, u32)>> {
    flows.iter().map(|flow| of(*flow).map(|found| (*flow, found))).collect()
}

/// The number that a measure is compared with.
fn value(global: &Global<'_>, measure: Measure, expr: &Expr) -> Result<u64, Diagnostic> {
    let number = number(expr, global)?;
    let needed = match measure {
        Measure::Complete(_) => Unit::Percent,
        Measure::Rate(_) => Unit::FlowRate,
        Measure::Percentile { .. } => Unit::Time,
        Measure::Active | Measure::Failed(_) | Measure::Counter { .. } => Unit::One,
    };
    let plain = needed == Unit::One && number.unit == Unit::Flows;
    if number.unit != needed && !plain {
        let label = format!("this is {}", number.unit.name());
        return Err(Diagnostic::new(
            expr.span,
            format!("this measure is compared with {}", needed.name()),
            label,
        ));
    }
    match measure {
        Measure::Complete(_) if number.micro > 100 * MICRO => {
            Err(Diagnostic::new(expr.span, "a share is at most 100 %", "it is greater"))
        }
        // Millionths of one are hundredths of the millionths of a per cent.
        Measure::Complete(_) => Ok((number.micro / 100) as u64),
        Measure::Rate(_) => Ok((number.micro / 1_000) as u64),
        _ => whole(number, expr.span),
    }
}
