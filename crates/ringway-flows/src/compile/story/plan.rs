//! A first look at a story: its connections, and what their ports are.

use std::collections::HashMap;

use super::scope::Declared;
use crate::code::{End, MAX_CONNECTIONS};
use crate::lang::{Block, Diagnostic, Expr, ExprKind, Setting, Span, StmtKind, Story, What};

/// Most ephemeral ports of a block and the blocks around it.
const MAX_PORTS: usize = 64;

/// Ephemeral ports in messages that have names, by the place of their `let`.
type Messages = HashMap<String, Vec<Span>>;

/// Looks at all statements of a story.
pub(super) fn declared(story: &Story) -> Result<Declared, Diagnostic> {
    let (mut declared, mut messages) = (Declared::default(), Messages::new());
    walk(&story.body, &mut declared, &mut messages)?;
    Ok(declared)
}

impl Declared {
    /// The place of the `let` of an ephemeral port.
    fn chosen(&self, name: &str) -> Option<Span> {
        self.ephemeral.iter().rev().find(|(known, _)| known == name).map(|(_, span)| *span)
    }
}

/// Looks at the statements of a block.
fn walk(block: &Block, declared: &mut Declared, messages: &mut Messages) -> Result<(), Diagnostic> {
    let outer = declared.ephemeral.len();
    let result = walk_statements(block, declared, messages);
    declared.ephemeral.truncate(outer);
    result
}

/// Looks at the statements of a block one after the other.
fn walk_statements(
    block: &Block,
    declared: &mut Declared,
    messages: &mut Messages,
) -> Result<(), Diagnostic> {
    for stmt in block {
        match &stmt.node {
            StmtKind::Open { sides, .. } => {
                let slot = declared.slots.len();
                if slot == MAX_CONNECTIONS {
                    return Err(Diagnostic::new(
                        stmt.span,
                        "a flow has at most 8 connections",
                        "one too many",
                    ));
                }
                declared.slots.push(stmt.span);
                let mut names = Vec::new();
                collect(&sides.to, &mut names);
                if let Some(port) = &sides.port {
                    collect(port, &mut names);
                }
                let through = names.iter().filter_map(|name| messages.get(name)).flatten().copied();
                let own = names.iter().filter_map(|name| declared.chosen(name));
                let chosen: Vec<Span> = through.chain(own).collect();
                for place in &chosen {
                    declared.ports.entry(*place).or_insert(slot as u8);
                }
                if !chosen.is_empty() {
                    declared.held.insert(slot as u8);
                } else if slot > 0 && sides.port.as_ref().is_some_and(is_side_port) {
                    declared.lent.insert(slot as u8);
                } else if slot > 0 {
                    let server =
                        matches!(&sides.from.node, ExprKind::Name(name) if name.ends_with(".server"));
                    declared.fixed.push((slot as u8, if server { End::Server } else { End::Client }));
                }
            }
            StmtKind::Let(name, Expr { node: ExprKind::Call(call), .. }) if call.name.node == "ephemeral" => {
                if declared.ephemeral.len() == MAX_PORTS {
                    return Err(Diagnostic::new(
                        name.span,
                        "a flow chooses at most 64 ports in one block",
                        "one too many",
                    ));
                }
                declared.ephemeral.push((name.node.clone(), name.span));
            }
            StmtKind::Send { what: What::Bytes(bytes), settings, .. } => {
                if let Some(name) = name_of(settings, "as") {
                    let mut names = Vec::new();
                    collect(bytes, &mut names);
                    let chosen = names.iter().filter_map(|name| declared.chosen(name));
                    messages.insert(name.to_owned(), chosen.collect());
                }
            }
            StmtKind::Repeat(_, _, inner) | StmtKind::Measure(_, inner) => walk(inner, declared, messages)?,
            StmtKind::If(_, then, other) => {
                walk(then, declared, messages)?;
                other.iter().try_for_each(|block| walk(block, declared, messages))?;
            }
            StmtKind::Choose(cases) => {
                cases.iter().try_for_each(|(_, block)| walk(block, declared, messages))?;
            }
            StmtKind::Parallel(blocks) => {
                blocks.iter().try_for_each(|block| walk(block, declared, messages))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a value is the port of an end: `t.client.port`.
fn is_side_port(expr: &Expr) -> bool {
    matches!(&expr.node, ExprKind::Name(name) if name.ends_with(".client.port") || name.ends_with(".server.port"))
}

/// The name that a setting gives.
pub(super) fn name_of<'a>(settings: &'a [Setting], word: &str) -> Option<&'a str> {
    let setting = settings.iter().find(|setting| setting.name.node == word)?;
    match &setting.value.as_ref()?.node {
        ExprKind::Name(name) => Some(name),
        _ => None,
    }
}

/// All names of an expression.
fn collect(expr: &Expr, names: &mut Vec<String>) {
    match &expr.node {
        ExprKind::Name(name) => names.push(name.clone()),
        ExprKind::Call(call) => call.args.iter().for_each(|arg| collect(&arg.value, names)),
        ExprKind::Not(inner) => collect(inner, names),
        ExprKind::Binary(_, a, b) | ExprKind::Range(a, b) | ExprKind::Row(a, b) => {
            collect(a, names);
            collect(b, names);
        }
        ExprKind::Clamp(inner, lo, hi) => {
            collect(inner, names);
            lo.iter().for_each(|lo| collect(lo, names));
            collect(hi, names);
        }
        ExprKind::Join(parts) => parts.iter().for_each(|part| collect(part, names)),
        ExprKind::Number(_) | ExprKind::Text(_) | ExprKind::Address(_) => {}
    }
}
