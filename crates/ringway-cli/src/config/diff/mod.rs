//! The difference between what files want and what exists. Nothing is asked of the machine here.

mod addresses;
mod ports;
mod routers;
#[cfg(test)]
mod tests;

use super::keys::{of_spec, spec_keys};
use super::notes::Notes;
use super::plan::{Part, Step};
use super::state::{Existing, ExistingRouter, ExistingSwitch, Router, Switch, Wanted};

/// What is to be done, by switch and router. Without `prune` nothing is removed.
pub(super) fn parts(wanted: &Wanted, existing: &Existing, prune: bool) -> Vec<Part> {
    let mut parts = Vec::new();
    if prune {
        let routers = existing.routers.keys().filter(|name| !wanted.routers.contains_key(*name));
        parts.extend(routers.map(|name| routers::removed(name)));
        let switches = existing.switches.iter().filter(|(name, _)| !wanted.switches.contains_key(*name));
        parts.extend(switches.map(|(name, is)| removed(name, is)));
    }
    parts.extend(wanted.switches.iter().map(|(name, want)| match existing.switches.get(name) {
        Some(is) => changed(name, want, is, prune),
        None => made(name, want),
    }));
    parts.extend(wanted.routers.iter().map(|(name, want)| match existing.routers.get(name) {
        Some(is) => routers::changed(name, want, is, prune),
        None => routers::made(name, want),
    }));
    parts.retain(|part| !part.steps.is_empty() || part.obstacle.is_some());
    parts
}

fn made(name: &str, want: &Switch) -> Part {
    let mut notes = Notes::of(name);
    notes.add("switch", name.to_owned(), spec_keys(want));
    notes.step(Step::MakeSwitch(want.spec.clone()));
    ports::changed(&mut notes, name, want, &ExistingSwitch::default());
    notes.part()
}

fn changed(name: &str, want: &Switch, is: &ExistingSwitch, prune: bool) -> Part {
    let mut notes = Notes::of(name);
    let (wanted, present) = (of_spec(&want.spec), of_spec(&is.state.spec));
    if let Some(((key, to), (_, was))) = wanted.iter().zip(&present).find(|(to, was)| to != was) {
        notes.obstacle(format!(
            "{name}: {key} is {was} and the file says {to}, but a switch stays as it was made; change the file, or remove the switch first: \
             `ringway switch del {name}`"
        ));
    }
    ports::changed(&mut notes, name, want, is);
    if prune {
        addresses::pruned(&mut notes, name, want, is);
        ports::pruned(&mut notes, name, want, is);
    }
    notes.part()
}

fn removed(name: &str, is: &ExistingSwitch) -> Part {
    let mut notes = Notes::of(name);
    notes.remove("switch", name.to_owned(), Vec::new());
    for port in is.open.keys() {
        ports::remove_open(&mut notes, name, port, is);
    }
    notes.step(Step::RemoveSwitch);
    notes.part()
}

/// A file that wants what exists.
pub(super) fn as_wanted(existing: &Existing) -> Wanted {
    let switches = existing.switches.iter().map(|(name, is)| (name.clone(), is.state.clone())).collect();
    let router = |(name, is): (&String, &ExistingRouter)| {
        let options = is.options.clone().unwrap_or_default();
        (name.clone(), Router { netns: is.netns.clone(), members: is.members.clone(), options })
    };
    Wanted { switches, routers: existing.routers.iter().map(router).collect(), ..Wanted::default() }
}
