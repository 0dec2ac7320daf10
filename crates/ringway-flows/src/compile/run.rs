//! Mixes and the run, with the guards on attacks.

use std::collections::HashMap;

use super::constant::{number, whole, whole_of};
use super::global::Global;
use super::instance::{alone, compile, flow};
use super::load::{load, time};
use crate::code::{Kind, Mix, Share, Stop};
use crate::lang::{Binary, Call, Diagnostic, Expr, ExprKind, Ident, MICRO, RunItem, Setting, Span, Unit};

/// A mix as it is written.
type Written = (Ident, Vec<(Call, Expr)>);

/// Adds all mixes and the run. Stories that neither names are compiled too, so that their errors show.
pub(super) fn add_all(global: &mut Global<'_>, mixes: &[Written], runs: &[(Span, Vec<RunItem>)]) {
    let mut known = HashMap::new();
    for (name, shares) in mixes {
        if known.contains_key(&name.node) || global.stories.contains_key(&name.node) {
            global.error(Diagnostic::new(
                name.span,
                format!("`{}` exists already", name.node),
                "the second one",
            ));
        }
        match mix(global, name, shares) {
            Ok(index) => _ = known.insert(name.node.clone(), index),
            Err(diagnostic) => {
                known.insert(name.node.clone(), u32::MAX);
                global.error(diagnostic);
            }
        }
    }
    if let [(first, _), (second, _), ..] = runs {
        global.error(
            Diagnostic::new(*second, "there is one run", "the second one").and(*first, "the first one"),
        );
    }
    for (_, items) in runs.iter().take(1) {
        for item in items {
            if let Err(diagnostic) = run_item(global, &known, item) {
                global.error(diagnostic);
            }
        }
    }
    rest(global, runs.is_empty());
}

/// Compiles the stories that nothing has named. Without a run they belong to the bundle; with one they are only checked.
fn rest(global: &mut Global<'_>, no_run: bool) {
    for name in global.order.clone() {
        if global.story_of.contains(&name) {
            continue;
        }
        let Some(story) = global.stories.get(&name).cloned() else { continue };
        let done = alone(global, &story).and_then(|found| {
            let Some((all, complete)) = found else { return Ok(()) };
            if no_run && complete {
                return compile(global, &story, &name, &all).map(|_| ());
            }
            // Its tables are not needed.
            let bundle = global.tables.bundle.flows.len();
            let result = compile(global, &story, &name, &all).map(|_| ());
            global.tables.bundle.flows.truncate(bundle);
            global.story_of.truncate(bundle);
            result
        });
        if let Err(diagnostic) = done {
            global.error(diagnostic);
        }
    }
}

/// Adds a mix.
fn mix(global: &mut Global<'_>, name: &Ident, written: &[(Call, Expr)]) -> Result<u32, Diagnostic> {
    let (mut shares, mut percent, mut total) = (Vec::new(), 0, 0u128);
    for (call, weight) in written {
        let share = number(weight, global)?;
        if !matches!(share.unit, Unit::One | Unit::Percent) || share.micro > 1_000 * MICRO {
            return Err(Diagnostic::new(
                weight.span,
                "a weight is a plain number or a percentage, up to 1000",
                "not such a number",
            ));
        }
        percent += usize::from(share.unit == Unit::Percent);
        total += share.micro;
        let index = flow(global, call, None)?;
        if global.tables.bundle.flows[index as usize].kind == Kind::Attack {
            return Err(Diagnostic::new(
                call.name.span,
                "an attack is no part of a mix",
                "this is an attack",
            )
            .help("give it a line of its own in the run, with a rate and a time"));
        }
        shares.push(Share { flow: index, weight: share.micro as u32 });
    }
    if total == 0 {
        return Err(Diagnostic::new(name.span, "a mix needs a flow with a weight above 0", "it has none"));
    }
    if percent > 0 && (percent < written.len() || total != 100 * MICRO) {
        let label = format!("they are {} %", total as f64 / MICRO as f64);
        return Err(Diagnostic::new(name.span, "the percentages of a mix are 100 % together", label));
    }
    let text = global.tables.name(&name.node);
    global.tables.bundle.mixes.push(Mix { name: text, shares });
    Ok(global.tables.bundle.mixes.len() as u32 - 1)
}

/// One line of a run.
fn run_item(global: &mut Global<'_>, mixes: &HashMap<String, u32>, item: &RunItem) -> Result<(), Diagnostic> {
    match item {
        RunItem::Load(call, settings) => load(global, mixes, call, settings),
        RunItem::Stop(expr) => {
            let stop = stop(global, expr)?;
            global.tables.bundle.plan.stops.push(stop);
            Ok(())
        }
        RunItem::Set(setting) => set(global, setting),
    }
}

/// `seed 42`, `concurrent max 200 k`, `drain 5 s`
fn set(global: &mut Global<'_>, setting: &Setting) -> Result<(), Diagnostic> {
    let Some(value) = &setting.value else { return Ok(()) };
    match setting.name.node.as_str() {
        "seed" => global.tables.bundle.seed = whole_of(value, Unit::One, global)?,
        "drain" => {
            let time = time(global, value)?;
            let plan = &mut global.tables.bundle.plan;
            plan.drain = plan.drain.max(time);
        }
        _ => {
            let count = number(value, global)?;
            if !matches!(count.unit, Unit::One | Unit::Flows) || count.micro == 0 {
                return Err(Diagnostic::new(
                    value.span,
                    "a number of flows above 0 is needed here",
                    "not such a number",
                ));
            }
            global.tables.bundle.plan.max_active = whole(count, value.span)?;
        }
    }
    Ok(())
}

/// `stop failed > 1 %`, `stop complete >= 1 M`, `stop after 60 s` written as `stop time >= 60 s`
fn stop(global: &Global<'_>, expr: &Expr) -> Result<Stop, Diagnostic> {
    let wrong = || {
        Diagnostic::new(expr.span, "this is no condition for a stop", "not such a condition").help(
            "for example: stop failed > 1 %, stop failed > 100, stop complete >= 1 M, stop time >= 60 s",
        )
    };
    let ExprKind::Binary(compare, left, right) = &expr.node else { return Err(wrong()) };
    let ExprKind::Name(name) = &left.node else { return Err(wrong()) };
    let more = match compare {
        Binary::More => 1,
        Binary::AtLeast => 0,
        _ => return Err(wrong()),
    };
    let value = number(right, global)?;
    match (name.as_str(), value.unit) {
        ("failed", Unit::Percent) if value.micro <= 100 * MICRO => {
            Ok(Stop::FailedShare((value.micro / 100) as u64))
        }
        ("failed", Unit::One | Unit::Flows) => Ok(Stop::Failed(whole(value, right.span)? + more)),
        ("complete", Unit::One | Unit::Flows) => Ok(Stop::Complete(whole(value, right.span)? + more)),
        ("time", Unit::Time) => Ok(Stop::After(time(global, right)?)),
        _ => Err(wrong()),
    }
}
