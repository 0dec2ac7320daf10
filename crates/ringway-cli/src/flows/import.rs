//! `ringway flows import`

use std::fs;
use std::path::{Path, PathBuf};

use ringway_flows::compile::{self, Source, compile};
use ringway_flows::import::{Failed, Imported, Left, Options, import};
use ringway_traffic::number;
use ringway_traffic::units::many;
use ringway_wire::pcapfile::Reader;
use serde_json::json;

use crate::console::note;
use crate::errors;
use crate::failure::Failure;
use crate::options::Json;

/// Write stories from a capture file, and tell line by line what they leave out
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The capture: pcap or pcapng of an Ethernet interface
    #[arg(value_name = "CAPTURE")]
    capture: PathBuf,

    /// Write the stories to this file, not to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Messages of more bytes become random bytes of the same number (at most 262144)
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = literal)]
    literal: u64,

    /// Let ends think as long as they did in the capture
    #[arg(long)]
    think: bool,

    #[command(flatten)]
    json: Json,
}

const EXAMPLES: &str = "\
Each conversation of TCP or UDP becomes a flow with the same payload. Conversations that look alike become one story, and a mix has the stories
by their frequency. Addresses of the capture come nowhere. Payload comes as it is: look for passwords and names before you pass a story on.

Examples:
  ringway flows import office.pcap -o office.flow
  ringway flows import --think --literal 65536 call.pcapng > call.flow
  ringway flows import office.pcap -o office.flow --json | jq .left[]";

fn literal(word: &str) -> Result<u64, String> {
    let bytes = number::count(word)?;
    let most = Options::MAX_LITERAL;
    if bytes > most { Err(format!("accepted: at most {most}")) } else { Ok(bytes) }
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let mut reader = Reader::open(&args.capture)?;
    let name = args.capture.display();
    let options = Options { literal: args.literal, think: args.think };
    let imported = import(&mut reader, &options).map_err(|why| refused(&args.capture, why))?;
    // What is written can be run.
    let source =
        Source { name: "import", text: &imported.story, read: &|_| Err("no other files".to_owned()) };
    compile(&source, &compile::Options::default()).map_err(|errors| {
        Failure::Other(
            errors::flows::FAULT,
            format!("{name}: its story is wrong, which is a fault of Ringway: {errors}"),
        )
    })?;
    if let Some(file) = &args.output {
        fs::write(file, &imported.story).map_err(|why| {
            Failure::Other(
                errors::files::UNWRITABLE,
                format!("{}: it can't be written: {why}", file.display()),
            )
        })?;
    }
    conclude(args, &imported)
}

/// A line for each thing that was left out.
fn tell(left: &[Left]) {
    for left in left {
        note(&left.to_string());
    }
}

fn refused(capture: &Path, why: Failed) -> Failure {
    match why {
        Failed::File(why) => why.into(),
        Failed::Nothing(ref left) => {
            tell(left);
            Failure::Other(errors::flows::NOTHING_IMPORTED, format!("{}: {why}", capture.display()))
        }
        why => Failure::Other(errors::files::WRONG_CONTENT, format!("{}: {why}", capture.display())),
    }
}

/// The story, or where it is and what it has.
fn conclude(args: &Args, imported: &Imported) -> Result<(), Failure> {
    let Imported { story, stories, conversations, packets, left } = imported;
    let mut object = json!({
        "capture": args.capture,
        "packets": packets,
        "conversations": conversations,
        "stories": stories,
        "left": left.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    let count = if *stories == 1 { "1 story".to_owned() } else { format!("{stories} stories") };
    let from = format!("{} of {}", many(*conversations, "conversation"), many(*packets, "packet"));
    let text = format!("{}: {from} became {count}", args.capture.display());
    let console = args.json.console();
    if !console.json {
        tell(left);
    }
    if args.output.is_some() {
        return Ok(console.result(&text, &object)?);
    }
    object["story"] = story.as_str().into();
    Ok(console.result(story.trim_end(), &object)?)
}
