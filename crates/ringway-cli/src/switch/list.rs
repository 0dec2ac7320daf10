//! `ringway switch list`.

use std::time::Duration;

use ringway::switch::{Module, SwitchPortStats};
use ringway_traffic::units::many;
use ringway_watch::switches::Reading;
use serde_json::{Value, json};

use super::access::{access_keys, rights};
use super::names::{Chosen, Scope};
use super::shown;
use super::words::{bytes, seconds};
use crate::console::Console;
use crate::failure::Failure;
use crate::router::describe;

/// Show switches and their ports
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Of each port: number, name, whether it stays or goes away with its last user, is an interface, the host's side of one or \
an interface that was deleted meanwhile, who may open it, how many addresses the switch \
learned of it, and the process that has it open.

Examples:
  ringway switch list
  ringway switch list vale0 --json | jq '.switches[0].ports[].name'")]
pub(super) struct Args {
    #[command(flatten)]
    only: Chosen,
}

impl Args {
    pub(super) fn run(&self, scope: Scope, console: Console) -> Result<(), Failure> {
        let switches = self.only.switches(scope)?;
        let routers = self.only.routers(scope)?;
        let switches = switches.iter().map(|s| (text_of(s), object(s))).collect();
        let routers = routers.iter().map(|r| (describe::list(r), describe::object(r))).collect();
        shown::print(scope, switches, routers, console)
    }
}

fn text_of(s: &Reading) -> String {
    let ageing = match s.spec.ageing {
        Duration::ZERO => "never".to_owned(),
        time => format!("after {} s", seconds(time)),
    };
    let mut text = format!(
        "{}: {}{}, {} of {} slots each way, addresses age {ageing}, at most {} a port, {} of kernel memory",
        s.name,
        if s.spec.module == Module::Bridge { String::new() } else { format!("{}, ", s.spec.module) },
        many(s.ports.len() as u64, "port"),
        many(s.spec.rings.into(), "ring"),
        s.spec.slots,
        s.spec.quota,
        bytes(s.memory)
    );
    let width = s.ports.iter().map(|p| p.port.name.len()).max().unwrap_or(0);
    for p in &s.ports {
        text += &line(p, width);
    }
    text
}

fn line(p: &SwitchPortStats, width: usize) -> String {
    let port = &p.port;
    let kind = match port.nic {
        Some(_) if port.gone => "deleted",
        Some(_) if port.host => "host",
        Some(_) => "interface",
        None if port.ephemeral => "ephemeral",
        None => "persistent",
    };
    let open = match (port.open, port.pid) {
        (false, _) => "not open".to_owned(),
        (true, Some(pid)) => format!("open by pid {pid}"),
        (true, None) => "open".to_owned(),
    };
    let learned = format!("{} address{}", p.addresses, if p.addresses == 1 { "" } else { "es" });
    format!(
        "\n  {:>3} {:<width$}  {kind:<10}  {}  {learned}, {open}",
        port.number,
        port.name,
        rights(&port.access)
    )
}

fn object(s: &Reading) -> Value {
    let ports: Vec<Value> = s.ports.iter().map(port).collect();
    json!({
        "name": s.name,
        "slots": s.spec.slots,
        "rings": s.spec.rings,
        "buffers": s.spec.buf_size,
        "ageing": seconds(s.spec.ageing),
        "quota": s.spec.quota,
        "module": s.spec.module.to_string(),
        "memory": s.memory,
        "ports": ports,
    })
}

fn port(p: &SwitchPortStats) -> Value {
    let mut object = access_keys(&p.port.access);
    for (key, value) in [
        ("number", json!(p.port.number)),
        ("name", json!(p.port.name)),
        ("ephemeral", json!(p.port.ephemeral)),
        ("nic", json!(p.port.nic)),
        ("host", json!(p.port.host)),
        ("path", json!(p.port.path.map(|path| path.to_string()))),
        ("gone", json!(p.port.gone)),
        ("open", json!(p.port.open)),
        ("pid", json!(p.port.pid)),
        ("addresses", json!(p.addresses)),
    ] {
        object[key] = value;
    }
    object
}
