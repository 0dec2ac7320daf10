//! `ringway route show`.

use std::io::Write;

use ringway_router::follow::{Ask, Request};
use serde_json::Value;

use super::{Of, words};
use crate::console::Console;
use crate::failure::Failure;

/// Show prefixes and where the fast path sends their packets
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prefixes of tables local and main, and neighbours on links, each with its next hop: gateway, interface, link address of the neighbour \
(or unresolved: the kernel asks for it), longest packet. `local` is for the host, `by the kernel` is what the kernel forwards.

--json prints an object for each prefix, a line each. Keys:
  prefix, next_hop (number of the next hop), kind (ready, incomplete, local, host, blackhole, unreachable, prohibit, group)
  dev, via (null: on the link), mtu, lladdr, source     link addresses of neighbour and interface
  group[]                                               members: these keys and weight

Examples:
  ringway route show
  ringway route show 10.0.0.0/8
  ringway route show 2001:db8::/32
  ringway route show --json | jq -r 'select(.kind == \"incomplete\") | .prefix'")]
pub(super) struct Args {
    /// Only prefixes within this one
    prefix: Option<String>,

    #[command(flatten)]
    of: Of,
}

impl Args {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        let mut ask = self.of.ask()?;
        let mut out = std::io::BufWriter::new(std::io::stdout());
        let families = match &self.prefix {
            None => &[4, 6][..],
            Some(p) if p.contains(':') => &[6],
            Some(_) => &[4],
        };
        for &family in families {
            self.family(&mut ask, family, |route| {
                if console.json {
                    return writeln!(out, "{route}");
                }
                let prefix = route["prefix"].as_str().unwrap_or("?");
                writeln!(out, "{prefix} {}", words::next_hop(route))
            })?;
        }
        out.flush()?;
        Ok(())
    }

    /// Page by page.
    fn family(
        &self,
        ask: &mut Ask,
        family: u8,
        mut each: impl FnMut(&Value) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        let mut after = None;
        loop {
            let page = ask.ask(&Request::Show { family, within: self.within(), after })?;
            for route in page["routes"].as_array().into_iter().flatten() {
                each(route)?;
            }
            after = page["after"].as_str().map(str::to_owned);
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// A single address is a prefix, too.
    fn within(&self) -> Option<String> {
        let host = |p: &String| if p.contains(':') { format!("{p}/128") } else { format!("{p}/32") };
        self.prefix.as_ref().map(|p| if p.contains('/') { p.clone() } else { host(p) })
    }
}
