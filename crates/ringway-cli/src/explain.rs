//! `ringway explain`: cause and cure of an error, by the number that stands behind its text.

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use crate::errors::{self, Code};
use crate::failure::Failure;
use crate::options::Json;

/// Say what causes an error, and what cures it
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The number, as E0102 or 102; without one, all errors are listed
    #[arg(value_name = "NUMBER")]
    number: Option<String>,

    #[command(flatten)]
    json: Json,
}

const EXAMPLES: &str = "\
Each error ends with its number, as [E0102]. A number stands for a kind of error; the text of an error says more about the case.

Examples:
  ringway explain E0102
  ringway explain             # all errors, a line each
  ringway explain --json      # the whole index, for programs";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let one = args.number.as_deref().map(found).transpose()?;
    let text = one.map_or_else(list, explanation);
    Ok(args.json.console().result(&text, &json!({ "errors": objects(one) }))?)
}

/// One error, or all of them by number, as objects.
fn objects(one: Option<Code>) -> Vec<Value> {
    let of = |area: &'static errors::Area| area.codes.iter().map(|code| (area.title, *code));
    let wanted = |code: &Code| one.is_none_or(|one| one == *code);
    let all = errors::INDEX.iter().flat_map(of).filter(|(_, code)| wanted(code));
    all.map(|(area, code)| object(area, code)).collect()
}

fn object(area: &str, code: Code) -> Value {
    json!({
        "code": code.to_string(),
        "area": area,
        "title": code.title,
        "cause": code.cause,
        "cure": code.cure,
    })
}

fn found(text: &str) -> Result<Code, Failure> {
    let digits = text.trim_start_matches(['E', 'e']);
    let number: Option<u16> = digits.parse().ok();
    errors::all().find(|code| Some(code.number) == number).ok_or_else(|| {
        let nearest = number.and_then(|n| errors::all().min_by_key(|code| code.number.abs_diff(n)));
        let nearest = nearest.map_or_else(String::new, |code| format!("; the nearest is {code}"));
        let what = format!("{text}: no error has this number{nearest}; `ringway explain` lists all");
        Failure::Usage(errors::command::BAD_VALUE, what)
    })
}

fn explanation(code: Code) -> String {
    format!("{code}: {}\n\nCause: {}\n\nCure: {}", code.title, code.cause, code.cure)
}

/// All errors, a line each, below the parts of the command that they belong to.
fn list() -> String {
    let area = |area: &errors::Area| {
        let lines: String = area.codes.iter().map(|code| format!("\n  {code}  {}", code.title)).collect();
        format!("{}:{lines}", area.title)
    };
    errors::INDEX.iter().map(area).collect::<Vec<_>>().join("\n\n")
}
