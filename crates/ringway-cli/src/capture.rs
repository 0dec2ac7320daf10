//! `ringway capture`: prints what a port receives, or writes it to a capture file.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringway::pcapfile::{MAX_RECORD, PcapError, Writer};
use ringway::wire::{TimeOfDay, parse};
use ringway::{Filter, OpenOptions, Port, RxFrame, Waiter, Wakeable};
use ringway_bench::engine::Signals;
use serde_json::json;

use crate::console::note;
use crate::failure::Failure;
use crate::{bench, counters, link, stop, units};

/// Print the frames that a port receives, or write them to a file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The port to receive on; frames that the interface would give to the host are taken from it
    #[arg(short = 'i', value_name = "PORT")]
    port: String,

    /// Write a pcap file with nanosecond times, or with - to standard output, instead of printing
    #[arg(short = 'w', value_name = "FILE")]
    file: Option<PathBuf>,

    /// Stop after so many frames (k, M, G) that match
    #[arg(short = 'n', value_name = "COUNT", value_parser = units::count)]
    count: Option<u64>,

    /// Bytes of each frame to write
    #[arg(short, long, value_name = "BYTES", default_value_t = MAX_RECORD, requires = "file",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_RECORD)))]
    snaplen: u32,

    /// Stop after so long
    #[arg(long, value_name = "S", value_parser = bench::seconds)]
    seconds: Option<f64>,

    /// Only frames that match, in the language of tcpdump (pcap-filter(7)); the others are counted and forgotten
    #[arg(short, long, value_name = "EXPR")]
    filter: Option<String>,

    /// Only frames to addresses of the interface and to groups, not those to other stations
    #[arg(short = 'p', long)]
    no_promiscuous_mode: bool,

    /// Leave the bytes of frames alone: checksums that senders left to a software interface stay unfinished
    #[arg(long)]
    raw: bool,

    /// Wait for the link to come up, at most this long
    #[arg(long, value_name = "SECONDS", default_value_t = link::DEFAULT_SECONDS, value_parser = link::seconds)]
    wait: f64,

    /// Print the summary as one JSON object; frames are printed to standard error then
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Frames are printed a line each: time of day (UTC), addresses, protocol, bytes of payload, length without FCS. The summary
goes to standard error: frames captured, frames that did not match, and what the port lost, by name. Ctrl-C ends, and so
does the end of a capture file.

A port takes its frames: what is captured on ebpf:eth0 does not reach the host. To look on while the host goes on working,
put a tap around the port of a bridge.

Examples:
  ringway capture -i eth0 -n 10                        # print ten frames
  ringway capture -i eth0 -f 'tcp port 443' -w a.pcap  # write what matches, until Ctrl-C
  ringway capture -i 'pipe:x}1' -w - | tcpdump -nr -   # for other tools
  ringway bridge -i tap:file=a.pcap,port=eth0 -i ebpf:eth0^  # write, and pass on to the host";

/// How often a file is written out while frames come.
const FLUSH: Duration = Duration::from_secs(1);

/// Longest sleep: so soon a signal is seen.
const NAP: Duration = Duration::from_millis(50);

/// How long to look for frames before sleeping.
const SPIN: Duration = Duration::from_micros(20);

/// Frames of a ring between two looks at the others.
const BURST: u32 = 512;

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let to_stdout = args.file.as_deref() == Some(Path::new("-"));
    if to_stdout && args.json {
        let what = "-w - and --json both write to standard output; name a file after -w";
        return Err(Failure::Usage(what.into()));
    }
    if to_stdout && io::stdout().is_terminal() {
        let what = "-w - writes a pcap file to standard output; pipe it into another command";
        return Err(Failure::Usage(what.into()));
    }
    let filter = args.filter.as_deref().map(Filter::compile).transpose()?;
    let signals = stop::signals()?;
    let options = OpenOptions::new().raw(args.raw);
    let options = if args.no_promiscuous_mode { options.promiscuous(false) } else { options };
    let mut port = options.open(&args.port)?;
    if port.rx.is_empty() {
        let what = format!("{}: nothing can be received on this port", port.info().name);
        return Err(Failure::Other(what));
    }
    let out = match &args.file {
        None => Out::Lines(BufWriter::new(stream(args.json))),
        Some(_) if to_stdout => Out::Stream(Writer::new("standard output", io::stdout(), args.snaplen)?),
        Some(file) => Out::File(Writer::create(file, args.snaplen)?),
    };
    link::wait(&port, args.wait, &signals)?;
    note(&format!("capturing on {} [{}]", port.info().name, port.info().backend));
    let start = Instant::now();
    let mut capture = Capture {
        filter,
        out,
        left: args.count.unwrap_or(u64::MAX),
        captured: 0,
        bytes: 0,
        ignored: 0,
        frame: Vec::new(),
    };
    let end = args.seconds.map(|s| start + Duration::from_secs_f64(s));
    let ended = capture.run(&mut port, end, &signals);
    // What was captured before a failure is worth having.
    let flushed = capture.out.flush();
    if !matches!(ended, Err(Failure::OutputClosed)) {
        capture.conclude(args, &port, start.elapsed().as_secs_f64())?;
    }
    ended.and(flushed)
}

