//! `ringway flows stories`

use ringway_flows::run::stories::{ALL, Shipped, find};
use serde_json::{Value, json};

use crate::errors;
use crate::failure::Failure;
use crate::options::Json;

/// List the stories that ship, or print the text of one
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Print the text of this one
    #[arg(value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    json: Json,
}

const EXAMPLES: &str = "\
All commands of ringway flows take the name of a story for a file. To change a story, write its text to a file.

Examples:
  ringway flows stories
  ringway flows stories ftp > my-ftp.flow";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let console = args.json.console();
    let Some(name) = &args.name else {
        let lines: Vec<String> = ALL.iter().map(line).collect();
        let objects: Vec<Value> = ALL.iter().map(|story| object(story, false)).collect();
        return Ok(console.result(&lines.join("\n"), &json!({ "stories": objects }))?);
    };
    let names = || ALL.map(|story| story.name).join(", ");
    let story = find(name).ok_or_else(|| {
        Failure::Usage(
            errors::command::BAD_VALUE,
            format!("{name}: no story that ships has this name; there are {}", names()),
        )
    })?;
    Ok(console.result(story.text.trim_end(), &json!({ "stories": [object(&story, true)] }))?)
}

fn line(story: &Shipped) -> String {
    let flows: Vec<&str> = story.flows().collect();
    format!("{:<10} {}\n{:10} {}", story.name, story.about(), "", flows.join(", "))
}

fn object(story: &Shipped, with_text: bool) -> Value {
    let flows: Vec<&str> = story.flows().collect();
    let mut object = json!({ "name": story.name, "about": story.about(), "flows": flows });
    if with_text {
        object["text"] = story.text.into();
    }
    object
}
