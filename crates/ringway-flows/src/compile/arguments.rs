//! Arguments of calls, by their names or in their order.

use crate::lang::{Call, Diagnostic, Expr, nearest};

/// The arguments of a call in the order of their names. Each must be there, once.
pub(super) fn arguments<'a>(call: &'a Call, needed: &[&str]) -> Result<Vec<&'a Expr>, Diagnostic> {
    let found = optional(call, needed)?;
    let missing = needed.iter().zip(&found).find(|(_, value)| value.is_none());
    if let Some((name, _)) = missing {
        let span = call.name.span;
        return Err(Diagnostic::new(
            span,
            format!("`{}` needs `{name}`", call.name.node),
            "it is missing here",
        )
        .help(format!("write {}({})", call.name.node, needed.join(", "))));
    }
    Ok(found.into_iter().flatten().collect())
}

/// The arguments of a call in the order of their names, as far as they are there. Those without a name come first.
pub(super) fn optional<'a>(call: &'a Call, known: &[&str]) -> Result<Vec<Option<&'a Expr>>, Diagnostic> {
    let mut found = vec![None; known.len()];
    for (i, arg) in call.args.iter().enumerate() {
        let place = match &arg.name {
            None => (i < known.len()).then_some(i),
            Some(name) => known.iter().position(|known| *known == name.node),
        };
        let span = arg.name.as_ref().map_or(arg.value.span, |name| name.span);
        let Some(place) = place else {
            let diagnostic = match &arg.name {
                Some(name) => Diagnostic::new(
                    span,
                    format!("`{}` has no `{}`", call.name.node, name.node),
                    "unknown name",
                ),
                None => Diagnostic::new(
                    span,
                    format!("`{}` takes at most {} values", call.name.node, known.len()),
                    "one too many",
                ),
            };
            let near = arg.name.as_ref().and_then(|name| nearest(&name.node, known.iter().copied()));
            return Err(match near {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None if known.is_empty() => diagnostic,
                None => diagnostic.help(format!("it takes {}", known.join(", "))),
            });
        };
        if found[place].replace(&arg.value).is_some() {
            return Err(Diagnostic::new(
                span,
                format!("`{}` is given twice", known[place]),
                "the second time here",
            ));
        }
    }
    Ok(found)
}
