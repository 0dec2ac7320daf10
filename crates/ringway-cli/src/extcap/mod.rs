//! `ringway extcap`: what Wireshark and tshark ask of a program that captures for them (extcap, doc/extcap of Wireshark).
//!
//! Wireshark runs the program for each question, and at last for the capture, which goes into a FIFO. `offer` says what there is,
//! `source` opens it. While the capture runs, Wireshark's toolbar changes it: `message` has the bytes, `link` the FIFOs, `values`
//! what may be changed, and `toolbar` changes it.

mod link;
mod message;
mod offer;
mod source;
mod toolbar;
mod values;

use std::path::{Path, PathBuf};

use ringway_wire::pcapfile::MAX_RECORD;

use crate::capture::{self, Choice, Target};
use crate::console::Console;
use crate::errors;
use crate::failure::Failure;
use crate::stop;
use source::Source;
use toolbar::Toolbar;
use values::Values;

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

    /// The FIFO from Wireshark's toolbar, which changes --filter and --snaplen while the capture runs
    #[arg(long, value_name = "FIFO", requires_all = ["capture", "extcap_control_out"])]
    extcap_control_in: Option<PathBuf>,

    /// The FIFO to the toolbar, which shows the values, errors, and lost frames
    #[arg(long, value_name = "FIFO", requires_all = ["capture", "extcap_control_in"])]
    extcap_control_out: Option<PathBuf>,

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

While a capture runs, Wireshark's toolbar (View, Interface Toolbars, Ringway) changes the filter and the bytes of each frame.
Wireshark makes the two FIFOs for that. Closing one of them ends the capture.

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
    let values = Values {
        capture_filter: args.extcap_capture_filter.clone(),
        filter: args.filter.clone(),
        snaplen: args.snaplen,
    };
    match (&args.fifo, &args.extcap_control_in, &args.extcap_control_out) {
        (Some(fifo), Some(from), Some(to)) if args.capture => steered(&source, values, fifo, from, to),
        (Some(fifo), ..) if args.capture => plain(&source, &values, fifo),
        _ => values.compiled().map(drop),
    }
}

/// A capture with the same values from its start to its end.
fn plain(source: &Source, values: &Values, fifo: &Path) -> Result<(), Failure> {
    let (filter, snaplen) = (values.compiled()?, values.most());
    let opened = source.open()?;
    let signals = stop::signals()?;
    let target = Target::create(fifo, snaplen)?;
    capture::to_file(opened.port, Choice { filter, snaplen, steering: None }, target, &signals)
}

/// A capture that Wireshark's toolbar changes. Wireshark opens the toolbar's FIFOs after it has the header of the capture file, and the
/// port is opened at last: its rings would overflow until then.
fn steered(source: &Source, values: Values, fifo: &Path, from: &Path, to: &Path) -> Result<(), Failure> {
    let signals = stop::signals()?;
    let mut toolbar = Toolbar::open(from, to, values, &signals)?;
    let begin = |toolbar: &mut Toolbar| {
        let target = Target::create(fifo, MAX_RECORD)?;
        let (filter, snaplen) = toolbar.begin()?;
        Ok((target, filter, snaplen, source.open()?))
    };
    let (target, filter, snaplen, opened) =
        begin(&mut toolbar).inspect_err(|_: &Failure| toolbar.give_up())?;
    let steering = Some(toolbar.go_on(opened.port.watch())?);
    capture::to_file(opened.port, Choice { filter, snaplen, steering }, target, &signals)
}
