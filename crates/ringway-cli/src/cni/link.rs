//! The pair of links of an interface: one end in the container, the other on the host.

use std::fs;

use nix::net::if_::if_nametoindex;
use serde_json::Value;

use super::error::{Code, Error, Result};
use super::given::Given;
use super::ip::{inside, ip, objects};
use crate::existing_names::interfaces;

/// How a pair is to be.
pub(super) struct Pair<'a> {
    pub(super) host: &'a str,
    pub(super) netns: &'a str,
    pub(super) ifname: &'a str,
    pub(super) mtu: Option<u32>,
    pub(super) mac: Option<&'a str>,
}

impl Pair<'_> {
    /// Makes both ends, or none.
    pub(super) fn make(&self) -> Result<()> {
        // It says by itself that the namespace is gone, or is none.
        inside(self.netns, || Ok(()))?;
        let mtu = self.mtu.map(|mtu| mtu.to_string());
        let mtu: Vec<&str> = mtu.iter().flat_map(|mtu| ["mtu", mtu]).collect();
        let mac: Vec<&str> = self.mac.iter().flat_map(|mac| ["address", mac]).collect();
        let here = ["link", "add", "name", self.host];
        let there = ["type", "veth", "peer", "name", self.ifname, "netns", self.netns];
        ip(&[&here[..], &mtu, &there, &mtu, &mac].concat()).map(drop)
    }

    /// Sets both ends up.
    pub(super) fn raise(&self) -> Result<()> {
        inside(self.netns, || ip(&["link", "set", "dev", self.ifname, "up"]))?;
        ip(&["link", "set", "dev", self.host, "up"]).map(drop)
    }

    /// Gives the container's end its addresses and routes.
    pub(super) fn configure(&self, given: &Given) -> Result<()> {
        inside(self.netns, || {
            if given.addresses.iter().any(|address| address.ip.is_ipv6()) {
                allow_ipv6(self.ifname)?;
            }
            for address in &given.addresses {
                let text = format!("{}/{}", address.ip, address.length);
                // Nobody else has the address: the plugin for addresses sees to that.
                let check: &[&str] = if address.ip.is_ipv6() { &["nodad"] } else { &[] };
                ip(&[&["address", "add", &text, "dev", self.ifname], check].concat())?;
            }
            for route in &given.routes {
                let to = format!("{}/{}", route.to.0, route.to.1);
                let via = route.via.map(|via| via.to_string());
                let numbers: Vec<_> = route.numbers.iter().map(|(word, n)| (*word, n.to_string())).collect();
                let mut words = vec!["route", "add", &to];
                words.extend(via.iter().flat_map(|via| ["via", via]));
                words.extend(["dev", self.ifname]);
                words.extend(numbers.iter().flat_map(|(word, n)| [*word, n]));
                ip(&words)?;
            }
            Ok(())
        })
    }
}

/// Images of containers may have switched IPv6 off for new interfaces.
fn allow_ipv6(ifname: &str) -> Result<()> {
    let file = format!("/proc/sys/net/ipv6/conf/{ifname}/disable_ipv6");
    fs::write(&file, "0").map_err(|e| {
        Error::new(Code::Io, format!("writing {file} failed: {e}; the kernel needs IPv6 for these addresses"))
    })
}

/// Removes a pair by its host end; none is fine.
pub(super) fn remove(host: &str) -> Result<()> {
    let is_there = || if_nametoindex(host).is_ok();
    if !is_there() {
        return Ok(());
    }
    // The kernel may be removing it at this moment, with the namespace of the other end.
    ip(&["link", "del", "dev", host]).map(drop).or_else(|e| if is_there() { Err(e) } else { Ok(()) })
}

/// Names of the interfaces here that begin so.
pub(super) fn beginning(prefix: &str) -> Vec<String> {
    interfaces().into_iter().filter(|name| name.starts_with(prefix)).collect()
}

/// An interface of the present network namespace, as `ip -json address` has it.
pub(super) fn show(name: &str) -> Result<Value> {
    let found = objects(&["address", "show", "dev", name])?;
    found
        .into_iter()
        .next()
        .ok_or_else(|| Error::new(Code::Changed, format!("{name}: there is no such interface")))
}
