//! `ringway switch fdb`: the forwarding table of a switch.

use std::collections::HashMap;

use clap::Subcommand;
use ringway::switch::{FdbEntry, Switch};
use serde_json::{Value, json};

use super::names::SwitchName;
use super::station::Station;
use crate::console::Console;
use crate::errors;
use crate::failure::Failure;

/// Show and change which addresses a switch knows
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  ringway switch fdb list vale0
  ringway switch fdb add vale0 02:00:00:00:00:01 p1
  ringway switch fdb flush vale0")]
pub(super) enum Command {
    #[command(alias = "show")]
    List(List),
    #[command(alias = "set")]
    Add(Add),
    Blackhole(Blackhole),
    Del(Del),
    Flush(Flush),
}

impl Command {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        match self {
            Self::List(list) => list.run(console),
            Self::Add(add) => add.run(console),
            Self::Blackhole(blackhole) => blackhole.run(console),
            Self::Del(del) => del.run(console),
            Self::Flush(flush) => flush.run(console),
        }
    }
}

/// The address that a command is for.
#[derive(Debug, clap::Args)]
struct Address {
    /// Address of a station, and its VLAN, 0 to 4095, if it is in one
    #[arg(value_name = "MAC[@VLAN]")]
    station: Station,
}

/// Show the addresses, by VLAN and address
#[derive(Debug, clap::Args)]
#[command(after_help = "\
An age is that of the last frame, to within a 32nd of the ageing of the switch.

Examples:
  ringway switch fdb list vale0")]
pub(super) struct List {
    #[command(flatten)]
    of: SwitchName,
}

/// Put an address on a port for good
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ringway switch fdb add vale0 02:00:00:00:00:01 p1
  ringway switch fdb add vale0 02:00:00:00:00:01@20 p1     # in VLAN 20")]
pub(super) struct Add {
    #[command(flatten)]
    of: SwitchName,
    #[command(flatten)]
    at: Address,
    /// Port of the switch
    port: String,
}

/// Drop frames to an address
#[derive(Debug, clap::Args)]
#[command(after_help = "\
They count as blackhole at their sender, also those for which the sender names a port in the flags of the slot (NS_PORT_SHIFT); \
an address that is set on a port does not keep a sender from naming another one. Hubs have no table, and a module decides for \
itself. ringway switch fdb del ends it.

Examples:
  ringway switch fdb blackhole vale0 02:00:00:00:00:66")]
pub(super) struct Blackhole {
    #[command(flatten)]
    of: SwitchName,
    #[command(flatten)]
    at: Address,
}

/// Forget an address, learned or set by hand
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ringway switch fdb del vale0 02:00:00:00:00:66")]
pub(super) struct Del {
    #[command(flatten)]
    of: SwitchName,
    #[command(flatten)]
    at: Address,
}

/// Forget all addresses that were learned; those set by hand stay
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ringway switch fdb flush vale0")]
pub(super) struct Flush {
    #[command(flatten)]
    of: SwitchName,
}

impl List {
    fn run(&self, console: Console) -> Result<(), Failure> {
        let switch = Switch::open(&self.of.switch)?;
        let names: HashMap<u32, String> = switch.ports().into_iter().map(|p| (p.number, p.name)).collect();
        let entries = switch.fdb();
        let text: Vec<String> = entries.iter().map(|e| line(e, &names)).collect();
        let text = if text.is_empty() { "no address is known".to_owned() } else { text.join("\n") };
        let entries: Vec<Value> = entries.iter().map(|e| object(e, &names)).collect();
        console.result(&text, &json!({ "switch": self.of.switch, "entries": entries }))?;
        Ok(())
    }
}

impl Add {
    fn run(&self, console: Console) -> Result<(), Failure> {
        put(&self.of.switch, self.at.station, Some(&self.port), console)
    }
}

impl Blackhole {
    fn run(&self, console: Console) -> Result<(), Failure> {
        put(&self.of.switch, self.at.station, None, console)
    }
}

impl Del {
    fn run(&self, console: Console) -> Result<(), Failure> {
        let Station { mac, vlan } = self.at.station;
        if !Switch::open(&self.of.switch)?.fdb_del(mac, vlan) {
            let (switch, station) = (&self.of.switch, self.at.station);
            let what =
                format!("{switch}: {station} is not known; `ringway switch fdb list {switch}` shows what is");
            return Err(Failure::Other(errors::switches::NO_ADDRESS, what));
        }
        let object = json!({ "switch": self.of.switch, "mac": mac.to_string(), "vlan": vlan });
        console.result(&format!("{}: {} forgotten", self.of.switch, self.at.station), &object)?;
        Ok(())
    }
}

impl Flush {
    fn run(&self, console: Console) -> Result<(), Failure> {
        let flushed = Switch::open(&self.of.switch)?.fdb_flush();
        let text = format!(
            "{}: {flushed} learned address{} forgotten",
            self.of.switch,
            if flushed == 1 { "" } else { "es" }
        );
        console.result(&text, &json!({ "switch": self.of.switch, "flushed": flushed }))?;
        Ok(())
    }
}

fn put(switch: &str, station: Station, port: Option<&str>, console: Console) -> Result<(), Failure> {
    Switch::open(switch)?.fdb_set(station.mac, station.vlan, port)?;
    let place = port.map_or_else(|| "a blackhole".to_owned(), |port| format!("on {port}"));
    let object =
        json!({ "switch": switch, "mac": station.mac.to_string(), "vlan": station.vlan, "port": port });
    console.result(&format!("{switch}: {station} is {place}"), &object)?;
    Ok(())
}

fn line(e: &FdbEntry, names: &HashMap<u32, String>) -> String {
    let station = Station { mac: e.mac, vlan: e.vlan };
    let place = e.port.map_or("blackhole", |n| names.get(&n).map_or("?", String::as_str));
    let age = e.age.map_or_else(|| "static".to_owned(), |age| format!("seen {:.1} s ago", age.as_secs_f64()));
    format!("{station}  {place}  {age}")
}

fn object(e: &FdbEntry, names: &HashMap<u32, String>) -> Value {
    json!({
        "mac": e.mac.to_string(),
        "vlan": e.vlan,
        "port": e.port.and_then(|n| names.get(&n)),
        "number": e.port,
        "static": e.age.is_none(),
        "blackhole": e.port.is_none(),
        "age": e.age.map(|age| age.as_secs_f64()),
    })
}
