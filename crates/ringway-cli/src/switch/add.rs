//! `ringway vale add`, `del` and `reload`.

use std::time::Duration;

use ringway::ErrorKind;
use ringway::probe::{self, Peer};
use ringway::switch::{Module, NicOptions, NicPath, Switch, SwitchSpec, is_router};
use serde_json::json;

use super::list::{bytes, seconds};
use crate::console::{Console, note};
use crate::failure::Failure;
use crate::router::add as router;

/// Make a switch or a router, or with SWITCH:IF make an interface a port of one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
An interface gives all that it receives to the switch; its host's own stack receives nothing from it any more. Frames \
between interfaces are moved by the kernel alone, with no process at all. `ringway vale port del` gives it back.

Veths, taps and other software interfaces get in and out by tc, in the kernel's own buffers: containers need no setting, TCP keeps its \
segmentation offload, frames of any MTU pass. NICs with native XDP get in and out by XDP. --path chooses. By XDP a veth's far end must \
run NAPI (`ethtool -K PEER gro on`), and loses segmentation offload.

Each slot of each ring has a buffer of its own: a port of the default size takes 4.5 MiB of kernel memory. --slots and --buffers make it \
small: with --slots 64 --buffers 256 it takes 0.4 MiB, 254 ports less than 100 MiB. Bursts then overflow sooner.

With --host the stack is a port too, called IF^: the host keeps its addresses on the interface, and reaches all ports of the \
switch. All interfaces of the switch must then be in one network namespace. What virtual ports send to \
the host arrives from processes in the interface's network namespace only.

With --module router the interfaces become members of a router: an eBPF program on each forwards IPv4 and IPv6 as the kernel's \
routes and neighbours say, and leaves to the kernel all that it is not sure of (docs/router.md). On NICs it runs in the driver (XDP), \
several times faster than the kernel; on veths, taps and interfaces without native XDP at traffic control, where super-frames stay whole. \
--path names one for all. Members are the \
Ethernet interfaces of this network namespace that are up and forward, or those named with --nic; `ringway vale add vale0:eth3` adds \
one later. A process stays behind that follows the kernel's tables (log: /run/ringway/NAME.log); if it dies, the kernel forwards again 3 s \
later, and `ringway route sync` or this command starts it again. With --foreground it is this process, for systemd (Type=notify). A \
router is refused where packets would go around rules of policy routing, packet filters, IPsec policies or tc filters.

Keys of --json: name, slots, rings, buffers (bytes of each), ageing (seconds; 0: never), quota, module, memory (bytes of the kernel), port_memory (what each port adds); with SWITCH:IF: \
switch, port, number, path (xdp or tc), host (number of the host's port, or null); of a router: name, pid, members, warnings, taken_over (whether \
it was there without a process).

Examples:
  ringway vale add vale0
  ringway vale add vale-lab --rings 2 --slots 512 --ageing 1m --quota 1000
  ringway vale add vale1 --module hub
  ringway vale add vale3 --slots 64 --buffers 256  # small ports, for many of them
  ringway vale add vale2 --module router           # all interfaces that forward
  ringway vale add vale2 --module router --nic eth0 --nic eth1 --rpf6 strict
  ringway vale add vale0:eth1                      # eth1 becomes a port
  ringway vale add vale0:eth2 --host               # and eth2, with its host's stack as eth2^
  ringway vale add vale0:veth7 --path xdp          # frames before the kernel makes buffers of them")]
pub(super) struct Add {
    /// Its name: vale and up to 11 letters, digits, _ or -; or SWITCH:IF
    switch: String,

    /// Slots of each ring of each port: a power of two, 64 to 4096
    #[arg(long, default_value_t = SwitchSpec::default().slots)]
    slots: u32,

    /// Rings of each direction of each port, 1 to 8; ring i sends to rings i
    #[arg(long, default_value_t = SwitchSpec::default().rings)]
    rings: u32,

    /// Bytes of each buffer, of which each slot has one: a multiple of 64, 256 to 2112; longer frames take several slots
    #[arg(long, value_name = "BYTES", default_value_t = SwitchSpec::default().buf_size)]
    buffers: u32,

    /// How long an address is remembered after its last frame: 32ms or more, such as 300s or 5m; 0: for ever
    #[arg(long, default_value = "300s", value_parser = duration)]
    ageing: Duration,

    /// Addresses learned of one port at most, 1 to 131072
    #[arg(long, default_value_t = SwitchSpec::default().quota)]
    quota: u32,

    /// What decides where frames go: bridge (learns addresses), hub (all to all), router (the kernel's routes), or the file of a
    /// module, a compiled eBPF object (docs/modules.md)
    #[arg(long, default_value = "bridge")]
    module: Decider,

    /// With SWITCH:IF: the host's own stack on the interface becomes a port, too
    #[arg(long)]
    host: bool,

    #[command(flatten)]
    router: router::Options,
}

/// What decides where frames go.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Decider {
    Router,
    Switch(Module),
}

