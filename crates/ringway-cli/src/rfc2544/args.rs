//! The command line.

// clap shows these texts as they stand, so brackets in them are no links.
#![allow(rustdoc::broken_intra_doc_links, reason = "help texts are for clap")]

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Subcommand, ValueEnum};
use ringway_rfc::rfc2544::settings::Test;
use ringway_tester::device::{DeviceSpec, RouterSpec};
use ringway_tester::trial::flow::FlowOrder;
use ringway_tester::trial::mix::Mix;
use ringway_traffic::number;

use super::dut::DutArgs;
use crate::rfc2889;
use crate::tester::options::{FRAMES, PORTS, REPORTS, SharedArgs, TRIALS};
use crate::tester::values::{PresetName, named, percent, seconds};

/// Benchmark a device by RFC 2544: throughput, latency, loss, back-to-back, recovery, reset
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) command: Option<Command>,

    /// Port that sends [default in virtual time: a modelled device]
    #[arg(long, value_name = "PORT", requires = "rx", help_heading = PORTS)]
    pub(super) tx: Option<String>,

    /// Port that receives; the same as --tx for loop:, to measure the tester itself
    #[arg(long, value_name = "PORT", requires = "tx", help_heading = PORTS)]
    pub(super) rx: Option<String>,

    #[command(flatten)]
    pub(super) dut: DutArgs,

    /// Measure the tester first, sender and receiver joined by a veth pair or a pipe; without a device or ports nothing else
    #[arg(long)]
    pub(super) self_test: bool,

    /// A mix of sizes besides, as WEIGHTxSIZE,...; imix is 7x64,4x570,1x1518
    #[arg(long, value_name = "MIX", value_parser = mix, help_heading = FRAMES)]
    pub(super) imix: Option<Mix>,

    /// Tests: throughput, latency, loss, back-to-back, burst, recovery, reset, or all
    #[arg(long = "test", value_name = "LIST", default_value = "throughput", value_parser = tests)]
    pub(super) tests: Tests,

    /// What a load has to meet; mlr takes several, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST", default_value = "rfc2544", help_heading = TRIALS)]
    pub(super) preset: Vec<PresetName>,

    /// Length of the trials of the latency test [default: 120]
    #[arg(long, value_name = "S", value_parser = seconds, help_heading = TESTS)]
    pub(super) latency_seconds: Option<f64>,

    /// Repeats of the latency test at the throughput
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = TESTS)]
    pub(super) latency_repeat: u32,

    /// Step of the loss test in percent of the maximum rate
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = percent, help_heading = TESTS)]
    pub(super) loss_step: f64,

    /// Length of the bursts of the burst test
    #[arg(long, value_name = "S", default_value_t = 20.0, value_parser = seconds, help_heading = TESTS)]
    pub(super) burst_seconds: f64,

    /// Longest burst of the back-to-back test
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = seconds, help_heading = TESTS)]
    pub(super) burst_limit: f64,

    /// Resolution of the back-to-back test in frames
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), help_heading = TESTS)]
    pub(super) burst_step: u64,

    /// Repeats of the back-to-back test
    #[arg(long, value_name = "N", default_value_t = 50, help_heading = TESTS)]
    pub(super) burst_repeat: u32,

    /// Repeats of the recovery test
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = TESTS)]
    pub(super) recovery_repeat: u32,

    /// Command that restarts the device in the reset test; without it, restart it by hand
    #[arg(long, value_name = "COMMAND", help_heading = TESTS)]
    pub(super) reset_command: Option<String>,

    /// When the device is restarted, after the start of the trial
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = seconds, help_heading = TESTS)]
    pub(super) reset_at: f64,

    /// What is restarted, for the report
    #[arg(long, value_name = "KIND", default_value = "software", value_parser = ["hardware", "software", "power"], help_heading = TESTS)]
    pub(super) reset_kind: String,

    /// Number of flows, 1 to 16M; of several, separated by commas, each has results of its own
    #[arg(long, value_name = "LIST", default_value = "1", value_delimiter = ',', value_parser = flows, help_heading = FRAMES)]
    pub(super) flows: Vec<u32>,

    /// Order of flows: sequential, random, zipf
    #[arg(long, default_value_t = FlowOrder::Sequential, help_heading = FRAMES)]
    pub(super) order: FlowOrder,

    /// IPv6 instead of IPv4
    #[arg(long, help_heading = FRAMES)]
    pub(super) ipv6: bool,

    /// No UDP checksum in frames of IPv4; changed payloads go unnoticed then
    #[arg(long, conflicts_with = "ipv6", help_heading = FRAMES)]
    pub(super) no_udp_checksum: bool,

    /// VLAN tag of all frames; two, separated by a comma, outer first
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(0..4095), help_heading = FRAMES)]
    pub(super) vlan: Vec<u16>,

    /// MAC address of the sending side
    #[arg(long, value_name = "MAC", help_heading = FRAMES)]
    pub(super) src_mac: Option<String>,

    /// MAC address of the receiving side, or of the router before it
    #[arg(long, value_name = "MAC", help_heading = FRAMES)]
    pub(super) dst_mac: Option<String>,

    /// MAC addresses vary with the flow (RFC 4814)
    #[arg(long, help_heading = FRAMES)]
    pub(super) vary_macs: bool,

    /// Both directions at once
    #[arg(long, help_heading = FRAMES)]
    pub(super) bidir: bool,

    /// Run all tests again under each of these conditions
    #[arg(long = "modifier", value_enum, value_delimiter = ',', value_name = "LIST", help_heading = CONDITIONS)]
    pub(super) modifiers: Vec<ModifierName>,

    /// Address of the device on the side of the sending port, for --modifier management
    #[arg(long, value_name = "ADDRESS", help_heading = CONDITIONS)]
    pub(super) management: Option<Ipv4Addr>,

    /// Command that sends a routing update, for --modifier routes; the number of the update follows it as a word
    #[arg(long, value_name = "COMMAND", help_heading = CONDITIONS)]
    pub(super) route_command: Option<String>,

    /// Command that sets filters up in the device, for --modifier filters
    #[arg(long, value_name = "COMMAND", help_heading = CONDITIONS)]
    pub(super) filter_command: Option<String>,

    /// Command that removes the filters
    #[arg(long, value_name = "COMMAND", help_heading = CONDITIONS)]
    pub(super) filter_remove: Option<String>,

    /// Device without ports of its own: ringway-router[:routes=N], the router of Ringway in this process. In virtual time
    /// also a modelled one, link[:delay=1us] or switch[:KEY=VALUE,...] with pps=1M, bps=8Gbit, buffer=64, latency=5us,
    /// recovery=10ms, outage=10s+1s
    #[arg(long, value_name = "DEVICE", conflicts_with = "tx", help_heading = PORTS)]
    pub(super) device: Option<InnerDevice>,

    /// Read options from a file, one `name = value` a line; options of the command line count more
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,

    /// Keep each trial in a file; the same command goes on where a run with it was stopped
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    pub(super) journal: Option<PathBuf>,

    /// Say how long it will take, and send nothing
    #[arg(long)]
    pub(super) plan: bool,

    #[command(flatten)]
    pub(super) shared: SharedArgs,
}