fn stream(json: bool) -> Box<dyn Write> {
    if json { Box::new(io::stderr()) } else { Box::new(io::stdout()) }
}

/// Where frames go.
enum Out {
    Lines(BufWriter<Box<dyn Write>>),
    Stream(Writer<io::Stdout>),
    File(Writer<File>),
}

impl Out {
    fn put(&mut self, ts_ns: u64, frame: &[u8]) -> Result<(), Failure> {
        let len = frame.len();
        match self {
            Self::Lines(out) => writeln!(out, "{} {}, length {len}", TimeOfDay(ts_ns), parse(frame))?,
            Self::Stream(out) => out.write(ts_ns, len as u32, frame)?,
            Self::File(out) => out.write(ts_ns, len as u32, frame)?,
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        match self {
            Self::Lines(out) => out.flush()?,
            Self::Stream(out) => out.flush()?,
            Self::File(out) => out.flush()?,
        }
        Ok(())
    }
}

impl From<PcapError> for Failure {
    fn from(e: PcapError) -> Self {
        match e {
            PcapError::Io { source, .. } if source.kind() == ErrorKind::BrokenPipe => Self::OutputClosed,
            PcapError::Io { call: "write", .. } => {
                Self::Other(format!("{e}; make room, or write elsewhere with -w"))
            }
            _ => Self::Other(e.to_string()),
        }
    }
}

/// A capture under way.
struct Capture {
    filter: Option<Filter>,
    out: Out,
    left: u64,
    captured: u64,
    bytes: u64,
    ignored: u64,
    frame: Vec<u8>,
}

impl Capture {
    /// Until there is enough, the time is over, the input has ended or a signal came.
    fn run(&mut self, port: &mut Port, end: Option<Instant>, signals: &Signals) -> Result<(), Failure> {
        let mut waiter = Waiter::new(SPIN)?;
        let mut flushed = Instant::now();
        while self.left > 0 && !signals.stopped() {
            let now = Instant::now();
            let left = end.map_or(NAP, |end| end.saturating_duration_since(now).min(NAP));
            if left.is_zero() {
                break;
            }
            let ended = port.ended();
            if self.round(port)? {
                if now - flushed < FLUSH {
                    continue;
                }
                flushed = now;
                self.out.flush()?;
            } else if ended {
                break;
            } else {
                self.out.flush()?;
                let mut rings: Vec<_> = port.rx.iter_mut().map(|rx| rx as &mut dyn Wakeable).collect();
                waiter.wait(&mut rings, left)?;
            }
        }
        Ok(())
    }

    /// One burst of each ring; whether there was any frame.
    fn round(&mut self, port: &mut Port) -> Result<bool, Failure> {
        let mut any = false;
        for rx in &mut port.rx {
            any |= rx.sync()? > 0;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
            let mut burst = rx.burst(BURST);
            while self.left > 0
                && let Some(frame) = burst.next()
            {
                self.take(&frame, now)?;
            }
        }
        Ok(any)
    }

    fn take(&mut self, frame: &RxFrame<'_>, now_ns: u64) -> Result<(), Failure> {
        let mut whole = std::mem::take(&mut self.frame);
        let bytes = match frame.is_chained() {
            false => frame.bytes(),
            true => {
                whole.resize(frame.len(), 0);
                frame.copy_to(&mut whole);
                &whole
            }
        };
        if self.filter.as_ref().is_none_or(|f| f.matches(bytes)) {
            self.out.put(now_ns, bytes)?;
            self.captured += 1;
            self.bytes += bytes.len() as u64;
            self.left -= 1;
        } else {
            self.ignored += 1;
        }
        self.frame = whole;
        Ok(())
    }

    fn conclude(&self, args: &Args, port: &Port, seconds: f64) -> Result<(), Failure> {
        let found = port.counters();
        let mut text = vec![format!("{} frames captured, {} bytes", self.captured, self.bytes)];
        if let Some(filter) = &self.filter {
            text.push(format!("{} frames did not match: {filter}", self.ignored));
        }
        text.extend(counters::drops(&found));
        text.iter().for_each(|line| note(line));
        if args.json {
            let object = json!({
                "command": "capture",
                "port": port.info().name,
                "backend": port.info().backend,
                "seconds": seconds,
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