impl std::str::FromStr for Decider {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "router" { Self::Router } else { Self::Switch(text.parse()?) })
    }
}

impl Add {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        if let Some((switch, interface)) = self.switch.split_once(':') {
            return self.add_nic(switch, interface, console);
        }
        if self.module == Decider::Router {
            if self.host || self.spec() != SwitchSpec::default() {
                return Err(Failure::Usage(
                    "--slots, --rings, --buffers, --ageing, --quota and --host are for switches".into(),
                ));
            }
            return self.router.make(&self.switch, console);
        }
        if self.router != router::Options::default() {
            return Err(Failure::Usage(format!("{} are for routers: add --module router", router::NAMES)));
        }
        if self.host {
            return Err(Failure::Usage(
                "--host is for interfaces: name SWITCH:IF, such as vale0:eth1".into(),
            ));
        }
        let switch = Switch::create(&self.switch, &self.spec())?;
        let (name, memory, spec) = (switch.name(), switch.memory(), switch.spec());
        let port_memory = switch.port_memory();
        let object = json!({
            "name": name,
            "slots": spec.slots,
            "rings": spec.rings,
            "buffers": spec.buf_size,
            "ageing": seconds(spec.ageing),
            "quota": spec.quota,
            "module": spec.module.to_string(),
            "memory": memory,
            "port_memory": port_memory,
        });
        let text = format!(
            "{name}: made; {} of kernel memory, and {} for each port",
            bytes(memory),
            bytes(port_memory)
        );
        console.result(&text, &object)?;
        Ok(())
    }

    fn spec(&self) -> SwitchSpec {
        SwitchSpec {
            slots: self.slots,
            rings: self.rings,
            buf_size: self.buffers,
            ageing: self.ageing,
            quota: self.quota,
            module: match &self.module {
                Decider::Switch(module) => module.clone(),
                Decider::Router => Module::default(),
            },
        }
    }

    fn add_nic(&self, switch: &str, interface: &str, console: Console) -> Result<(), Failure> {
        if self.spec() != SwitchSpec::default() || !self.router.is_path_alone() {
            return Err(Failure::Usage(
                "options are for making a switch; SWITCH:IF takes --host and --path only".into(),
            ));
        }
        if is_router(switch) {
            if self.router.path.is_some() {
                return Err(Failure::Usage(
                    "--path of a router is that of all its members: name it with --module router".into(),
                ));
            }
            return router::join(switch, interface, self.host, console);
        }
        let open = Switch::open(switch)?;
        let options = NicOptions { host: self.host, path: self.router.nic_path() };
        let number = open.add_nic_with(interface, &options)?;
        let path = open.find_port(interface)?.path.unwrap_or_default();
        let host = if self.host { Some(open.find_port(&format!("{interface}^"))?.number) } else { None };
        let object = json!({ "switch": switch, "port": interface, "number": number, "path": path.to_string(), "host": host });
        let also = host.map_or_else(String::new, |n| format!(", its host {interface}^ number {n}"));
        console.result(
            &format!("{switch}:{interface}: interface added by {path}, number {number}{also}"),
            &object,
        )?;
        if path == NicPath::Xdp
            && let Some(warning) = probe::interface(interface).ok().and_then(|is| unsendable(&is))
        {
            note(&format!("{switch}:{interface}: {warning}"));
        }
        Ok(())
    }
}

