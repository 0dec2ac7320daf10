//! `ringway prof predict`: a curve through some points of a sweep says what others measure; the groups of two devices say what both
//! cost, one behind the other.

use std::path::{Path, PathBuf};

use ringway_model::paper;
use ringway_model::predict::held_out::at;
use ringway_model::predict::{chain, chain_report, from_part, leave_one_out, page, report};
use ringway_model::sweep::Sweep;
use ringway_tester::report::text::table;
use serde_json::json;

use super::files::write;
use super::sweep::value;
use crate::console::Console;
use crate::errors;
use crate::failure::Failure;
use crate::words;

/// Predict the rates of a sweep from its other points, and compare; or of two devices in one thread; or check the paper's tables
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A file of ringway prof sweep
    #[arg(required_unless_present = "paper")]
    file: Option<PathBuf>,

    /// Predict from points with these values only [default: each point from all others]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = value, conflicts_with = "paper")]
    from: Vec<f64>,

    /// Predict loads that were not measured, too
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = value, conflicts_with = "paper")]
    at: Vec<f64>,

    /// Predict a device with this one behind it, in one thread: both files have groups
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "at", "page", "paper"])]
    then: Option<PathBuf>,

    /// Compare with this measurement of the two in one device
    #[arg(long, value_name = "FILE", requires = "then")]
    measured: Option<PathBuf>,

    /// Check the tables of the paper, and name each contradiction in them
    #[arg(long, conflicts_with = "file")]
    paper: bool,

    /// Write the predictions as a page
    #[arg(long, value_name = "FILE", conflicts_with = "paper")]
    page: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Errors are parts of what was measured. Points between others and points at the ends are summed up apart.

Examples:
  ringway prof predict sizes.json                    # each size from all others
  ringway prof predict sizes.json --from 64,1518     # all sizes from two
  ringway prof predict flows.json --at 100k          # a number of flows that was not measured
  ringway prof predict bridge.json --then router.json --measured both.json
  ringway prof predict --paper                       # where the paper's tables contradict each other";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let Some(file) = &args.file else { return of_paper(args.json) };
    let of = |e: String| Failure::Other(errors::files::WRONG_CONTENT, format!("{}: {e}", file.display()));
    let sweep = load(file)?;
    if let Some(then) = &args.then {
        let both = args.measured.as_deref().map(load).transpose()?;
        let found = chain(&sweep, &load(then)?, both.as_ref()).map_err(of)?;
        let text = chain_report::text(&found);
        return Ok(Console { json: args.json }.result(text.trim_end(), &chain_report::json(&found))?);
    }
    let found = match args.from[..] {
        [] => leave_one_out(&sweep),
        _ => from_part(&sweep, &args.from),
    };
    let found = found.map_err(of)?;
    let new = if args.at.is_empty() { Vec::new() } else { at(&sweep, &args.at).map_err(of)? };
    let (text, object) = (report::text(&sweep, &found, &new), report::json(&sweep, &found, &new));
    Console { json: args.json }.result(text.trim_end(), &object)?;
    match &args.page {
        Some(file) => write(file, &page::html(&sweep, &found, &words::line())),
        None => Ok(()),
    }
}

fn load(file: &Path) -> Result<Sweep, Failure> {
    Sweep::load(file).map_err(|e| Failure::Other(errors::files::WRONG_CONTENT, e))
}

/// All checks of the paper's tables, contradictions by name.
fn of_paper(json: bool) -> Result<(), Failure> {
    let checks = paper::checks();
    let rows: Vec<Vec<String>> = checks
        .iter()
        .map(|c| {
            let holds = if c.holds() { "agrees".to_owned() } else { format!("CONTRADICTS: {}", c.note) };
            vec![
                c.name.clone(),
                format!("{:.3}", c.stated),
                format!("{:.3}", c.derived),
                c.unit.into(),
                holds,
            ]
        })
        .collect();
    let wrong = paper::inconsistencies();
    let text = format!(
        "{}{} of {} checks find a contradiction",
        table(&["check", "stated", "derived", "unit", "result"], &rows),
        wrong.len(),
        checks.len()
    );
    let names: Vec<&str> = wrong.iter().map(|c| c.name.as_str()).collect();
    Ok(Console { json }.result(&text, &json!({ "checks": checks, "contradictions": names }))?)
}
