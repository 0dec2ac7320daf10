//! `ringway capture`: prints what a port receives or a capture file holds, or writes it to a capture file.

mod file;
mod live;
mod out;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ringway::{Filter, PcapMode, PortCounters, PortName};
use ringway_engine::Signals;
use ringway_traffic::number;
use ringway_traffic::units::many;
use ringway_wire::pcapfile::MAX_RECORD;
use serde_json::json;

use crate::console::{note, served};
use crate::failure::Failure;
use crate::options::{Json, LinkWait, Raw, Verbose};
use crate::{bench, counters, stop};
use file::Recording;
use live::Live;
use out::Out;

/// Print the frames that a port receives or a file holds, or write them to a file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("wait", |wait| wait.short(None)),
    mut_arg("verbose", |verbose| verbose.help("Say at the start all that there is to say of the port")))]
pub(crate) struct Args {
    /// The port to receive on; frames that the interface would give to the host are taken from it
    #[arg(short = 'i', value_name = "PORT")]
    port: Option<String>,

    /// Read a capture file, or with - standard input: at once, with the times of the file (as -i pcap:FILE)
    #[arg(short = 'r', value_name = "FILE", conflicts_with = "port")]
    read: Option<PathBuf>,

    /// Write a pcap file with nanosecond times, or with - to standard output, instead of printing
    #[arg(short = 'w', value_name = "FILE")]
    file: Option<PathBuf>,

    /// Stop after so many frames (k, M, G) that match
    #[arg(short = 'c', value_name = "COUNT", value_parser = number::count)]
    count: Option<u64>,

    /// For habits of tcpdump: it changes nothing, since addresses and ports are always printed as numbers
    #[arg(short = 'n', action = clap::ArgAction::Count)]
    no_names: u8,

    /// Bytes of each frame to write; 0 for all
    #[arg(short, long, value_name = "BYTES", default_value_t = MAX_RECORD, requires = "file",
        value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_RECORD)))]
    snaplen: u32,

    /// Stop after so long
    #[arg(long, value_name = "S", value_parser = bench::seconds)]
    seconds: Option<f64>,

    /// Only frames that match, in the language of tcpdump (pcap-filter(7)); the others are counted and forgotten
    #[arg(short, long, value_name = "EXPR")]
    filter: Option<String>,

    /// The same as -f, as words at the end
    #[arg(value_name = "EXPR", conflicts_with = "filter")]
    words: Vec<String>,

    /// Only frames to addresses of the interface and to groups, not those to other stations
    #[arg(short = 'p', long)]
    no_promiscuous_mode: bool,

    #[command(flatten)]
    raw: Raw,

    #[command(flatten)]
    link: LinkWait,

    #[command(flatten)]
    verbose: Verbose,

    #[command(flatten)]
    json: Json,
}

const EXAMPLES: &str = "\
Frames are printed a line each: time of day (UTC), addresses, protocol, bytes of payload, length without FCS. The summary
goes to standard error: frames captured, frames that did not match, and what the port lost, by name. Ctrl-C ends, and so
does the end of a capture file.

A capture file is read at once, and its frames keep their times, also the nanoseconds. pcap:FILE@x2, pcap:FILE@loop and
files inside tap:, trace: or fault: are replayed: their frames get the times at which they come.

A port takes its frames: what is captured on ebpf:eth0 does not reach the host. To look on while the host goes on working,
put a tap around the port of a bridge.

Keys of --json, which stay as they are; new ones may be added:
  command, port, backend, seconds
  captured, bytes   frames that were printed or written, and their bytes
  not_matched       frames that the filter did not want
  counters          of the port: rx and tx, with the keys of ringway stats --json

Examples:
  ringway capture -i eth0 -c 10                        # print ten frames
  ringway capture -i eth0 -f 'tcp port 443' -w a.pcap  # write what matches, until Ctrl-C
  ringway capture -r a.pcap -w b.pcap udp              # the frames of a file that match
  ringway capture -i 'pipe:x}1' -w - | tcpdump -nr -   # for other tools
  ringway bridge -i tap:file=a.pcap,port=eth0 -i ebpf:eth0^  # write, and pass on to the host";

