//! `ringway router get`.

use std::net::IpAddr;

use ringway_router::follow::{Flow, Request};
use serde_json::Value;

use super::of::Of;
use super::words;
use crate::console::Console;
use crate::errors;
use crate::failure::Failure;

/// Show what becomes of packets to an address, and by which rule
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Rules are those of docs/router.md, as far as they ask for addresses. Without `from` and `iif` the rules on sources and interfaces are \
left out. Packets longer than the MTU that is shown, with a TTL of 1, or with options go to the kernel all the same. Of a group \
the member is shown that the flow gets, then all.

Examples:
  ringway router get 192.0.2.1
  ringway router get 192.0.2.1 from 198.51.100.7 iif eth0
  ringway router get 2001:db8::1 from 2001:db8:1::1 iif eth0 ipproto tcp sport 40000 dport 443")]
pub(super) struct Args {
    /// ADDRESS [from ADDRESS] [iif IF] [ipproto tcp|udp|NUMBER] [sport PORT] [dport PORT]
    #[arg(required = true, value_name = "ADDRESS")]
    words: Vec<String>,

    #[command(flatten)]
    of: Of,
}

impl Args {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        let flow = flow(&self.words).map_err(|e| Failure::Usage(errors::command::BAD_VALUE, e))?;
        let sourced = flow.from.is_some();
        let answer = self.of.ask()?.ask(&Request::Get(flow))?;
        console.result(&describe(&answer, sourced), &answer)?;
        Ok(())
    }
}

fn flow(words: &[String]) -> Result<Flow, String> {
    let wrong = |what: &str, word: &str| format!("{word} is no {what}; see --help");
    let [to, pairs @ ..] = words else { return Err("name an address".into()) };
    let address = |word: &String| word.parse::<IpAddr>().map_err(|_| wrong("address", word));
    let mut flow = Flow { to: address(to)?, from: None, interface: None, protocol: 0, ports: (0, 0) };
    let mut pairs = pairs.iter();
    while let Some(key) = pairs.next() {
        if !KEYS.contains(&key.as_str()) {
            return Err(format!("{key}: accepted behind the one address are {}", KEYS.join(", ")));
        }
        let value = pairs.next().ok_or_else(|| format!("{key}: its value is missing"))?;
        let port = || value.parse().map_err(|_| wrong("port", value));
        match key.as_str() {
            "from" => flow.from = Some(address(value)?),
            "iif" => flow.interface = Some(value.clone()),
            "ipproto" => {
                flow.protocol = match value.as_str() {
                    "tcp" => 6,
                    "udp" => 17,
                    other => other.parse().map_err(|_| wrong("protocol", other))?,
                }
            }
            "sport" => flow.ports.0 = port()?,
            _ => flow.ports.1 = port()?,
        }
    }
    if flow.ports != (0, 0) && !PORTS.contains(&flow.protocol) {
        return Err(
            "sport and dport are asked for with ipproto tcp, udp, 33 (DCCP) and 132 (SCTP) only".into()
        );
    }
    Ok(flow)
}

/// What may follow the address.
const KEYS: [&str; 5] = ["from", "iif", "ipproto", "sport", "dport"];

/// Protocols whose ports count: TCP, UDP, DCCP, SCTP.
const PORTS: [u8; 4] = [6, 17, 33, 132];

/// The answer in words; `sourced`: to a question that names the source.
fn describe(answer: &Value, sourced: bool) -> String {
    let word = |key: &str| answer[key].as_str().unwrap_or("?").to_owned();
    let (verdict, reason) = (word("verdict"), word("reason"));
    let verdict = match verdict.as_str() {
        "forward" => "forwarded".to_owned(),
        "host" => format!("to the host: {reason}"),
        _ => format!("dropped: {reason}"),
    };
    let mut text = format!("{} {verdict} (rule {})", word("to"), answer["rule"]);
    if answer["prefix"].is_string() {
        text += &format!("\n  {}", words::route(answer));
    }
    if let Some(source) = answer["source"].as_str() {
        text += &format!(" source {source}");
    }
    if answer["group"].is_array() && answer["kind"] != "group" {
        let which = if sourced {
            "the member for this flow"
        } else {
            "a member; `from ADDRESS` tells which for a flow"
        };
        text += &format!("\n  {which}, of{}", words::members(answer));
    }
    if let Some(why) = answer["hindrance"].as_str() {
        text += &format!("\n  but now the kernel forwards: {why}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Flow, String> {
        flow(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_those_of_ip_route() {
        let flow = words("10.0.0.1 from 10.0.0.2 iif e0 ipproto udp sport 5 dport 6").unwrap();
        assert_eq!((flow.to, flow.from), ([10, 0, 0, 1].into(), Some([10, 0, 0, 2].into())));
        assert_eq!((flow.interface.as_deref(), flow.protocol, flow.ports), (Some("e0"), 17, (5, 6)));
        for (wrong, says) in [
            ("x", "x is no address"),
            ("10.0.0.1 via 10.0.0.2", "via: accepted behind the one address are from,"),
            ("10.0.0.1 10.0.0.2", "10.0.0.2: accepted behind the one address are from,"),
            ("10.0.0.1 from", "from: its value is missing"),
            ("10.0.0.1 ipproto tcp sport 65536", "65536 is no port"),
            ("10.0.0.1 ipproto x", "x is no protocol"),
            ("10.0.0.1 dport 80", "with ipproto tcp"),
            ("10.0.0.1 ipproto 1 dport 80", "with ipproto tcp"),
        ] {
            let e = words(wrong).unwrap_err();
            assert!(e.contains(says), "{wrong}: {e}");
        }
    }
}
