//! Stacks as lines of text, which other tools of flame graphs read: names from the thread on, a blank, and the samples.

use std::fmt::Write;

use super::Merged;

/// A line for each stack of the first profile. A semicolon in a name becomes a colon.
#[must_use]
pub fn folded(merged: &Merged<'_>) -> String {
    let mut out = String::new();
    let Some(side) = merged.sides.first() else { return out };
    let names: Vec<String> =
        merged.labels.iter().map(|frame| frame.name.replace([';', '\n', '\r'], ":")).collect();
    // Nodes are depth first, so the path to a node is the path to its caller, and the node.
    let (mut path, nodes) = (Vec::<usize>::new(), side.profile.tree.nodes());
    for (n, node) in nodes.iter().enumerate() {
        while path.last().is_some_and(|&last| node.parent != Some(last as u32)) {
            path.pop();
        }
        path.push(n);
        if side.own[n] > 0 {
            let name = |&n: &usize| names[side.labels[nodes[n].frame as usize] as usize].as_str();
            let _ = writeln!(out, "{} {}", path.iter().map(name).collect::<Vec<_>>().join(";"), side.own[n]);
        }
    }
    out
}
