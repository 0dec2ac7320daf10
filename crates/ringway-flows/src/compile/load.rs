//! Loads of a run, with the guards on attacks.

use std::collections::HashMap;

use super::constant::{Given, bounds, constant, number, whole_of};
use super::global::Global;
use super::instance::flow;
use crate::code::{Kind, Load, Phase, Spacing, Unit as Of, What};
use crate::lang::{Call, Diagnostic, Expr, ExprKind, MICRO, Number, Setting, Span, Unit, nearest};

/// Longest time of a plan: 30 days.
const MAX_TIME: u64 = 30 * 86_400 * 1_000_000_000;
/// Most of a unit.
const MAX_LOAD: u128 = 1_000_000_000_000;

/// A time of the plan.
pub(super) fn time(global: &Global<'_>, expr: &Expr) -> Result<u64, Diagnostic> {
    let time = whole_of(expr, Unit::Time, global)?;
    if time > MAX_TIME {
        return Err(Diagnostic::new(expr.span, "a time of a run is at most 30 days", "longer"));
    }
    Ok(time)
}
/// A load while its settings are read.
struct Shape {
    unit: Option<(Of, Span)>,
    start: u64,
    phases: Vec<Phase>,
    /// The last number, in thousandths.
    level: Option<u64>,
    spacing: Spacing,
}

/// A line with a flow, an attack or a mix.
pub(super) fn load(
    global: &mut Global<'_>,
    mixes: &HashMap<String, u32>,
    call: &Call,
    settings: &[Setting],
) -> Result<(), Diagnostic> {
    let name = &call.name.node;
    let target = settings.iter().find(|setting| setting.name.node == "target");
    let what = match mixes.get(name) {
        Some(&u32::MAX) => return Err(Diagnostic::silent()),
        Some(_) if !call.args.is_empty() || target.is_some() => {
            return Err(Diagnostic::new(call.name.span, "a mix takes no values", "this is a mix")
                .help("give them to its flows, where the mix is declared"));
        }
        Some(index) => What::Mix(*index),
        None if !global.stories.contains_key(name) => return Err(no_load(global, mixes, call)),
        None => {
            let extra = match target.and_then(|setting| setting.value.as_ref()) {
                Some(value) => match constant(value, global)? {
                    place @ Given::Place(..) => Some(("target".to_owned(), place)),
                    other => {
                        let label = format!("this is {}", other.what());
                        return Err(Diagnostic::new(
                            value.span,
                            "a target is a pool or an address of one",
                            label,
                        ));
                    }
                },
                None => None,
            };
            What::Flow(flow(global, call, extra)?)
        }
    };
    let attack =
        matches!(what, What::Flow(index) if global.tables.bundle.flows[index as usize].kind == Kind::Attack);
    let shape = shape(global, call.name.span, settings)?;
    guard(call, attack, &shape)?;
    let Some((unit, _)) = shape.unit else { return Err(Diagnostic::silent()) };
    let load = Load { what, unit, start: shape.start, phases: shape.phases, spacing: shape.spacing };
    global.tables.bundle.plan.loads.push(load);
    Ok(())
}

/// The error about something that can't be started.
fn no_load(global: &Global<'_>, mixes: &HashMap<String, u32>, call: &Call) -> Diagnostic {
    let name = &call.name.node;
    let message = format!("no flow, attack or mix is called `{name}`");
    let diagnostic = Diagnostic::new(call.name.span, message, "unknown name");
    let known = global.order.iter().chain(mixes.keys()).map(String::as_str);
    match nearest(name, known) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic,
    }
}

/// An attack has a rate, which is its cap, and a time, which is its limit.
fn guard(call: &Call, attack: bool, shape: &Shape) -> Result<(), Diagnostic> {
    let (name, span) = (&call.name.node, call.name.span);
    if shape.phases.is_empty() {
        let what = if attack { "an attack needs a time limit" } else { "a load needs a time" };
        return Err(Diagnostic::new(span, what, format!("`{name}` would run without end"))
            .help("add `from 30 s to 50 s`, `for 20 s` or `hold 20 s`"));
    }
    match shape.unit {
        Some((Of::Active, unit)) if attack => Err(Diagnostic::new(
            unit,
            "an attack needs a rate, which is its cap",
            "this is a number of flows at the same time",
        )
        .help("for example: rate 200 k pkt/s")),
        Some((Of::Packets, unit)) if !attack => {
            Err(Diagnostic::new(unit, "only an attack has a rate of packets", "this is a flow or a mix")
                .help("use flows/s, bit/s, or a number of flows at the same time"))
        }
        _ => Ok(()),
    }
}

