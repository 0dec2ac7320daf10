//! Addresses and routes that an interface gets: of the plugin for addresses, or of an earlier result.

use std::net::IpAddr;

use serde_json::Value;

use super::error::{Code, Error, Result};

/// An address with the length of its network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) ip: IpAddr,
    pub(super) length: u8,
    pub(super) gateway: Option<IpAddr>,
    /// The place of its interface in the list of a result.
    pub(super) interface: Option<u64>,
}

/// A route. Numbers have the words of `ip route`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) to: (IpAddr, u8),
    pub(super) via: Option<IpAddr>,
    pub(super) numbers: Vec<(&'static str, u32)>,
}

/// All of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) addresses: Vec<Address>,
    pub(super) routes: Vec<Route>,
}

/// Keys of a route, and the words of `ip route` for them.
const NUMBERS: [(&str, &str); 5] =
    [("mtu", "mtu"), ("advmss", "advmss"), ("priority", "metric"), ("table", "table"), ("scope", "scope")];

impl Given {
    /// Reads the keys `ips` and `routes` of a result.
    pub(super) fn read(result: &Value) -> Result<Self> {
        let addresses: Vec<Address> = list(&result["ips"], "ips", address)?;
        let mut routes = list(&result["routes"], "routes", route)?;
        for route in &mut routes {
            let of_its_kind = |gateway: &IpAddr| gateway.is_ipv4() == route.to.0.is_ipv4();
            let default = || addresses.iter().filter_map(|a| a.gateway).find(of_its_kind);
            route.via = route.via.or_else(default);
        }
        Ok(Self { addresses, routes })
    }
}

fn list<T>(value: &Value, key: &str, read: fn(&Value) -> Option<T>) -> Result<Vec<T>> {
    let bad = |at: &Value| Error::new(Code::Decode, format!("result: {key}: {at} is not understood"));
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(entries) => entries.iter().map(|entry| read(entry).ok_or_else(|| bad(entry))).collect(),
        other => Err(bad(other)),
    }
}

fn address(entry: &Value) -> Option<Address> {
    let (ip, length) = network(entry["address"].as_str()?)?;
    Some(Address { ip, length, gateway: gateway(&entry["gateway"])?, interface: entry["interface"].as_u64() })
}

fn route(entry: &Value) -> Option<Route> {
    let to = network(entry["dst"].as_str()?)?;
    let mut numbers = Vec::new();
    for (key, word) in NUMBERS {
        match &entry[key] {
            Value::Null => {}
            value => numbers.push((word, u32::try_from(value.as_u64()?).ok()?)),
        }
    }
    let via = gateway(&entry["gw"])?.filter(|via| via.is_ipv4() == to.0.is_ipv4());
    Some(Route { to, via, numbers })
}

/// `Some(None)` where there is none.
fn gateway(value: &Value) -> Option<Option<IpAddr>> {
    match value {
        Value::Null => Some(None),
        Value::String(text) if text.is_empty() => Some(None),
        Value::String(text) => text.parse().ok().map(Some),
        _ => None,
    }
}

fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (ip, length) = text.split_once('/')?;
    let ip: IpAddr = ip.parse().ok()?;
    let length = length.parse().ok()?;
    (length <= if ip.is_ipv4() { 32 } else { 128 }).then_some((ip, length))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn routes_take_the_gateway_of_their_kind() {
        let given = Given::read(&json!({
            "ips": [{ "address": "10.0.0.2/24", "gateway": "10.0.0.1" }, { "address": "fd00::2/64" }],
            "routes": [{ "dst": "0.0.0.0/0", "priority": 7 }, { "dst": "::/0" }, { "dst": "10.1.0.0/16", "gw": "10.0.0.9" }],
        }))
        .unwrap();
        let via: Vec<_> = given.routes.iter().map(|r| r.via.map(|ip| ip.to_string())).collect();
        assert_eq!(via, [Some("10.0.0.1".into()), None, Some("10.0.0.9".into())]);
        assert_eq!(given.routes[0].numbers, [("metric", 7)]);
    }

    #[test]
    fn wrong_results_are_refused() {
        for wrong in [
            json!({ "ips": 1 }),
            json!({ "ips": [{ "address": "10.0.0.2" }] }),
            json!({ "ips": [{ "address": "10.0.0.2/33" }] }),
            json!({ "ips": [{ "address": "10.0.0.2/24", "gateway": "x" }] }),
            json!({ "routes": [{ "dst": "default" }] }),
            json!({ "routes": [{ "dst": "0.0.0.0/0", "mtu": "big" }] }),
        ] {
            assert_eq!(Given::read(&wrong).unwrap_err().code, 6, "{wrong}");
        }
    }
}
