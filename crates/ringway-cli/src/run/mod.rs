//! `ringway run`: starts an unmodified program with Ringway's libraries under it.
//!
//! | file | what |
//! | --- | --- |
//! | `program` | which file it is, and whether a library can be put under it |
//! | `library` | where they are |

mod library;
mod program;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use clap::ValueEnum;
use ringway::PortName;

use crate::console;
use crate::errors;
use crate::failure::Failure;

/// Run an unmodified program on ports
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Have the program find PORT under the name of an interface; may be given more than once
    #[arg(long, value_name = "NAME=PORT", value_parser = mapping)]
    map: Vec<String>,

    /// Serve Ethernet interfaces under their own names too, by copies of what they receive and the host sends; both go on
    #[arg(long)]
    copy: bool,

    /// Serve only calls of libpcap, only packet sockets, or only netmap's device
    #[arg(long, value_name = "WHAT")]
    only: Option<Only>,

    /// Serve interfaces of netmap programs by this backend [default: auto]
    #[arg(long, value_name = "BACKEND")]
    netmap_backend: Option<NetmapBackend>,

    /// Bound of the time that a packet of a dense stream waits for others, to leave with them [default: 100]; 0 sends each at once
    #[arg(long, value_name = "MICROSECONDS", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    batch_us: Option<u32>,

    /// Tell what is set up, and at the program's end which calls were served
    #[arg(short, long)]
    verbose: bool,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    Pcap,
    Socket,
    Netmap,
}

/// Backends of interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NetmapBackend {
    Auto,
    Ebpf,
    Xdp,
    Packet,
}

const EXAMPLES: &str = "\
Programs that use libpcap find ports under their own names, such as vale0:p1 or pipe:x{1, and
under the names that --map gives them. Interfaces that are not mapped stay with the system, unless
--copy is given; only dense streams that are sent there take a shorter way, on which other programs
of this host that look at the interface do not see them (--batch-us 0 stops that for programs that
send packet by packet). A user without CAP_NET_RAW has packet sockets of interfaces that are mapped to ports
of switches that are his.

Programs that were written for netmap find /dev/netmap, without a kernel module.

The libraries that do it lie beside this command, in ../lib/ringway, or in the directory that
RINGWAY_LIB names: libringway_preload.so and libringway_netmap.so. Programs that are linked statically, and those that gain rights when they are started
(setuid), can't be run so. The program takes this process over, with its signals and exit status.

Examples:
  ringway run -- tcpdump -ni vale0:p1                    # look at a port of a switch
  ringway run --map eth0=vale0:p1 -- nmap -sS 10.0.0.2   # plug a program into a switch
  ringway run --copy -- tcpdump -ni eth0                 # look on; what is sent and received at
                                                         # once may swap places
  ringway run --map eth0=ebpf:eth0 -v -- tcpdump -i eth0 # take the interface from the host";

fn mapping(text: &str) -> Result<String, String> {
    let (name, port) = text.split_once('=').ok_or("write NAME=PORT, e.g. eth0=vale0:p1")?;
    if name.is_empty() || name.contains([',', '=']) {
        return Err("the name before = is that of an interface, e.g. eth0=vale0:p1".into());
    }
    port.parse::<PortName>().map_err(|e| e.to_string())?;
    Ok(text.to_owned())
}

/// The name that two mappings share.
fn mapped_twice(map: &[String]) -> Option<&str> {
    let names: Vec<_> = map.iter().filter_map(|m| Some(m.split_once('=')?.0)).collect();
    names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)).map(|(_, name)| *name)
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let Some((name, rest)) = args.program.split_first() else {
        return Err(Failure::Usage(errors::command::MISSING, "name the program to run".into()));
    };
    if let Some(name) = mapped_twice(&args.map) {
        return Err(Failure::Usage(
            errors::command::CONFLICT,
            format!("--map gives {name} to two ports; name each interface once"),
        ));
    }
    let file = program::find(name)?;
    if program::check(&file)?.is_go {
        console::note(&format!(
            "ringway: {}: Go programs make system calls themselves, so packet sockets stay the kernel's here; libpcap is served",
            file.display()
        ));
    }
    let found = library::find()?;
    let mut command = Command::new(&file);
    command.arg0(name).args(rest);
    for (name, value) in settings(args, &found) {
        if args.verbose {
            console::note(&format!("ringway: {name}={}", value.display()));
        }
        command.env(name, value);
    }
    // It only returns when it failed; the program takes this process over, with its signals and exit code.
    let failed = command.exec();
    Err(Failure::Other(
        errors::processes::NOT_STARTED,
        format!("{}: cannot be started: {failed}", file.display()),
    ))
}

/// What the library and the dynamic linker read.
fn settings(args: &Args, found: &library::Found) -> Vec<(&'static str, OsString)> {
    // Netmap's device comes first: that library has the other one pass its own calls on.
    let libraries: &[&Path] = match args.only {
        None => &[&found.netmap, &found.preload],
        Some(Only::Netmap) => &[&found.netmap],
        Some(Only::Pcap | Only::Socket) => &[&found.preload],
    };
    let mut all = vec![("LD_PRELOAD", joined(libraries, "LD_PRELOAD"))];
    // Without calls of libpcap to serve, programs find the system's.
    if let Some(dir) = found.search.as_ref().filter(|_| args.only != Some(Only::Netmap)) {
        all.push(("LD_LIBRARY_PATH", joined(&[dir], "LD_LIBRARY_PATH")));
    }
    if !args.map.is_empty() {
        all.push(("RINGWAY_MAP", args.map.join(",").into()));
    }
    if let Some(only) = args.only.and_then(|only| only.to_possible_value()) {
        all.push(("RINGWAY_ONLY", only.get_name().into()));
    }
    if let Some(backend) = args.netmap_backend.and_then(|backend| backend.to_possible_value()) {
        all.push(("RINGWAY_NETMAP_BACKEND", backend.get_name().into()));
    }
    if args.copy {
        all.push(("RINGWAY_COPY", "1".into()));
    }
    if let Some(us) = args.batch_us {
        all.push(("RINGWAY_BATCH_US", us.to_string().into()));
    }
    if args.verbose {
        all.push(("RINGWAY_VERBOSE", "1".into()));
    }
    all
}

/// The paths, and behind them the paths that the variable has already.
fn joined(paths: &[&Path], variable: &str) -> OsString {
    let old = std::env::var_os(variable).filter(|v| !v.is_empty());
    let all: Vec<OsString> = paths.iter().map(|path| path.as_os_str().to_owned()).chain(old).collect();
    all.join(":".as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_name_an_interface_and_a_port() {
        assert!(mapping("eth0=vale0:p1").is_ok());
        assert!(mapping("eth0=fault:drop=1%,port=vale0:p1").is_ok());
        for bad in ["eth0", "=vale0:p1", "eth0=what:ever", "a,b=null:"] {
            assert!(mapping(bad).is_err(), "{bad}");
        }
        let map = |all: &[&str]| all.iter().map(|m| (*m).to_owned()).collect::<Vec<_>>();
        assert_eq!(mapped_twice(&map(&["a=null:", "b=null:", "a=loop:"])), Some("a"));
        assert_eq!(mapped_twice(&map(&["a=null:", "b=null:"])), None);
    }
}
