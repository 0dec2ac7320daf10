//! The difference in one router.

use crate::config::keys::{of_options, of_router, router_keys};
use crate::config::notes::Notes;
use crate::config::plan::{Part, Step};
use crate::config::state::{ExistingRouter, Router};

pub(super) fn made(name: &str, want: &Router) -> Part {
    let mut notes = Notes::of(name);
    notes.add("router", name.to_owned(), router_keys(want));
    notes.step(Step::MakeRouter(want.clone()));
    notes.part()
}

pub(super) fn changed(name: &str, want: &Router, is: &ExistingRouter, prune: bool) -> Part {
    let mut notes = Notes::of(name);
    if let Some(options) = &is.options
        && let Some(((key, to), (_, was))) =
            of_options(&want.options).iter().zip(&of_options(options)).find(|(to, was)| to != was)
    {
        notes.obstacle(format!(
            "{name}: {key} is {was} and the file says {to}, but a router stays as it was made; change the file, or remove the router first: \
             `ringway router del {name}`"
        ));
    }
    if want.netns != is.netns {
        notes.obstacle(format!(
            "{name}: it is in {} and the file says {}, but a router stays where it was made; change the file, or remove the router first: \
             `ringway router del {name}`",
            is.netns, want.netns
        ));
    }
    let joins: Vec<_> = want.members.difference(&is.members).cloned().collect();
    let leaves: Vec<_> = is.members.difference(&want.members).filter(|_| prune).cloned().collect();
    let after = &(&is.members | &want.members) - &leaves.iter().cloned().collect();
    if !is.has_process {
        notes.step(Step::StartProcess(want.clone()));
    }
    if !is.has_process || after != is.members {
        let with = |members, process: bool| {
            let mut keys = of_router(&Router { members, ..want.clone() });
            keys.push(("process", if process { "running" } else { "none" }.to_owned()));
            keys
        };
        notes.alter("router", name.to_owned(), with(is.members.clone(), is.has_process), with(after, true));
    }
    joins.into_iter().for_each(|member| notes.step(Step::Join(member)));
    leaves.into_iter().for_each(|member| notes.step(Step::Leave(member)));
    notes.part()
}

pub(super) fn removed(name: &str) -> Part {
    let mut notes = Notes::of(name);
    notes.remove("router", name.to_owned(), Vec::new());
    notes.step(Step::RemoveRouter);
    notes.part()
}
