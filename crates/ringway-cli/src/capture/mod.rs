//! `ringway capture`: prints what a port receives or a capture file holds, or writes it to a capture file.

mod args;
mod file;
mod input;
mod live;
mod out;
mod session;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::{Duration, Instant};

use ringway::{Filter, Port, PortName};
use ringway_engine::Signals;
use ringway_traffic::number;
use ringway_wire::pcapfile::MAX_RECORD;

use crate::console::{note, served};
use crate::errors;
use crate::failure::Failure;
use crate::{counters, stop};
pub(crate) use args::Args;
use input::{Input, source};
use live::Live;
use out::Out;
use session::Capture;
pub(crate) use session::{Change, Steering, Taken};

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let to_stdout = args.file.as_deref() == Some(Path::new("-"));
    check(args, to_stdout)?;
    let snaplen = if args.snaplen == 0 { MAX_RECORD } else { args.snaplen };
    let filter = expression(args).as_deref().map(Filter::compile).transpose()?;
    let signals = stop::signals()?;
    let mut input = Input::open(args)?;
    let nanoseconds = matches!(&input, Input::File(file) if file.has_nanoseconds());
    let out = match &args.file {
        None => Out::lines(args.json.json, nanoseconds),
        Some(_) if to_stdout => Out::to_stdout(snaplen)?,
        Some(file) => Out::create(file, snaplen)?,
    };
    if let Input::Port(live) = &input {
        args.link.wait(live.port(), &signals)?;
    }
    let (name, what) = input.info();
    note(&format!(
        "{} {name} [{}]",
        if matches!(input, Input::Port(_)) { "capturing on" } else { "reading" },
        served(what, args.verbose.verbose)
    ));
    let start = Instant::now();
    let end = args.seconds.map(|s| start + Duration::from_secs_f64(s));
    let mut capture = Capture::new(filter, out, args.count, end);
    let ended = match &mut input {
        Input::Port(live) => live.run(&mut capture, &signals),
        Input::File(file) => file.run(&mut capture, &signals),
    };
    // What was captured before a failure is worth having.
    let flushed = capture.out.flush();
    if !matches!(ended, Err(Failure::OutputClosed)) {
        capture.conclude(args.json.json, input.info(), &input.counters(), start.elapsed())?;
    }
    ended.and(flushed)
}

/// A capture file that has its header, and no frames yet.
pub(crate) struct Target(Out);

/// What a capture into a file takes at its start, and what may change that.
pub(crate) struct Choice {
    pub(crate) filter: Option<Filter>,
    /// Bytes of each frame.
    pub(crate) snaplen: u32,
    pub(crate) steering: Option<Steering>,
}

impl Target {
    /// Makes or opens the file. Its header allows `snaplen` bytes of a frame.
    pub(crate) fn create(file: &Path, snaplen: u32) -> Result<Self, Failure> {
        let mut out = Out::create(file, snaplen)?;
        out.flush()?;
        Ok(Self(out))
    }
}

/// Writes what an open port receives to a file, until the port ends, a signal comes, or the reader of the file closes it. What the port
/// lost goes to standard error, by name.
pub(crate) fn to_file(port: Port, choice: Choice, to: Target, signals: &Signals) -> Result<(), Failure> {
    let mut live = Live::of(port)?;
    let mut capture = Capture::new(choice.filter, to.0, None, None);
    if let Some(steering) = choice.steering {
        capture = capture.steered(choice.snaplen, steering);
    }
    let ended = live.run(&mut capture, signals).and_then(|()| capture.out.flush());
    counters::drops(&live.port().counters()).iter().for_each(|line| note(line));
    ended
}

/// Refuses options that do not go together.
fn check(args: &Args, to_stdout: bool) -> Result<(), Failure> {
    let refused = |what: &str| Err(Failure::Usage(errors::command::CONFLICT, what.into()));
    if to_stdout && args.json.json {
        return refused("-w - and --json both write to standard output; name a file after -w");
    }
    if to_stdout && io::stdout().is_terminal() {
        return refused("-w - writes a pcap file to standard output; pipe it into another command");
    }
    if let (Some(from), Some(to)) = (source(args), &args.file)
        && same_file(&from, to)
    {
        return refused(&format!("{}: this file is read; name another one after -w", to.display()));
    }
    if args.port.is_none() && args.read.is_none() {
        return Err(Failure::Usage(errors::command::MISSING, input_to_type(args.words.first())));
    }
    match args.words.first() {
        Some(word) if args.no_names > 0 && number::count(word).is_ok() => {
            refused(&format!("-n means no names, as in tcpdump; the number of frames is -c {word}"))
        }
        _ => Ok(()),
    }
}

/// What to type where neither a port nor a file is named: the first word may be one.
fn input_to_type(word: Option<&String>) -> String {
    let word = word.map_or("", String::as_str);
    let path = Path::new(word);
    if path.is_file() || path.extension().is_some_and(|e| e == "pcap" || e == "pcapng") {
        return format!("{word}: not a filter; to read this capture file, type -r {word}");
    }
    match word.parse::<PortName>() {
        Ok(PortName::Auto { interface, .. }) if !Path::new("/sys/class/net").join(&interface).exists() => {}
        Ok(_) => return format!("{word}: not a filter; to receive on this port, type -i {word}"),
        Err(_) => {}
    }
    "no input is named; type -i PORT, or -r FILE for a capture file".into()
}

/// Whether two paths lead to one file that exists.
fn same_file(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// The filter: that of -f, or the words at the end.
fn expression(args: &Args) -> Option<String> {
    let words = (!args.words.is_empty()).then(|| args.words.join(" "));
    args.filter.clone().or(words)
}
