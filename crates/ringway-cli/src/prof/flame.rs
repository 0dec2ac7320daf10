//! `ringway prof flame`: a flame graph in the colours of groups.

use std::path::PathBuf;

use ringway_model::flame::{Merged, Selection, Title, flame_graph, folded};
use ringway_model::profile::Profile;
use ringway_model::table::Costs;
use ringway_model::table::graph_page::graph_page;
use ringway_model::table::page::Entry;
use ringway_tester::report::text::grouped;
use serde_json::json;

use super::files::{GroupsArg, Page, profile, write};
use crate::failure::Failure;
use crate::options::Json;
use crate::words;

/// Draw a flame graph: an image for a browser, or folded text
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A profile, as ringway prof record writes it
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    groups: GroupsArg,

    #[command(flatten)]
    chosen: Chosen,

    /// Write the image to this file; default: the profile's name with .svg
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print folded text for other tools, and draw nothing
    #[arg(long, conflicts_with_all = ["output", "json", "page"])]
    folded: bool,

    #[command(flatten)]
    page: Page,

    #[command(flatten)]
    json: Json,
}

/// What is drawn.
#[derive(Debug, clap::Args)]
pub(super) struct Chosen {
    /// Draw only threads whose name contains this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    thread: String,

    /// Draw only samples of this group
    #[arg(long, value_name = "GROUP")]
    only: Option<String>,

    /// Draw CPUs without work too
    #[arg(long)]
    idle: bool,
}

impl Chosen {
    pub(super) fn selection(&self) -> Selection {
        Selection { thread: self.thread.clone(), group: self.only.clone(), idle: self.idle }
    }
}

const EXAMPLES: &str = "\
In the image a click widens a function, Escape shows all again, and / finds names. It has no link to anywhere.

Examples:
  ringway prof flame ringway.prof -o out.svg
  ringway prof flame --only free ringway.prof        # where buffers are released
  ringway prof flame --folded ringway.prof | sort    # for other tools
  ringway prof flame --page out.html ringway.prof    # with the costs by group below";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let profile = profile(&args.file)?;
    let groups = args.groups.of(&profile)?;
    let found = groups.attribute(&profile);
    let mut merged = Merged::default();
    merged.add(&profile, &found, &args.chosen.selection());
    let console = args.json.console();
    if args.folded {
        return Ok(console.line(folded(&merged).trim_end())?);
    }
    let output = args.output.clone().unwrap_or_else(|| args.file.with_extension("svg"));
    let title = title(&format!("{}: {}", profile.about.target, groups.about()), &[&profile]);
    let image = flame_graph(&merged, &title);
    write(&output, &image)?;
    if let Some(path) = &args.page.page {
        let costs = Costs::from_attribution(&profile.about, groups.name(), &found);
        let name = args.file.display().to_string();
        let entry = Entry { name: &name, about: &profile.about, costs: &costs, found: &found };
        write(path, &graph_page("Flame graph", &words::line(), &[entry], &image, &[]))?;
    }
    let (drawn, left) = (merged.samples(0), merged.left_out());
    let text = format!("{}: {} samples drawn, {} left out", output.display(), grouped(drawn), grouped(left));
    Ok(console.result(&text, &json!({ "file": output, "samples": drawn, "left_out": left }))?)
}

/// What stands above an image.
pub(super) fn title(title: &str, profiles: &[&Profile]) -> Title {
    let line = |p: &&Profile| {
        let about = &p.about;
        let (c, unknown) = (&about.conditions, about.gaps.unknown);
        format!(
            "{}: {c}, {}; tier {}, {} Hz, n = {}; {unknown} samples with a nameless function",
            c.host,
            c.date,
            about.tier,
            about.frequency,
            grouped(p.tree.samples())
        )
    };
    Title { title: title.to_owned(), lines: profiles.iter().map(line).collect() }
}
