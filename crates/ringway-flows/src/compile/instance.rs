//! A story with its arguments becomes a flow.

use std::rc::Rc;

use super::constant::{Argument, Given, constant};
use super::global::{Global, fits};
use super::story;
use crate::lang::{Call, Diagnostic, Story, nearest};

/// Most instructions of all flows of a file.
const MAX_INSTRUCTIONS: usize = 2_000_000;
/// Most flows of a file.
const MAX_FLOWS: usize = 1_024;

/// The flow of a story with arguments: its index. It is compiled when it is named first.
pub(super) fn flow(global: &mut Global<'_>, call: &Call, extra: Option<Argument>) -> Result<u32, Diagnostic> {
    let story = global.stories.get(&call.name.node).cloned().ok_or_else(|| no_story(global, call))?;
    let given = arguments(global, &story, call, extra)?;
    let text = given
        .iter()
        .map(|(name, value)| format!("{name} = {}", show(global, value)))
        .collect::<Vec<_>>()
        .join(", ");
    let name = if text.is_empty() { story.name.node.clone() } else { format!("{}({text})", story.name.node) };
    let all = with_defaults(global, &story, given, call)?;
    compile(global, &story, &name, &all)
}

/// The error about a flow that does not exist.
fn no_story(global: &Global<'_>, call: &Call) -> Diagnostic {
    let name = &call.name.node;
    let diagnostic = Diagnostic::new(call.name.span, format!("no flow is called `{name}`"), "unknown name");
    match nearest(name, global.order.iter().map(String::as_str)) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic,
    }
}

/// Compiles a story with all its parameters, or finds the flow that it has become.
pub(super) fn compile(
    global: &mut Global<'_>,
    story: &Rc<Story>,
    name: &str,
    all: &[Argument],
) -> Result<u32, Diagnostic> {
    let key = format!("{} {all:?}", story.name.node);
    if let Some(known) = global.flows.get(&key) {
        return known.ok_or_else(Diagnostic::silent);
    }
    if global.flows.len() >= MAX_FLOWS {
        return Err(Diagnostic::new(
            story.name.span,
            "a file has more than 1024 flows with different arguments",
            "one too many",
        ));
    }
    if global.instructions > MAX_INSTRUCTIONS {
        let message = "the flows of a file have more than 2000000 instructions in all";
        return Err(Diagnostic::new(story.name.span, message, "there is no room for this one"));
    }
    let flow = story::compile(global, story, name, all);
    let index = flow.map(|flow| {
        global.tables.bundle.flows.push(flow);
        global.story_of.push(story.name.node.clone());
        global.tables.bundle.flows.len() as u32 - 1
    });
    global.flows.insert(key, index);
    index.ok_or_else(Diagnostic::silent)
}

/// The arguments of a call, each for a parameter that exists, of the type of its default.
fn arguments(
    global: &Global<'_>,
    story: &Story,
    call: &Call,
    extra: Option<Argument>,
) -> Result<Vec<Argument>, Diagnostic> {
    let mut found: Vec<Argument> = Vec::new();
    for (i, arg) in call.args.iter().enumerate() {
        let span = arg.name.as_ref().map_or(arg.value.span, |name| name.span);
        let param = match &arg.name {
            Some(name) => story.params.iter().find(|param| param.name.node == name.node),
            None => story.params.get(i),
        };
        let Some(param) = param else {
            let name = arg
                .name
                .as_ref()
                .map_or("so many parameters".to_owned(), |name| format!("parameter `{}`", name.node));
            let diagnostic =
                Diagnostic::new(span, format!("`{}` has no {name}", story.name.node), "not a parameter");
            let near = arg.name.as_ref().and_then(|name| {
                nearest(&name.node, story.params.iter().map(|param| param.name.node.as_str()))
            });
            return Err(match near {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => diagnostic.and(story.name.span, "declared here"),
            });
        };
        let value = constant(&arg.value, global)?;
        if let Some(default) = &param.default {
            fits(&value, &constant(default, global)?, arg.value.span, default.span)?;
        }
        if found.iter().any(|(name, _)| *name == param.name.node) {
            return Err(Diagnostic::new(
                span,
                format!("`{}` is given twice", param.name.node),
                "the second time here",
            ));
        }
        found.push((param.name.node.clone(), value));
    }
    if let Some((name, value)) = extra {
        if !story.params.iter().any(|param| param.name.node == name) {
            return Err(Diagnostic::new(
                call.name.span,
                format!("`{}` has no parameter `{name}`", story.name.node),
                "it takes no such value",
            )
            .and(story.name.span, "declared here"));
        }
        found.retain(|(other, _)| *other != name);
        found.push((name, value));
    }
    Ok(found)
}

