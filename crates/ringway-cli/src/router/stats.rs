//! `ringway router stats`.

use ringway_router::follow::Request;
use ringway_router::kernel::{Kind, Router};
use ringway_watch::routers;
use serde_json::{Value, json};

use super::of::Named;
use super::{describe, words};
use crate::console::Console;
use crate::failure::Failure;
use crate::options::Every;

/// Show packets by next hop, and what became of the others
#[derive(Debug, clap::Args)]
#[command(after_help = "\
First the next hops that were sent packets, most first: packets and bytes since they came into use, or since the process that follows the \
kernel's tables started. A next hop that no route leads to any more is not shown. Bytes do not count link headers. Then, for \
all members together since they became members: packets left to the host and packets dropped, by the names of docs/router.md. Last, \
each member.

Examples:
  ringway router stats
  ringway router stats -w 1
  ringway router stats --json | jq '.reasons'")]
pub(super) struct Args {
    #[command(flatten)]
    router: Named,

    #[command(flatten)]
    watch: Every,
}

impl Args {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        self.watch.repeat(console, || self.show(console))
    }

    fn show(&self, console: Console) -> Result<(), Failure> {
        let name = self.router.of().name()?;
        let hops = self.hops()?;
        let members = Router::open(&name)?.stats();
        let sum = routers::sum(&members);
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
            .chain(members.iter().map(|m| describe::member_counts(&name, m)))
            .collect();
        let objects: Vec<Value> = members.iter().map(describe::member).collect();
        let reasons = describe::reasons(&sum);
        let object = json!({ "name": name, "next_hops": hops, "reasons": reasons, "members": objects });
        let none = if sum.frames_in() == 0 { format!("{name}: no packets yet\n") } else { String::new() };
        console.result(&format!("{none}{}", text.join("\n")), &object)?;
        Ok(())
    }

    /// Those with packets, most first.
    fn hops(&self) -> Result<Vec<Value>, Failure> {
        let mut ask = self.router.of().ask()?;
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
