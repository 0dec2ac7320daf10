//! `ringway demo`: what Ringway is for, shown on this machine.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ringway_bench::demo::{self, Event, Options, Outcome, page};
use ringway_bench::suite::table::number;
use serde_json::json;

use crate::bench::ProgressLine;
use crate::console::{Console, note};
use crate::durations::seconds;
use crate::errors;
use crate::failure::Failure;
use crate::stop;
use crate::words;

/// Forward real traffic beside the kernel's bridge and libpcap, and write a report
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Length of each flood
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,

    /// How often each system is flooded; as root there are three
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,

    /// Where to write the page
    #[arg(long, value_name = "FILE", default_value = "ringway-demo.html")]
    out: PathBuf,

    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Replays the captures of $RINGWAY_DATA/pcap/real, ../shared/data/pcap/real or ./data, or else frames that it makes. All
of it happens in a network namespace that is deleted at the end; without root, over pipes. It takes about 30 seconds
and fails when a frame is lost or damaged at low load.

Keys of --json, which stay as they are; new ones may be added:
  page          the file of the page
  result
    host, kernel, cpu, cores, load   the machine, and its load before the start
    date         when it began, UTC
    over         what joined the systems to the traffic: veth or pipe
    replay       what was replayed: source, files, frames, bytes, skipped[] (reason, frames)
    integrity[]  system, sent, intact, reordered, missing, foreign (damaged or doubled)
    flood[]      rows, with the keys of those of ringway bench: system, median, min, max, samples
    ratios[]     to, times: how many times as fast as another system Ringway was
    missing[]    systems without a number: case, system, reason
    drops[]      frames that Ringway lost in a flood: place, reason, frames, help
    left_out[], interrupted, ok      what this run could not show, and whether all is well

Examples:
  sudo ringway demo                                # writes ringway-demo.html
  sudo ringway demo --seconds 0.2 --runs 1 --json  # quick, for programs
  ringway demo --out /tmp/page.html                # without root: pipes only";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let console = Console { json: args.json };
    let options = Options { seconds: args.seconds, runs: args.runs, signals: stop::signals()? };
    let file = PageFile::open(&args.out)?;
    let mut progress = ProgressLine::new();
    let mut closed = Ok(());
    let outcome = demo::run(&options, |event| match event {
        Event::Says(text) => {
            progress.clear();
            closed = console.line(&text).and(std::mem::replace(&mut closed, Ok(())));
        }
        Event::Step(step) => progress.show(*step),
    });
    progress.clear();
    closed?;
    let outcome = outcome.map_err(|e| Failure::Other(errors::testers::BENCHMARK, e.to_string()))?;
    file.write(&page::html(&outcome, &words::line()))?;
    if let Some(warning) = outcome.conditions.warning().filter(|_| args.json) {
        note(&format!("warning: {warning}"));
    }
    let object = json!({ "page": args.out, "result": outcome });
    console.result(&format!("{}\nReport: {}", summary(&outcome), args.out.display()), &object)?;
    verdict(&outcome)
}

/// The file of the page, open from the start: half a minute later is too late to hear that it can't be written.
struct PageFile<'a> {
    path: &'a Path,
    file: File,
    /// Made here, and empty: taken away when there is no page for it.
    empty: bool,
}

impl<'a> PageFile<'a> {
    fn open(path: &'a Path) -> Result<Self, Failure> {
        let options = || {
            let mut options = File::options();
            options.write(true);
            options
        };
        let (opened, empty) = match options().create_new(true).open(path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => (options().open(path), false),
            made => (made, true),
        };
        opened.map(|file| Self { path, file, empty }).map_err(|e| unwritable(path, &e))
    }

    fn write(mut self, text: &str) -> Result<(), Failure> {
        self.empty = false;
        let mut whole = || {
            // Only files of a disk have a length.
            if self.file.metadata()?.is_file() {
                self.file.set_len(0)?;
            }
            self.file.write_all(text.as_bytes())
        };
        whole().map_err(|e| unwritable(self.path, &e))
    }
}

impl Drop for PageFile<'_> {
    fn drop(&mut self) {
        if self.empty {
            let _ = fs::remove_file(self.path);
        }
    }
}

fn unwritable(path: &Path, why: &io::Error) -> Failure {
    Failure::Other(
        errors::files::UNWRITABLE,
        format!("{}: the page can't be written: {why}; name another file with --out", path.display()),
    )
}

fn summary(outcome: &Outcome) -> String {
    let mut lines = vec![format!("  {:<14} {:>7}   {:>7} - {}", "Mpps", "median", "min", "max")];
    for row in &outcome.flood {
        let [median, min, max] = [row.median, row.min, row.max].map(number);
        lines.push(format!("  {:<14} {median:>7}   {min:>7} - {max}", row.system));
    }
    let ratios = outcome.ratios.iter().map(|r| format!("{:.1} times {}", r.times, r.to)).collect::<Vec<_>>();
    if !ratios.is_empty() {
        lines.push(format!("\nRingway forwards {}.", ratios.join(", ")));
    }
    lines.extend(outcome.conditions.warning().map(|why| format!("Careful: {why}.")));
    lines.extend(
        outcome
            .drops
            .iter()
            .map(|d| format!("Lost in its last flood, {}: {} {} ({})", d.place, d.frames, d.reason, d.help)),
    );
    lines.extend(outcome.missing.iter().map(|m| format!("Missing: {} {}: {}", m.system, m.case, m.reason)));
    lines.extend(outcome.left_out.iter().map(|what| format!("Left out: {what}")));
    lines.push(format!("\n{}", outcome.conditions));
    lines.join("\n")
}

fn verdict(outcome: &Outcome) -> Result<(), Failure> {
    use errors::{command::INTERRUPTED, testers};
    let refuse = |code, why: String| Err(Failure::Other(code, why));
    if outcome.interrupted {
        return refuse(INTERRUPTED, "interrupted: the results are incomplete".into());
    }
    if let Some(p) = outcome.integrity.iter().find(|p| !p.integrity.is_intact()) {
        return refuse(
            testers::DAMAGED,
            format!("{} at low load: {}", p.system, demo::sentence(&p.integrity)),
        );
    }
    match outcome.missing.iter().find(|m| m.is_failure() && m.runs == 0) {
        Some(m) => refuse(testers::BENCHMARK, format!("{} {}: {}", m.system, m.case, m.reason)),
        None if !outcome.ok => refuse(testers::BENCHMARK, "nothing could be shown here".into()),
        None => Ok(()),
    }
}