/// All parameters of a story: the given ones, then values of the command line, then defaults.
fn with_defaults(
    global: &Global<'_>,
    story: &Story,
    given: Vec<Argument>,
    call: &Call,
) -> Result<Vec<Argument>, Diagnostic> {
    let mut all = Vec::new();
    for param in &story.params {
        let name = &param.name.node;
        let value = match given.iter().find(|(other, _)| other == name) {
            Some((_, value)) => value.clone(),
            None => default(global, story, param)?.ok_or_else(|| {
                Diagnostic::new(
                    call.name.span,
                    format!("`{}` needs a value for `{name}`", story.name.node),
                    "no value is given",
                )
                .and(param.name.span, "this parameter has no default")
            })?,
        };
        all.push((name.clone(), value));
    }
    Ok(all)
}

/// The value of a parameter that no call gives.
fn default(
    global: &Global<'_>,
    story: &Story,
    param: &crate::lang::Param,
) -> Result<Option<Given>, Diagnostic> {
    let own = param
        .default
        .as_ref()
        .map(|expr| constant(expr, global).map(|value| (value, expr.span)))
        .transpose()?;
    let Some(value) = global.parameter(&story.name.node, &param.name.node) else {
        return Ok(own.map(|(value, _)| value));
    };
    if let Some((own, span)) = own {
        fits(value, &own, span, span)?;
    }
    Ok(Some(value.clone()))
}

/// All parameters of a story that no call names, with a pool instead of a target. `None`: one has no value.
pub(super) fn alone(global: &Global<'_>, story: &Story) -> Result<Option<(Vec<Argument>, bool)>, Diagnostic> {
    let mut all = Vec::new();
    let mut complete = true;
    for param in &story.params {
        let value = match default(global, story, param)? {
            Some(value) => value,
            None if param.name.node == "target" && !global.tables.bundle.pools.is_empty() => {
                complete = false;
                let v4 = global.tables.bundle.pools[0].is_ipv4();
                Given::Place(crate::code::Place::Pool(0), v4)
            }
            None => return Ok(None),
        };
        all.push((param.name.node.clone(), value));
    }
    Ok(Some((all, complete)))
}

/// A value as the name of a flow shows it.
fn show(global: &Global<'_>, value: &Given) -> String {
    match value {
        Given::Number(number) => {
            let (whole, rest) = (number.micro / crate::lang::MICRO, number.micro % crate::lang::MICRO);
            let kib = number.unit == crate::lang::Unit::Bytes
                && rest == 0
                && whole > 0
                && whole.is_multiple_of(1024);
            if kib {
                return format!("{} KiB", whole / 1024);
            }
            let unit = match number.unit {
                crate::lang::Unit::Time => " ns",
                crate::lang::Unit::Bytes => " B",
                _ => "",
            };
            if rest == 0 { format!("{whole}{unit}") } else { format!("{whole}.{rest:06}{unit}") }
        }
        Given::Text(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        Given::Dist(dist, _) => format!("{}..{}", dist.lo, dist.hi),
        Given::Place(crate::code::Place::Fixed(address), _) => address.to_string(),
        Given::Place(crate::code::Place::Pool(index), _) => {
            let pool = global.tables.bundle.pools.get(*index as usize);
            pool.map_or_else(String::new, |pool| global.tables.bundle.name(pool.name).to_owned())
        }
        Given::Place(crate::code::Place::Same { .. }, _) => String::new(),
    }
}
