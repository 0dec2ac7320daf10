//! `ringway prof model`: the cost of a packet by groups of functions.

use std::path::{Path, PathBuf};

use ringway_model::group::Attribution;
use ringway_model::profile::Profile;
use ringway_model::table::page::{Entry, page};
use ringway_model::table::{Costs, text};
use serde_json::{Value, json};

use super::files::{GroupsArg, Page, profile, write};
use crate::failure::Failure;
use crate::options::Json;
use crate::words;

/// Print the cost of a packet by groups of functions, with error bars
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Profiles, as ringway prof record writes them
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    groups: GroupsArg,

    #[command(flatten)]
    page: Page,

    #[command(flatten)]
    json: Json,
}

const EXAMPLES: &str = "\
A sample belongs to the nearest caller that has a group; the flat rows below go by the sampled function alone. Ticks are those of the TSC,
and core cycles are ticks times the measured ratio. Functions that no rule names are listed, so that a file of groups can be completed.

Examples:
  ringway prof model ringway.prof                    # with the groups it was recorded for
  ringway prof model --groups my.groups a.prof       # with groups of your own
  ringway prof model --page sizes.html 64.prof 1500.prof   # a bar for each
  ringway prof model --json a.prof | jq '.profiles[].costs.total'";

/// A profile with its costs.
struct Modelled {
    name: String,
    profile: Profile,
    about_groups: String,
    costs: Costs,
    found: Attribution,
}

impl Modelled {
    fn entry(&self) -> Entry<'_> {
        Entry { name: &self.name, about: &self.profile.about, costs: &self.costs, found: &self.found }
    }
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let all: Vec<Modelled> = args.files.iter().map(|path| modelled(args, path)).collect::<Result<_, _>>()?;
    if let Some(path) = &args.page.page {
        let entries: Vec<Entry<'_>> = all.iter().map(Modelled::entry).collect();
        write(path, &page("Cycles a packet", &words::line(), &entries))?;
    }
    let text = |m: &Modelled| {
        format!("{}: {}\n{}", m.name, m.about_groups, text::report(&m.profile.about, &m.costs, &m.found))
    };
    let texts: Vec<String> = all.iter().map(text).collect();
    let objects: Vec<Value> = all.iter().map(object).collect();
    Ok(args.json.console().result(texts.join("\n").trim_end(), &json!({ "profiles": objects }))?)
}

fn modelled(args: &Args, path: &Path) -> Result<Modelled, Failure> {
    let profile = profile(path)?;
    let groups = args.groups.of(&profile)?;
    let found = groups.attribute(&profile);
    let costs = Costs::from_attribution(&profile.about, groups.name(), &found);
    Ok(Modelled {
        name: path.display().to_string(),
        profile,
        about_groups: groups.about().to_owned(),
        costs,
        found,
    })
}

fn object(m: &Modelled) -> Value {
    let unruled = m.found.unruled.iter().take(UNRULED);
    let unruled: Vec<Value> = unruled
        .map(|u| json!({ "name": u.name, "file": u.file, "samples": u.samples, "other": u.other }))
        .collect();
    json!({ "file": m.name, "about": m.profile.about, "costs": m.costs, "unruled": unruled })
}

/// So many functions without a rule are printed.
const UNRULED: usize = 100;
