//! The options of `ringway capture`.

use std::path::PathBuf;

use ringway_traffic::number;
use ringway_wire::pcapfile::MAX_RECORD;

use crate::durations;
use crate::options::{Json, LinkWait, Raw, Verbose};

/// Print the frames that a port receives or a file holds, or write them to a file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("wait", |wait| wait.short(None)),
    mut_arg("verbose", |verbose| verbose.help("Say at the start all that there is to say of the port")))]
pub(crate) struct Args {
    /// The port to receive on; frames that the interface would give to the host are taken from it
    #[arg(short = 'i', value_name = "PORT")]
    pub(super) port: Option<String>,

    /// Read a capture file, or with - standard input: at once, with the times of the file (as -i pcap:FILE)
    #[arg(short = 'r', value_name = "FILE", conflicts_with = "port")]
    pub(super) read: Option<PathBuf>,

    /// Write a pcap file with nanosecond times, or with - to standard output, instead of printing
    #[arg(short = 'w', value_name = "FILE")]
    pub(super) file: Option<PathBuf>,

    /// Stop after so many frames (k, M, G) that match
    #[arg(short = 'c', value_name = "COUNT", value_parser = number::count)]
    pub(super) count: Option<u64>,

    /// For habits of tcpdump: it changes nothing, since addresses and ports are always printed as numbers
    #[arg(short = 'n', action = clap::ArgAction::Count)]
    pub(super) no_names: u8,

    /// Bytes of each frame to write; 0 for all
    #[arg(short, long, value_name = "BYTES", default_value_t = MAX_RECORD, requires = "file",
        value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_RECORD)))]
    pub(super) snaplen: u32,

    /// Stop after so long
    #[arg(long, value_name = "S", value_parser = durations::seconds)]
    pub(super) seconds: Option<f64>,

    /// Only frames that match, in the language of tcpdump (pcap-filter(7)); the others are counted and forgotten
    #[arg(short, long, value_name = "EXPR")]
    pub(super) filter: Option<String>,

    /// The same as -f, as words at the end
    #[arg(value_name = "EXPR", conflicts_with = "filter")]
    pub(super) words: Vec<String>,

    /// Only frames to addresses of the interface and to groups, not those to other stations
    #[arg(short = 'p', long)]
    pub(super) no_promiscuous_mode: bool,

    #[command(flatten)]
    pub(super) raw: Raw,

    #[command(flatten)]
    pub(super) link: LinkWait,

    #[command(flatten)]
    pub(super) verbose: Verbose,

    #[command(flatten)]
    pub(super) json: Json,
}

const EXAMPLES: &str = "\
Frames are printed a line each: time of day (UTC), addresses, protocol, bytes of payload, length without FCS. The summary
goes to standard error: frames captured, frames that did not match, and what the port lost, by name. Ctrl-C ends, and so
does the end of a capture file.

A capture file is read at once, and its frames keep their times, also the nanoseconds. pcap:FILE@x2, pcap:FILE@loop and
files inside tap:, trace: or fault: are replayed: their frames get the times at which they come.

A port takes its frames: what is captured on ebpf:eth0 does not reach the host. To look on while the host goes on working,
put a tap around the port of a bridge.

Examples:
  ringway capture -i eth0 -c 10                        # print ten frames
  ringway capture -i eth0 -f 'tcp port 443' -w a.pcap  # write what matches, until Ctrl-C
  ringway capture -r a.pcap -w b.pcap udp              # the frames of a file that match
  ringway capture -i 'pipe:x}1' -w - | tcpdump -nr -   # for other tools
  ringway bridge -i tap:file=a.pcap,port=eth0 -i ebpf:eth0^  # write, and pass on to the host";
