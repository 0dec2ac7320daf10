//! `ringway flows disasm`

use ringway_flows::code::{Bundle, list};
use serde_json::json;

use super::source::{Story, flow};
use crate::failure::Failure;
use crate::options::Json;

/// List the byte code of both ends of each flow
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    story: Story,

    /// Only this flow
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,

    #[command(flatten)]
    json: Json,
}

const EXAMPLES: &str = "\
Each line has the number of an instruction, its name and its operands. Lines to which others jump have a label.

Examples:
  ringway flows disasm dns --flow lookup
  ringway flows disasm office.flow -D size=64KiB";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let bundle = args.story.compile()?;
    let chosen = match &args.flow {
        None => (0..bundle.flows.len()).collect(),
        Some(name) => vec![flow(&bundle, Some(name))?],
    };
    let listings: Vec<(String, String)> = chosen.into_iter().map(|at| listing(&bundle, at)).collect();
    let text: String = listings.iter().map(|(_, text)| text.as_str()).collect();
    let objects: Vec<_> =
        listings.iter().map(|(flow, text)| json!({ "flow": flow, "listing": text })).collect();
    Ok(args.json.console().result(text.trim_end(), &json!({ "flows": objects }))?)
}

/// The name of a flow, and its programs.
fn listing(bundle: &Bundle, at: usize) -> (String, String) {
    let only = Bundle { flows: vec![bundle.flows[at].clone()], ..bundle.clone() };
    (bundle.name(bundle.flows[at].name).to_owned(), list(&only))
}
