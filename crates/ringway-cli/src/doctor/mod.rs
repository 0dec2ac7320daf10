//! `ringway doctor`: what works here, what does not, why, and the cure.

mod json;
mod loop_test;
mod report;
mod set;
mod text;

use ringway::probe::{self, Backend, Check, Interface, Machine};

use crate::errors;
use crate::failure::Failure;
use crate::options::Json;
use report::Report;

/// Tell what packet I/O works here, what does not, why, and the cure
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Also look at this interface, and tell which backend serves it best
    #[arg(value_name = "IF")]
    interface: Option<String>,

    /// Also pass frames by each backend over a link made for it, and compare them
    #[arg(long = "loop")]
    loop_test: bool,

    /// Also load each eBPF program of ports, switches and routers, and say why the kernel's verifier refuses one
    #[arg(long)]
    programs: bool,

    /// Try the driver also while something uses the interface: it may reset, and lose frames
    #[arg(long = "try", requires = "interface")]
    try_driver: bool,

    /// Set what stands in the way on the interface: link, offloads, MTU, rings, queues; tells what restores it
    #[arg(long, requires = "interface")]
    fix: bool,

    #[command(flatten)]
    json: Json,
}

const EXAMPLES: &str = "\
Each feature is tried by using it, in a private network namespace where it needs an interface. IF itself is asked; when
nothing uses it (no address, no route, no bridge, bond, VLAN or macvlan, no program, no port), or with --try, its driver
is tried as well: an AF_XDP socket is bound with zero copy and an XDP program is attached, each for a moment, for which
some drivers reset the device. Nothing that runs is disturbed without --try. Without root it tells which privileges are
missing.

Marks: ok; warn: works with a drawback; missing: not there, or not for this user; unknown: could not be tried. The line
below a finding that is not ok is its cure.

--fix does what the cures of link, offloads, VLAN filter, MTU, rings and queues say, prints the command that restores each,
and looks again. Drivers reset the device for most of it. It is refused while a port is open there.

Exit code: 0 when packet I/O works, at least packet: (with IF: on that interface); 1 otherwise, and when --fix was refused
a setting.

Examples:
  ringway doctor                         # this machine and this user
  sudo ringway doctor eth0               # and what auto:eth0 would choose
  sudo ringway doctor eth0 --try         # the same although the host uses it
  sudo ringway doctor eth0 --fix         # and mend its settings
  sudo ringway doctor --loop             # and does it pass frames, by each backend
  sudo ringway doctor --programs         # and does the kernel take each eBPF program
  ringway doctor --json | jq -r '.checks[] | select(.status == \"missing\") | .cure'";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut interface = args.interface.as_deref().map(|name| look(name, args)).transpose()?;
    let mut fixed = Vec::new();
    if let Some(i) = interface.as_mut().filter(|_| args.fix) {
        fixed = set::all(i)?;
        *i = look(&i.name, args)?;
    }
    let interface = interface.map(|i| (i.checks(), i)).map(|(checks, i)| (i, checks));
    let mut machine = Machine::probe();
    if args.programs {
        machine.checks.extend(probe::programs());
        let router = Check::new("programs-router", "programs of routers");
        machine.checks.push(router.judge(ringway_router::kernel::try_programs()));
    }
    if args.loop_test {
        machine.checks.extend(loop_test::checks());
    }
    let report = Report { machine, interface, fixed };
    let console = args.json.console();
    if console.json {
        console.result("", &json::object(&report))?;
    } else {
        console.line(&text::page(&report, text::Style::of_output()))?;
    }
    match report.obstacle(Backend::Packet) {
        Some(why) if !report.works() => {
            let cure = why.cure.as_deref().unwrap_or_default();
            Err(Failure::Other(errors::ports::NO_PACKET_IO, format!("no packet I/O works: {why}; {cure}")))
        }
        _ => match report.fixed.iter().filter(|s| s.is_refused()).count() {
            0 => Ok(()),
            n => Err(Failure::Other(
                errors::ports::SETTINGS_REFUSED,
                format!("{n} of {} settings were refused; see above", report.fixed.len()),
            )),
        },
    }
}

/// Asks about an interface, and tries its driver where that disturbs nobody or was asked for.
fn look(name: &str, args: &Args) -> ringway::Result<Interface> {
    let mut interface = probe::interface(name)?;
    if args.try_driver || interface.in_use().is_none() {
        interface.try_zero_copy(0);
        interface.try_native();
    }
    Ok(interface)
}