/// The phases of a load.
fn shape(global: &mut Global<'_>, span: Span, settings: &[Setting]) -> Result<Shape, Diagnostic> {
    let mut shape = Shape { unit: None, start: 0, phases: Vec::new(), level: None, spacing: Spacing::Even };
    let mut rest = settings.iter().peekable();
    while let Some(setting) = rest.next() {
        let (word, at) = (setting.name.node.as_str(), setting.name.span);
        let value = setting.value.as_ref().ok_or_else(Diagnostic::silent);
        match word {
            "ramp" => {
                let (from, to) = ramp(global, &mut shape, value?)?;
                let Some(length) =
                    rest.next_if(|next| next.name.node == "in").and_then(|next| next.value.as_ref())
                else {
                    return Err(Diagnostic::new(at, "a ramp needs a time", "no time behind it")
                        .help("for example: ramp 0..100 k flows/s in 10 s"));
                };
                let length = time(global, length)?;
                shape.phases.push(Phase { from, to, length, steady: false });
                shape.level = Some(to);
            }
            "rate" => {
                let rate = value?;
                let number = number(rate, global)?;
                shape.level = Some(level(&mut shape, number, rate.span)?);
            }
            "hold" | "for" => {
                let length = time(global, value?)?;
                push_hold(&mut shape, length, at)?;
            }
            "from" => {
                if !shape.phases.is_empty() {
                    return Err(Diagnostic::new(
                        at,
                        "`from` stands before the first phase",
                        "phases follow each other",
                    ));
                }
                shape.start = time(global, value?)?;
            }
            "to" => {
                let value = value?;
                let end = time(global, value)?;
                let now = shape.phases.iter().fold(shape.start, |sum, phase| sum + phase.length);
                let length = end.checked_sub(now).filter(|length| *length > 0).ok_or_else(|| {
                    Diagnostic::new(value.span, "a load ends before it begins", "not after its start")
                })?;
                push_hold(&mut shape, length, at)?;
            }
            "drain" => {
                let time = time(global, value?)?;
                let plan = &mut global.tables.bundle.plan;
                plan.drain = plan.drain.max(time);
            }
            "in" => return Err(Diagnostic::new(at, "`in` belongs to a ramp", "no ramp in front of it")),
            "poisson" => shape.spacing = Spacing::Poisson,
            "even" => shape.spacing = Spacing::Even,
            _ => {}
        }
    }
    if shape.unit.is_none() {
        return Err(Diagnostic::new(
            span,
            "it is not said how much of it starts",
            "no rate and no number of flows",
        )
        .help("add `rate 1 k flows/s` or `ramp 0..1 k flows/s in 10 s`"));
    }
    Ok(shape)
}

/// A phase at the last level.
fn push_hold(shape: &mut Shape, length: u64, span: Span) -> Result<(), Diagnostic> {
    let Some(level) = shape.level else {
        return Err(Diagnostic::new(span, "it is not said how much of it starts", "no rate in front of it")
            .help("for example: rate 1 k flows/s for 10 s"));
    };
    let total = shape.phases.iter().fold(shape.start, |sum, phase| sum + phase.length) + length;
    if length == 0 || total > MAX_TIME {
        return Err(Diagnostic::new(span, "a phase lasts above 0, and a run at most 30 days", "not so long"));
    }
    shape.phases.push(Phase { from: level, to: level, length, steady: true });
    Ok(())
}

/// The two levels of a ramp.
fn ramp(global: &Global<'_>, shape: &mut Shape, value: &Expr) -> Result<(u64, u64), Diagnostic> {
    let ExprKind::Range(lo, hi) = &value.node else {
        return Err(Diagnostic::new(
            value.span,
            "a ramp goes from one number to another",
            "this is no range",
        )
        .help("for example: ramp 0..100 k flows/s in 10 s"));
    };
    let (from, to) = (number(lo, global)?, number(hi, global)?);
    if from.unit != to.unit {
        bounds(Some(lo), hi, value.span, global)?;
    }
    Ok((level(shape, from, lo.span)?, level(shape, to, hi.span)?))
}

/// A level in thousandths. All levels of a load have one unit.
fn level(shape: &mut Shape, number: Number, span: Span) -> Result<u64, Diagnostic> {
    let unit = match number.unit {
        Unit::FlowRate => Of::Flows,
        Unit::Flows => Of::Active,
        Unit::BitRate => Of::Bits,
        Unit::PacketRate => Of::Packets,
        other => {
            return Err(Diagnostic::new(
                span,
                "a rate or a number of flows is needed here",
                format!("this is {}", other.name()),
            )
            .help("for example: 100 k flows/s, 200 k pkt/s, 10 Gbit/s, or 5 k flows at the same time"));
        }
    };
    let (before, place) = *shape.unit.get_or_insert((unit, span));
    if before != unit {
        return Err(Diagnostic::new(span, "all levels of a load have one unit", "another unit")
            .and(place, "the first unit"));
    }
    if number.micro / MICRO > MAX_LOAD {
        return Err(Diagnostic::new(span, "a rate is at most 10^12", "it is greater"));
    }
    Ok((number.micro / 1_000) as u64)
}