impl Args {
    /// Whether the tester alone is to be measured.
    pub(super) fn is_alone(&self) -> bool {
        self.self_test
            && self.dut.dut.is_none()
            && self.tx.is_none()
            && self.device.is_none()
            && !self.shared.virtual_time
    }
}

#[derive(Debug, Clone, Subcommand)]
pub(super) enum Command {
    /// Compare two reports written with --save
    #[command(after_help = "\
Examples:
  ringway rfc2544 diff before.json after.json")]
    Diff {
        /// The earlier report
        before: PathBuf,
        /// The later report
        after: PathBuf,
        /// Print the result as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// The former name of rfc2889
    #[command(hide = true)]
    Switch(Box<rfc2889::Args>),
}

const TESTS: &str = "Single tests";
const CONDITIONS: &str = "Conditions (RFC 2544, 11)";

const EXAMPLES: &str = "\
Sizes count the FCS. A trial in which the tester itself stood still or fell short is invalid and repeated. In virtual time without
ports the device is modelled: an ideal link, or what --device says. These are overload tests for isolated laboratories (RFC 6815).

Keys of --json and --save: docs/rfc2544.md, under JSON.

Examples:
  ringway rfc2544 --virtual-time --link 1G --test burst,throughput   # exact counts of 20 s at line rate
  ringway rfc2544 --virtual-time --link 10G --device switch:pps=8M,buffer=256 --test all --page report.html
  sudo ringway rfc2544 --dut linux-bridge --search mlr --preset ndr,pdr --test throughput,latency,loss
  sudo ringway rfc2544 --self-test --dut-backend packet   # what the tester can do over packet sockets
  sudo ringway rfc2544 --tx ebpf:eth1 --rx ebpf:eth2 --link 10G --search mlr --preset ndr,pdr --cpus 2,3
  ringway rfc2544 --config lab.conf --journal lab.trials --save today.json
  ringway rfc2544 diff yesterday.json today.json";

/// A device of this process by name.
#[derive(Debug, Clone)]
pub(super) enum InnerDevice {
    /// A modelled one.
    Model(DeviceSpec),
    /// Ringway's router in this process.
    Router(RouterSpec),
}

impl FromStr for InnerDevice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with(RouterSpec::NAME) {
            text.parse().map(Self::Router)
        } else {
            text.parse().map(Self::Model)
        }
    }
}

/// Names of modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum ModifierName {
    /// 1 % of the frames are broadcasts
    Broadcast,
    /// An ICMP echo request to --management each second
    Management,
    /// --route-command before each trial and every 30 s
    Routes,
    /// Between --filter-command and --filter-remove
    Filters,
    /// IPv4 and IPv6 frames by turns
    Protocols,
}

/// A list that clap takes for one value.
#[derive(Debug, Clone)]
pub(super) struct Tests(pub(super) Vec<Test>);

fn tests(text: &str) -> Result<Tests, String> {
    named(text, &Test::ALL, Test::name, "test").map(Tests)
}

fn mix(text: &str) -> Result<Mix, String> {
    if text == "imix" { Ok(Mix::imix()) } else { text.parse() }
}

fn flows(text: &str) -> Result<u32, String> {
    let most = ringway_tester::trial::flow::MAX_FLOWS;
    // 16M is meant as 2^24.
    let n = if text == "16M" { most.into() } else { number::count(text)? };
    u32::try_from(n).ok().filter(|n| (1..=most).contains(n)).ok_or_else(|| "accepted: 1 to 16M".into())
}
