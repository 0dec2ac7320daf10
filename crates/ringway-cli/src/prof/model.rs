//! `ringway prof model`: the cost of a packet by groups of functions.

use std::path::PathBuf;

use ringway_model::group::Attribution;
use ringway_model::profile::Profile;
use ringway_model::table::{Costs, text};
use serde_json::{Value, json};

use super::files::{GroupsArg, profile};
use crate::failure::Failure;
use crate::options::Json;

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
    json: Json,
}

const EXAMPLES: &str = "\
A sample belongs to the nearest caller that has a group; the flat rows below go by the sampled function alone. Ticks are those of the TSC,
and core cycles are ticks times the measured ratio. Functions that no rule names are listed, so that a file of groups can be completed.

Examples:
  ringway prof model ringway.prof                    # with the groups it was recorded for
  ringway prof model --groups my.groups a.prof       # with groups of your own
  ringway prof model --json a.prof | jq '.profiles[].costs.total'";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let (mut texts, mut objects) = (Vec::new(), Vec::new());
    for path in &args.files {
        let profile = profile(path)?;
        let groups = args.groups.of(&profile)?;
        let found = groups.attribute(&profile);
        let costs = Costs::from_attribution(&profile.about, groups.name(), &found);
        texts.push(format!(
            "{}: {}\n{}",
            path.display(),
            groups.about(),
            text::report(&profile.about, &costs, &found)
        ));
        objects.push(object(path, &profile, &costs, &found));
    }
    Ok(args.json.console().result(texts.join("\n").trim_end(), &json!({ "profiles": objects }))?)
}

fn object(path: &std::path::Path, profile: &Profile, costs: &Costs, found: &Attribution) -> Value {
    let unruled: Vec<Value> = found
        .unruled
        .iter()
        .take(100)
        .map(|u| json!({ "name": u.name, "file": u.file, "samples": u.samples, "other": u.other }))
        .collect();
    json!({ "file": path, "about": profile.about, "costs": costs, "unruled": unruled })
}
