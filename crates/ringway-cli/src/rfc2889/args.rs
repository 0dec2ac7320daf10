//! The command line of `ringway rfc2889`.

// clap shows these texts as they stand, so brackets in them are no links.
#![allow(rustdoc::broken_intra_doc_links, reason = "help texts are for clap")]

use ringway_rfc::rfc2889::model::SwitchSpec;
use ringway_rfc::rfc2889::pattern::Pattern;
use ringway_rfc::rfc2889::settings::Test;
use ringway_tester::dut::{Backend, DutKind};
use ringway_traffic::number;

use crate::tester::device::{backends, kinds};
use crate::tester::options::{PORTS, SharedArgs, TRIALS};
use crate::tester::values::{PresetName, named, percent};

/// Benchmark a switch with several ports by RFC 2889: forwarding, congestion, addresses, wrong frames, broadcast
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Ports of the tester, separated by commas [default in virtual time: a modelled switch]
    #[arg(long, value_name = "PORTS", value_delimiter = ',', help_heading = PORTS)]
    pub(super) ports: Vec<String>,

    /// Device, set up for the run in namespaces of its own, instead of --ports; its links have 10G by default
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["ports", "device"], value_parser = kinds(), help_heading = PORTS)]
    pub(super) dut: Option<DutKind>,

    /// Ports of --dut
    #[arg(long, value_name = "N", default_value_t = 4, requires = "dut", help_heading = PORTS)]
    pub(super) dut_ports: usize,

    /// How the tester attaches to the links of --dut [default: ebpf]
    #[arg(long, value_name = "BACKEND", requires = "dut", value_parser = backends(), help_heading = PORTS)]
    pub(super) dut_backend: Option<Backend>,

    /// Tests: forwarding, congestion, capacity, learning, errored, broadcast, or all
    #[arg(long = "test", value_name = "LIST", default_value = "forwarding", value_parser = tests)]
    pub(super) tests: Tests,

    /// Patterns of the forwarding test: pairs, mesh, one-to-many, many-to-one, backbone, partial, or all
    #[arg(long = "pattern", value_name = "LIST", default_value = "mesh", value_parser = patterns)]
    pub(super) patterns: Patterns,

    /// Frames that leave back to back; the pause after them makes up the load
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=930), help_heading = TRIALS)]
    pub(super) burst: u64,

    /// What a load has to meet
    #[arg(long, value_enum, default_value = "rfc2544", help_heading = TRIALS)]
    pub(super) preset: PresetName,

    /// Step of loads from full load to the throughput, for the maximum forwarding rate, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = percent, help_heading = TRIALS)]
    pub(super) step: f64,

    /// Most addresses that the capacity test tries
    #[arg(long, value_name = "N", default_value = "8192", value_parser = number::count, help_heading = ADDRESSES)]
    pub(super) addresses: u64,

    /// Resolution of the capacity test
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), help_heading = ADDRESSES)]
    pub(super) address_step: u64,

    /// New addresses a second of the capacity test, and frames a second that look for them
    #[arg(long, value_name = "RATE", default_value = "100", value_parser = number::frames, help_heading = ADDRESSES)]
    pub(super) learning_pps: u64,

    /// Addresses of the learning test [default: as many as the capacity test found, or 1000]
    #[arg(long, value_name = "N", value_parser = number::count, help_heading = ADDRESSES)]
    pub(super) learning_addresses: Option<u64>,

    /// Resolution of the learning test in addresses a second
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..), help_heading = ADDRESSES)]
    pub(super) learning_step: u64,

    /// How long the device keeps an address: that long is waited until it has forgotten all
    #[arg(long, value_name = "S", default_value_t = 300.0, value_parser = age, help_heading = ADDRESSES)]
    pub(super) age: f64,

    /// Command that has the device forget its addresses, instead of waiting
    #[arg(long, value_name = "COMMAND", help_heading = ADDRESSES)]
    pub(super) flush: Option<String>,

    /// Modelled switch of virtual time without ports, switch[:KEY[=VALUE],...] with ports=4, port-pps=1M, fabric=8M, buffer=64, latency=5us,
    /// table=8192, learn=10k, age=300s, hol, pressure, forwards=bad-fcs+oversize
    #[arg(long, value_name = "DEVICE", conflicts_with = "ports", help_heading = PORTS)]
    pub(super) device: Option<SwitchSpec>,

    #[command(flatten)]
    pub(super) shared: SharedArgs,
}

/// Heading of the options of capacity and learning.
const ADDRESSES: &str = "Addresses";

const EXAMPLES: &str = "\
Sizes count the FCS. The first port teaches addresses, the second looks for them, the others watch. Congestion goes from the first
two ports to the third and fourth. Two threads poll, one for all senders and one for all receivers.

Keys of --json and --save: docs/rfc2889.md, under JSON.

Examples:
  ringway rfc2889 --virtual-time --link 1G --device switch:ports=8,port-pps=1M --pattern all --sizes 64,1518
  ringway rfc2889 --virtual-time --link 1G --device switch:table=4096,learn=20k,hol --test all --sizes 64
  sudo ringway rfc2889 --ports ebpf:eth1,ebpf:eth2,ebpf:eth3,ebpf:eth4 --link 1G --test all --page switch.html
  sudo ringway rfc2889 --dut linux-bridge --pps 100k --test all --sizes 64,1518 --seconds 1 --slots 65536
  sudo ringway rfc2889 --virtual-time --ports vale0:p1,vale0:p2,vale0:p3 --link 1G --test capacity \\
    --flush 'ringway switch fdb flush vale0'";

/// A list that clap takes for one value.
#[derive(Debug, Clone)]
pub(super) struct Tests(pub(super) Vec<Test>);

/// A list that clap takes for one value.
#[derive(Debug, Clone)]
pub(super) struct Patterns(pub(super) Vec<Pattern>);

fn tests(text: &str) -> Result<Tests, String> {
    named(text, &Test::ALL, Test::name, "test").map(Tests)
}

fn patterns(text: &str) -> Result<Patterns, String> {
    named(text, &Pattern::ALL, Pattern::name, "pattern").map(Patterns)
}

fn age(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.0..=1e6).contains(&s) => Ok(s),
        _ => Err("accepted: seconds from 0 to 1000000".into()),
    }
}
