//! `ringway router show`.

use std::collections::HashMap;
use std::io::Write;
use std::net::IpAddr;

use ringway_fib::{FibError, Prefix4, Prefix6};
use ringway_router::follow::{Ask, Request};
use serde_json::Value;

use super::of::Of;
use super::words;
use crate::console::Console;
use crate::errors;
use crate::failure::Failure;

/// Show prefixes and where the fast path sends their packets
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prefixes of tables local and main, and neighbours on links, each with its next hop: gateway, interface, link address of the neighbour \
(or unresolved: the kernel asks for it), longest packet. `local` is for the host, `by the kernel` is what the kernel forwards, `unreachable` \
also routes of type throw. Where there is no route within the prefix, the exit code is 1.

Examples:
  ringway router show
  ringway router show 10.0.0.0/8
  ringway router show 2001:db8::/32
  ringway router show --json | jq -r 'select(.kind == \"incomplete\") | .prefix'")]
pub(super) struct Args {
    /// Only prefixes within this one; `default` is 0.0.0.0/0, an address a prefix of all its bits
    prefix: Option<String>,

    #[command(flatten)]
    of: Of,
}

impl Args {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        let within = self
            .prefix
            .as_deref()
            .map(within)
            .transpose()
            .map_err(|e| Failure::Usage(errors::command::BAD_VALUE, e.to_string()))?;
        let mut ask = self.of.ask()?;
        let mut out = std::io::BufWriter::new(std::io::stdout());
        let mut found = false;
        let families = within.as_ref().map_or(vec![4, 6], |(family, _)| vec![*family]);
        let within = within.map(|(_, prefix)| prefix);
        for family in families {
            let written = if console.json { object } else { line };
            found |= pages(&mut ask, family, within.as_ref(), written, &mut out)?;
        }
        out.flush()?;
        match within.filter(|_| !found) {
            Some(prefix) => Err(Failure::Other(errors::switches::NO_ROUTE, none(&prefix))),
            None => Ok(()),
        }
    }
}

/// The routes of a family, page by page; whether there is any. `written` makes a next hop what goes around a prefix: once for each of a
/// page, since a million routes may share a few.
fn pages(
    ask: &mut Ask,
    family: u8,
    within: Option<&String>,
    written: impl Fn(&Value) -> Around,
    out: &mut impl Write,
) -> Result<bool, Failure> {
    let (mut after, mut any) = (None, false);
    loop {
        let page = ask.ask(&Request::Show { family, within: within.cloned(), after })?;
        let next_hops = page["next_hops"].as_object().into_iter().flatten();
        let around: HashMap<u64, Around> =
            next_hops.filter_map(|(number, hop)| Some((number.parse().ok()?, written(hop)))).collect();
        for route in page["routes"].as_array().into_iter().flatten() {
            let (Some(prefix), Some(number)) = (route[0].as_str(), route[1].as_u64()) else { continue };
            if let Some((before, behind)) = around.get(&number) {
                any = true;
                writeln!(out, "{before}{prefix}{behind}")?;
            }
        }
        after = page["after"].as_str().map(str::to_owned);
        if after.is_none() {
            return Ok(any);
        }
    }
}

/// What stands before and behind the prefix of a route.
type Around = (&'static str, String);

/// A route as a line for people.
fn line(hop: &Value) -> Around {
    let words = words::next_hop(hop);
    ("", if words.starts_with('\n') { words } else { format!(" {words}") })
}

/// A route as an object of JSON.
fn object(hop: &Value) -> Around {
    let keys = hop.to_string();
    let keys = keys.trim_start_matches('{');
    ("{\"prefix\":\"", if keys == "}" { "\"}".into() } else { format!("\",{keys}") })
}

/// Family and prefix of what was asked for. A single address is a prefix, too.
fn within(text: &str) -> Result<(u8, String), FibError> {
    match text.parse() {
        Ok(IpAddr::V4(addr)) => Ok((4, format!("{addr}/32"))),
        Ok(IpAddr::V6(addr)) => Ok((6, format!("{addr}/128"))),
        Err(_) if text.contains(':') => Ok((6, text.parse::<Prefix6>()?.to_string())),
        Err(_) => Ok((4, text.parse::<Prefix4>()?.to_string())),
    }
}

/// What is said where a prefix has no route.
fn none(prefix: &str) -> String {
    let address = prefix.split('/').next().unwrap_or(prefix);
    format!(
        "there is no route within {prefix}; `ringway router get {address}` shows the one that packets take"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_route_is_an_object_with_its_prefix() {
        for hop in [json!({}), json!({ "kind": "group", "group": [{ "dev": "e1" }] })] {
            let (before, behind) = object(&hop);
            let mut expected = hop;
            expected["prefix"] = "10.0.0.0/8".into();
            let line = format!("{before}10.0.0.0/8{behind}");
            assert_eq!(line.parse::<Value>().unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn what_can_be_asked_for() {
        for (text, family, prefix) in [
            ("10.0.0.0/8", 4, "10.0.0.0/8"),
            ("10.9.2.2", 4, "10.9.2.2/32"),
            ("2001:db8::1", 6, "2001:db8::1/128"),
            ("2001:db8::/32", 6, "2001:db8::/32"),
            ("default", 4, "0.0.0.0/0"),
        ] {
            assert_eq!(within(text).unwrap(), (family, prefix.to_owned()), "{text}");
        }
        for wrong in ["foo", "10.9.2.1/24", "10.0.0.0/33", "", "::1/64"] {
            let e = within(wrong).unwrap_err().to_string();
            assert!(e.starts_with(&format!("{wrong}: no prefix")), "{e}");
        }
        assert!(none("10.9.2.9/32").contains("`ringway router get 10.9.2.9`"));
    }
}
