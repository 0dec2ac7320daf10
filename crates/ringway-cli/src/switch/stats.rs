//! `ringway switch stats`.

use ringway::PortCounters;
use ringway::switch::{SwitchPortStats, SwitchSum};
use ringway_watch::switches::Reading;
use serde_json::{Value, json};

use super::names::{Chosen, Scope};
use super::shown;
use crate::console::Console;
use crate::counters;
use crate::failure::Failure;
use crate::options::{Every, Verbose};
use crate::router::describe;

/// Show what ports of switches sent and received
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Counters are kept by the kernel, from when a port was made; no process needs to have it open. Of each port:
  tx         what its user sent: out are frames that at least one port received
  rx         what others sent to it: in are copies offered, out those that were put into its rings
  copies     of its frames, that were offered to other ports
  unlearned  frames whose source address found no place in the table
  waiting    slots that wait to be received
  withheld   times its doorbell was not rung though it slept: rings held senders up for too long, and it looks for itself each ms
Of the switch: sums over all ports that it has and had. At rest in = out + dropped of both directions, and the copies that \
senders counted are those that receivers were offered. ringway stats --check tells whether that holds.

For a live view of open ports see also ringway top.

Examples:
  ringway switch stats
  ringway switch stats vale0 -w 1     # every second
  ringway switch stats vale0 --json | jq '.switches[0].ports[] | {name, waiting}'")]
pub(super) struct Args {
    #[command(flatten)]
    only: Chosen,

    #[command(flatten)]
    watch: Every,

    #[command(flatten)]
    verbose: Verbose,
}

impl Args {
    pub(super) fn run(&self, scope: Scope, console: Console) -> Result<(), Failure> {
        self.watch.repeat(console, || self.show(scope, console))
    }

    fn show(&self, scope: Scope, console: Console) -> Result<(), Failure> {
        let switches = self.only.switches(scope)?;
        let routers = self.only.routers(scope)?;
        let switches = switches.iter().map(|s| (text_of(s, self.verbose.verbose), object(s))).collect();
        let routers = routers.iter().map(|r| (describe::stats(r), describe::object(r))).collect();
        shown::print(scope, switches, routers, console)
    }
}

fn text_of(s: &Reading, verbose: bool) -> String {
    let mut text = String::new();
    for p in &s.ports {
        text += &format!("{}:{}\n{}", s.name, p.port.name, port_text(p));
        if verbose {
            text.extend(counters::drops(&p.counters).iter().map(|line| format!("  {line}\n")));
        }
    }
    let (sum, t) = (
        |c: &SwitchSum| format!("{} in, {} out, {} dropped", c.frames_in, c.frames_out, c.dropped),
        &s.totals,
    );
    text + &format!("{} in all\n  rx {}\n  tx {}, {} copies", s.name, sum(&t.rx), sum(&t.tx), t.copies)
}

fn port_text(p: &SwitchPortStats) -> String {
    let mut text = format!("  rx {}", p.counters.rx);
    if p.waiting > 0 {
        text += &format!("; {} waiting", p.waiting);
    }
    if p.counters.rx.wakeups_withheld > 0 {
        text += &format!("; {} wakeups withheld", p.counters.rx.wakeups_withheld);
    }
    text += &format!("\n  tx {}; {} copies", p.counters.tx, p.copies);
    if p.unlearned > 0 {
        text += &format!(", {} unlearned", p.unlearned);
    }
    text + "\n"
}

fn object(s: &Reading) -> Value {
    let ports: Vec<Value> = s.ports.iter().map(port).collect();
    let sum =
        |c: &SwitchSum| json!({ "frames_in": c.frames_in, "frames_out": c.frames_out, "dropped": c.dropped });
    json!({
        "name": s.name,
        "ports": ports,
        "totals": { "rx": sum(&s.totals.rx), "tx": sum(&s.totals.tx), "copies": s.totals.copies },
    })
}

fn port(p: &SwitchPortStats) -> Value {
    let PortCounters { rx, tx } = &p.counters;
    json!({
        "number": p.port.number,
        "name": p.port.name,
        "rx": counters::direction(rx),
        "tx": counters::direction(tx),
        "copies": p.copies,
        "unlearned": p.unlearned,
        "waiting": p.waiting,
        "addresses": p.addresses,
    })
}
