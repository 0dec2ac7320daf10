//! The options. Clap prints the texts as they stand, so brackets in them are no links.
#![allow(rustdoc::broken_intra_doc_links, reason = "help texts are for clap")]

use std::fmt;

use clap::ValueEnum;
use ringway_traffic::number;
use ringway_traffic::pace::Rate;
use ringway_traffic::range::{EndpointRange, MacRange};
use ringway_traffic::template::Vlan;

use crate::options::{Json, LinkWait, Turns, Verbose};
use crate::selection::Selection;

/// Generate, receive and measure traffic
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("burst", |burst| burst.default_value("512")),
    mut_arg("verbose", |verbose| verbose.help("Say at the start all that there is to say of the port and the frames")))]
pub(crate) struct Args {
    /// The port
    #[arg(short = 'i', value_name = "PORT")]
    pub(super) port: String,

    /// What to do: tx sends, rx receives, ping measures round trips, pong turns frames round
    #[arg(short, value_enum, default_value_t = Function::Rx)]
    pub(super) function: Function,

    /// Frames to send, receive or answer, such as 1000, 10k or 1M; 0 is endless
    #[arg(short = 'n', value_name = "COUNT", default_value = "0", value_parser = number::count)]
    pub(super) count: u64,

    #[command(flatten)]
    pub(super) link: LinkWait,

    /// Bytes of a frame without FCS [default: 60, or 80 for IPv6]
    #[arg(short, value_name = "LEN", help_heading = SENT)]
    pub(super) length: Option<usize>,

    /// Destination addresses and ports: ADDRESS[:PORT][-ADDRESS[:PORT]]; IPv6 in brackets before a port
    #[arg(short, value_name = "RANGE", help_heading = SENT)]
    pub(super) dst: Option<EndpointRange>,

    /// Source addresses and ports
    #[arg(short, value_name = "RANGE", help_heading = SENT)]
    pub(super) src: Option<EndpointRange>,

    /// Destination MAC addresses: MAC[-MAC]
    #[arg(short = 'D', value_name = "RANGE", default_value = "ff:ff:ff:ff:ff:ff", help_heading = SENT)]
    pub(super) dst_mac: MacRange,

    /// Source MAC addresses
    #[arg(short = 'S', value_name = "RANGE", default_value = "02:00:00:00:00:01", help_heading = SENT)]
    pub(super) src_mac: MacRange,

    #[command(flatten, next_help_heading = RECEIVED)]
    pub(super) selection: Selection,

    #[command(flatten, next_help_heading = THREADS)]
    pub(super) turns: Turns,

    /// Frames per second such as 10k, 1.5M, or bits per second on the wire such as 10Gbit; 0 or max: no limit [default: max; ping: 1k]
    #[arg(short = 'R', value_name = "RATE", help_heading = SENT)]
    pub(super) rate: Option<Rate>,

    /// Threads: for tx one tx ring each; for rx they share the rx rings
    #[arg(short = 'p', value_name = "THREADS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = THREADS)]
    pub(super) threads: u32,

    /// CPUs to use, from -a on
    #[arg(short, value_name = "CORES", value_parser = at_least_one, help_heading = THREADS)]
    pub(super) cores: Option<usize>,

    /// CPU of the first thread; the next thread gets the next one
    #[arg(short = 'a', value_name = "CPU", help_heading = THREADS)]
    pub(super) first_cpu: Option<usize>,

    /// Milliseconds between report lines
    #[arg(short = 'T', value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(10..=3_600_000), help_heading = REPORTS)]
    pub(super) report_ms: u64,

    /// Draw source addresses and ports at random, from -s or from all of IPv4
    #[arg(short = 'z', help_heading = SENT)]
    pub(super) random_src: bool,

    /// Draw destination addresses and ports at random, from -d or from all of IPv4
    #[arg(short = 'Z', help_heading = SENT)]
    pub(super) random_dst: bool,

    /// 802.1Q tag: ID[:PRIORITY]
    #[arg(long, value_name = "ID[:PRIO]", help_heading = SENT)]
    pub(super) vlan: Option<Vlan>,

    /// Start of the random draws; the same seed sends the same frames
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = SENT)]
    pub(super) seed: u64,

    /// Check the sequence of received frames even if the first have no tags [default: when tags are found and one
    /// thread sees all frames]
    #[arg(long, overrides_with = "no_check", help_heading = RECEIVED)]
    pub(super) check: bool,

    /// Do not look into received frames
    #[arg(long, help_heading = RECEIVED)]
    pub(super) no_check: bool,

    #[command(flatten, next_help_heading = REPORTS)]
    pub(super) verbose: Verbose,

    #[command(flatten, next_help_heading = REPORTS)]
    pub(super) json: Json,
}

// Headings of the options.
const SENT: &str = "Frames to send";
const RECEIVED: &str = "Frames to receive";
const THREADS: &str = "Threads and turns";
const REPORTS: &str = "Reports";

const EXAMPLES: &str = "\
Frames are UDP in Ethernet. Those of at least 60 bytes (IPv6: 80) carry stream, sequence number and time, by which the
receiver finds loss, duplicates and reordering, and ping measures. Ctrl-C ends with averages.

Examples:
  ringway pkt-gen -i eth0 -f tx -n 1M -l 60 -D 02:00:00:00:00:02 -d 10.1.0.1:2000-10.1.0.255
  ringway pkt-gen -i eth0 -f tx -R 10Gbit -l 1514     # line rate of a 10G link
  ringway pkt-gen -i eth0 -f rx --json                # count until Ctrl-C
  ringway pkt-gen -i eth0 -f pong --take 'udp port 7' # echo, beside a host that goes on working
  ringway pkt-gen -i 'pipe:x}1' -f pong & ringway pkt-gen -i 'pipe:x{1' -f ping -n 1k";

/// What pkt-gen does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Function {
    Tx,
    Rx,
    Ping,
    Pong,
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tx => "tx",
            Self::Rx => "rx",
            Self::Ping => "ping",
            Self::Pong => "pong",
        })
    }
}

impl Args {
    /// Frames in all; endless is a number that is never reached.
    pub(super) fn limit(&self) -> u64 {
        if self.count == 0 { u64::MAX } else { self.count }
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| "accepted: a number of at least 1".into())
}