/// How often a file is written out while frames come.
const FLUSH: Duration = Duration::from_secs(1);

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
    let mut capture = Capture::new(filter, out, args, start);
    let ended = match &mut input {
        Input::Port(live) => live.run(&mut capture, &signals),
        Input::File(file) => file.run(&mut capture, &signals),
    };
    // What was captured before a failure is worth having.
    let flushed = capture.out.flush();
    if !matches!(ended, Err(Failure::OutputClosed)) {
        capture.conclude(args.json.json, &input, start.elapsed())?;
    }
    ended.and(flushed)
}

/// Refuses options that do not go together.
fn check(args: &Args, to_stdout: bool) -> Result<(), Failure> {
    let refused = |what: &str| Err(Failure::Usage(what.into()));
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
        return refused(&input_to_type(args.words.first()));
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

/// Where frames come from.
enum Input {
    Port(Live),
    File(Recording),
}

/// The capture file that is read, if frames do not come from a port.
fn source(args: &Args) -> Option<PathBuf> {
    let Some(port) = &args.port else { return args.read.clone() };
    match port.parse() {
        Ok(PortName::Pcap { file, mode: PcapMode::Read { speed: None | Some(1.0), repeat: false } }) => {
            Some(file)
        }
        _ => None,
    }
}

impl Input {
    fn open(args: &Args) -> Result<Self, Failure> {
        match (source(args), &args.port) {
            (Some(file), _) => Ok(Self::File(Recording::open(&file)?)),
            (None, port) => {
                let name = port.as_deref().unwrap_or_default();
                Ok(Self::Port(Live::open(name, args.raw.raw, !args.no_promiscuous_mode)?))
            }
        }
    }

    /// Name, and what serves it.
    fn info(&self) -> (&str, &str) {
        match self {
            Self::Port(live) => (&live.port().info().name, &live.port().info().backend),
            Self::File(file) => (file.name(), "a capture file with its times"),
        }
    }

    fn counters(&self) -> PortCounters {
        match self {
            Self::Port(live) => live.port().counters(),
            Self::File(file) => file.counters(),
        }
    }
}

/// A capture under way.
struct Capture {
    filter: Option<Filter>,
    out: Out,
    end: Option<Instant>,
    left: u64,
    captured: u64,
    bytes: u64,
    ignored: u64,
}

impl Capture {
    fn new(filter: Option<Filter>, out: Out, args: &Args, start: Instant) -> Self {
        let end = args.seconds.map(|s| start + Duration::from_secs_f64(s));
        let left = args.count.unwrap_or(u64::MAX);
        Self { filter, out, end, left, captured: 0, bytes: 0, ignored: 0 }
    }

    /// Whether there is enough, or the user wants no more.
    fn enough(&self, signals: &Signals) -> bool {
        self.left == 0 || signals.stopped() || self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// A frame of `len` bytes, of which `bytes` are known.
    fn take(&mut self, ts_ns: u64, len: u32, bytes: &[u8]) -> Result<(), Failure> {
        if self.filter.as_ref().is_none_or(|f| f.matches(bytes)) {
            self.out.put(ts_ns, len, bytes)?;
            self.captured += 1;
            self.bytes += bytes.len() as u64;
            self.left -= 1;
        } else {
            self.ignored += 1;
        }
        Ok(())
    }

    fn conclude(&self, as_json: bool, input: &Input, took: Duration) -> Result<(), Failure> {
        let found = input.counters();
        let (captured, bytes) = (many(self.captured, "frame"), many(self.bytes, "byte"));
        let mut text = vec![format!("{captured} captured, {bytes}")];
        if let Some(filter) = &self.filter {
            text.push(format!("{} did not match: {filter}", many(self.ignored, "frame")));
        }
        text.extend(counters::drops(&found));
        text.iter().for_each(|line| note(line));
        if as_json {
            let (name, backend) = input.info();
            let object = json!({
                "command": "capture",
                "port": name,
                "backend": backend,
                "seconds": took.as_secs_f64(),
                "captured": self.captured,
                "bytes": self.bytes,
                "not_matched": self.ignored,
                "counters": counters::port(&found),
            });
            writeln!(io::stdout(), "{object}")?;
        }
        Ok(())
    }
}
