//! `ringway route stats`.

use ringway_router::follow::Request;
use ringway_router::kernel::{Kind, Router};
use ringway_watch::routers;
use serde_json::{Value, json};

use super::{Of, describe, words};
use crate::console::Console;
use crate::failure::Failure;
use crate::{link, stop};

/// Show packets by next hop, and what became of the others
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Next hops that were sent packets, most first, with packets and bytes since they came into use, or since the process that follows the \
kernel's tables was started; one that no route leads to any more is not shown. Bytes are those of packets, without link headers. Then, for \
all members together since they became members, what was left to the host and what was dropped, by the names of docs/router.md. `ringway vale stats` shows members one by one.

Keys of --json: name, next_hops[] (keys of ringway route show, packets, bytes), reasons (an object: packets by name, those that \
did not occur with 0).

Examples:
  ringway route stats
  ringway route stats -w 1
  ringway route stats --json | jq '.reasons'")]
pub(super) struct Args {
    #[command(flatten)]
    of: Of,

    /// Print again every SECONDS, until Ctrl-C
    #[arg(short, long, value_name = "SECONDS", value_parser = link::period)]
    watch: Option<f64>,
}

impl Args {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        stop::repeat(self.watch, console, || self.show(console))
    }

    fn show(&self, console: Console) -> Result<(), Failure> {
        let name = self.of.name()?;
        let hops = self.hops()?;
        let sum = routers::sum(&Router::open(&name)?.stats());
        let text: Vec<_> = hops
            .iter()
            .map(|h| {
                let packets = if h["packets"] == 1 { "packet " } else { "packets" };
                format!("{:>12} {packets} {:>15} bytes  {}", h["packets"], h["bytes"], words::next_hop(h))
            })
            .chain(sum.iter().filter(|(o, n)| o.kind() != Kind::Forwarded && *n > 0).map(|(outcome, n)| {
                let kind = match outcome.kind() {
                    Kind::Host => "to the host",
                    Kind::Drop => "dropped",
                    Kind::Forwarded | Kind::Egress => "at the egress",
                };
                format!("{n:>12} {kind}: {}", outcome.name())
            }))
            .collect();
        let object = json!({ "name": name, "next_hops": hops, "reasons": describe::reasons(&sum) });
        let text = if text.is_empty() { format!("{name}: no packets yet") } else { text.join("\n") };
        console.result(&text, &object)?;
        Ok(())
    }

    /// Those with packets, most first.
    fn hops(&self) -> Result<Vec<Value>, Failure> {
        let mut ask = self.of.ask()?;
        let (mut hops, mut after) = (Vec::new(), 0);
        loop {
            let mut page = ask.ask(&Request::Stats { after })?;
            if let Value::Array(some) = page["next_hops"].take() {
                hops.extend(some.into_iter().filter(|h| h["packets"] != 0));
            }
            match page["after"].as_u64().and_then(|n| u16::try_from(n).ok()) {
                Some(last) => after = last,
                None => break,
            }
        }
        hops.sort_by_key(|h| std::cmp::Reverse(h["packets"].as_u64()));
        Ok(hops)
    }
}