/// What is to be said of a veth whose far end does not take what a switch sends, or may not.
fn unsendable(is: &probe::Interface) -> Option<String> {
    let far = match &is.peer {
        Peer::None => return None,
        Peer::Here { name, .. } => name.as_str(),
        _ => "PEER",
    };
    let (what, when) = match is.far_end_polls() {
        Some(true) => return None,
        Some(false) => ("the far end of the veth does not run NAPI", ""),
        None => (
            "Linux before 6.3 does not tell whether the far end of the veth runs NAPI",
            "where it does not, ",
        ),
    };
    Some(format!(
        "{what}; {when}frames to it are dropped as device_refused: `ethtool -K {far} gro on` where the far end is"
    ))
}

/// Remove a switch and its ports, or a router
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nothing is removed while a process has a port of it open. `ringway vale port del` removes a single port. Of a router the process that \
follows the kernel's tables is ended, and the kernel forwards all packets again; no route changes. What a command left that was killed \
while it made or removed it goes too.

Keys of --json: name, ports (how many it had).

Example:
  ringway vale del vale0")]
pub(super) struct Del {
    /// Name of the switch or router
    switch: String,
}

impl Del {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        if is_router(&self.switch) {
            return router::remove(&self.switch, console);
        }
        let switch = match Switch::open(&self.switch) {
            Err(e) if e.kind() == ErrorKind::NotFound && router::clear(&self.switch)? => {
                let text = format!("{}: removed what was left of it", self.switch);
                return Ok(console.result(&text, &json!({ "name": self.switch, "ports": 0 }))?);
            }
            switch => switch?,
        };
        let ports = switch.ports().len();
        let stay = switch.nics_out_of_reach();
        switch.delete()?;
        let text = format!("{}: removed, with {}", self.switch, super::many(ports as u64, "port"));
        console.result(&text, &json!({ "name": self.switch, "ports": ports }))?;
        stay.iter().for_each(|nic| super::port::stays_promiscuous(&self.switch, nic));
        Ok(())
    }
}

/// Replace the programs of a switch by those of this version, while frames move
#[derive(Debug, clap::Args)]
#[command(after_help = "\
No frame is lost. A sender that gave up its right to open its port is refused at its next sync.

Keys of --json: name, generation (of the new programs).

Example:
  ringway vale reload vale0")]
pub(super) struct Reload {
    /// Name of the switch
    switch: String,
}

impl Reload {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        let generation = Switch::open(&self.switch)?.reload()?;
        let text = format!("{}: runs programs of generation {generation}", self.switch);
        console.result(&text, &json!({ "name": self.switch, "generation": generation }))?;
        Ok(())
    }
}

/// Time as a number with `ms`, `s`, `m` or `h`; without a unit it is in seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let seconds = digits.parse::<f64>().unwrap_or(f64::NAN) * unit;
    match plain && (0.0..=MAX_SECONDS).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("accepted: NUMBER[ms|s|m|h] up to 8760h, such as 300s or 5m".into()),
    }
}

/// A year.
const MAX_SECONDS: f64 = 8760.0 * 3600.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, ms) in [
            ("0", 0),
            ("300s", 300_000),
            ("300", 300_000),
            ("32ms", 32),
            ("1.5m", 90_000),
            ("8760h", 31_536_000_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for bad in ["", "s", "-1s", "1d", "1e3", "inf", "NaN", "8761h", "1 s", "+1", "1s1", "é"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
