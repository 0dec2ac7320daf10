//! `ringway prof diff`: what changed from one profile to another, and whether it is more than chance.

use std::path::PathBuf;

use ringway_model::flame::{Merged, differential};
use ringway_model::table::graph_page::graph_page;
use ringway_model::table::page::Entry;
use ringway_model::table::{Change, Costs, changes, text};
use serde_json::json;

use super::files::{GroupsArg, Page, profile, write};
use super::flame::{Chosen, title};
use crate::console::note;
use crate::failure::Failure;
use crate::options::Json;
use crate::words;

/// Compare two profiles: costs by group with their significance, and a differential flame graph
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The profile of before
    #[arg(value_name = "BEFORE")]
    before: PathBuf,

    /// The profile of after
    #[arg(value_name = "AFTER")]
    after: PathBuf,

    #[command(flatten)]
    groups: GroupsArg,

    #[command(flatten)]
    chosen: Chosen,

    /// Write a flame graph of AFTER to this file: red grew, blue shrank
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    page: Page,

    #[command(flatten)]
    json: Json,
}

const EXAMPLES: &str = "\
A group changed when the intervals of both profiles do not overlap. Ticks compare where both profiles counted packets, else shares.
Profiles of different machines, kernels or sources of samples compare with a warning.

Examples:
  ringway prof diff before.prof after.prof
  ringway prof diff before.prof after.prof -o diff.svg
  ringway prof diff --page diff.html before.prof after.prof
  ringway prof diff --json before.prof after.prof | jq '.changes[] | select(.significant)'";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let profiles = [profile(&args.before)?, profile(&args.after)?];
    let groups = args.groups.of(&profiles[1])?;
    let found = profiles.each_ref().map(|p| groups.attribute(p));
    let costs = [0, 1].map(|n| Costs::from_attribution(&profiles[n].about, groups.name(), &found[n]));
    let warnings = profiles[0].about.differences(&profiles[1].about);
    warnings.iter().for_each(|line| note(&format!("prof: warning: {line}")));
    let changes: Vec<Change> = changes(&costs[0], &costs[1]);
    if args.output.is_some() || args.page.page.is_some() {
        let mut merged = Merged::default();
        (0..2).for_each(|n| merged.add(&profiles[n], &found[n], &args.chosen.selection()));
        let names = [&args.before, &args.after].map(|file| file.display().to_string());
        let said = format!("{} after {}", names[1], names[0]);
        let image = differential(&merged, &title(&said, &[&profiles[0], &profiles[1]]));
        if let Some(output) = &args.output {
            write(output, &image)?;
        }
        if let Some(path) = &args.page.page {
            let entry = |n: usize| Entry {
                name: &names[n],
                about: &profiles[n].about,
                costs: &costs[n],
                found: &found[n],
            };
            let entries = [entry(0), entry(1)];
            write(path, &graph_page("What changed", &words::line(), &entries, &image, &changes))?;
        }
    }
    let object = json!({ "warnings": warnings, "before": costs[0], "after": costs[1], "changes": changes, "image": args.output });
    Ok(args.json.console().result(text::changes(&costs, &changes).trim_end(), &object)?)
}
