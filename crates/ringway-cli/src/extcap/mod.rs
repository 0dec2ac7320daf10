//! `ringway extcap`: what Wireshark and tshark ask of a program that captures for them (extcap, doc/extcap of Wireshark).
//!
//! Wireshark runs the program for each question, and at last for the capture, which goes into a FIFO. `offer` says what there is,
//! `source` opens it.

mod offer;
mod source;

use std::path::PathBuf;

use ringway::Filter;
use ringway_wire::pcapfile::MAX_RECORD;

use crate::capture;
use crate::console::Console;
use crate::errors;
use crate::failure::Failure;
use source::Source;

/// Let Wireshark and tshark capture on interfaces, on ports of switches and on other ports
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// List what frames can come from
    #[arg(long, group = "question")]
    extcap_interfaces: bool,

    /// What Wireshark calls itself; all versions that pass it get the same answers
    #[arg(long, value_name = "VERSION", num_args = 0..=1, require_equals = true)]
    extcap_version: Option<Option<String>>,

    /// Where frames come from: a name of the list
    #[arg(long, value_name = "NAME")]
    extcap_interface: Option<String>,

    /// List the link types of it
    #[arg(long, group = "question", requires = "extcap_interface")]
    extcap_dlts: bool,

    /// List its options
    #[arg(long, group = "question", requires = "extcap_interface")]
    extcap_config: bool,

    /// Capture until the reader of --fifo closes it, or a signal comes
    #[arg(long, group = "question", requires_all = ["extcap_interface", "fifo"])]
    capture: bool,

    /// Write the capture to this file
    #[arg(long, value_name = "FILE")]
    fifo: Option<PathBuf>,

    /// Only frames that match, as Wireshark's capture filter (pcap-filter(7)); without --capture it is checked
    #[arg(long, value_name = "EXPR", default_value = "")]
    extcap_capture_filter: String,

    /// Only frames that match this, too
    #[arg(long, value_name = "EXPR", default_value = "")]
    filter: String,

    /// Bytes of each frame to write; 0 for all
    #[arg(long, value_name = "BYTES", default_value_t = 0,
        value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_RECORD)))]
    snaplen: u32,

    /// The port of the entry `ringway`
    #[arg(long, value_name = "PORT", default_value = "")]
    port: String,
}

const EXAMPLES: &str = "\
Wireshark finds the program under any name in its folder of extcap programs; `tshark -G folders` prints that. Link it there:

  ln -s /usr/local/share/ringway/extcap/ringway ~/.local/lib/wireshark/extcap/

An entry ringway:IF copies the frames of an interface: the host goes on working, and needs no promiscuous mode of Wireshark.
ringway:SWITCH:PORT mirrors a port of a switch while the capture runs. The entry ringway takes the frames of any port that
--port names, as `ringway capture` does. Mirrors and interfaces need root.

Examples:
  ringway extcap --extcap-interfaces                    # what there is
  tshark -i ringway:eth0 -f 'tcp port 443'              # copies of an interface
  tshark -i ringway:vale0:p1 -c 10                      # what a port of a switch sends and receives
  ringway extcap --capture --extcap-interface ringway --port null: --fifo a.pcap & sleep 1; kill $!";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let console = Console { json: false };
    if args.extcap_interfaces {
        return Ok(console.line(offer::interfaces().trim_end())?);
    }
    let Some(interface) = &args.extcap_interface else {
        let what = "nothing is asked for; type --extcap-interfaces, or -i PORT after `ringway capture`";
        return Err(Failure::Usage(errors::command::MISSING, what.into()));
    };
    let source = Source::named(interface, &args.port)?;
    if args.extcap_dlts {
        return Ok(console.line(offer::LINK_TYPE)?);
    }
    if args.extcap_config {
        return Ok(console.line(offer::options(&source).trim_end())?);
    }
    let filter = filter(&args.extcap_capture_filter, &args.filter)?;
    match &args.fifo {
        Some(fifo) if args.capture => {
            let snaplen = if args.snaplen == 0 { MAX_RECORD } else { args.snaplen };
            let opened = source.open()?;
            capture::to_file(opened.port, filter, fifo, snaplen)
        }
        _ => Ok(()),
    }
}

/// Both expressions, as far as there are some.
fn filter(first: &str, second: &str) -> Result<Option<Filter>, Failure> {
    let given: Vec<String> =
        [first, second].iter().filter(|e| !e.trim().is_empty()).map(|e| format!("({e})")).collect();
    // Each by itself, so that an error shows what was typed.
    for one in [first, second] {
        Filter::compile(one)?;
    }
    Ok((!given.is_empty()).then(|| Filter::compile(&given.join(" and "))).transpose()?)
}
