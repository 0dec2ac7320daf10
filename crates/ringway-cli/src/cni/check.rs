//! `CHECK`: whether all that `ADD` made is still there.

use serde_json::Value;

use super::conf::Conf;
use super::error::{Code, Error, Result};
use super::given::{Given, Route};
use super::ip::{inside, objects};
use super::ipam::Ipam;
use super::keys::wrong;
use super::link;
use super::member;
use super::names::host_end;
use super::request::Attachment;

pub(super) fn check(of: &Attachment, conf: &Conf, ipam: Option<&Ipam>) -> Result<()> {
    let previous =
        conf.previous.as_ref().ok_or_else(|| wrong("prevResult", "CHECK needs the result of ADD"))?;
    let netns = of.netns.as_deref().unwrap_or_default();
    let (place, interface) = ours(previous, &of.ifname, netns)?;
    if let Some(ipam) = ipam {
        ipam.run("CHECK")?;
    }
    let host = host_end(&conf.name, &of.container, &of.ifname);
    is_up(&host, &present(&host)?)?;
    member::check(&conf.switch, &host, &conf.port)?;
    let mut given = Given::read(previous)?;
    given.addresses.retain(|address| address.interface.is_none_or(|at| at == place));
    inside(netns, || {
        let far = present(&of.ifname)?;
        is_up(&of.ifname, &far)?;
        same_link(&far, interface, conf.mtu, &of.ifname)?;
        has_addresses(&far, &given, &of.ifname)?;
        given.routes.iter().try_for_each(|route| has_route(route, &of.ifname))
    })
}

/// The container's interface in the earlier result, and its place there.
fn ours<'a>(previous: &'a Value, ifname: &str, netns: &str) -> Result<(u64, &'a Value)> {
    let all = previous["interfaces"].as_array().into_iter().flatten();
    let found = (0..).zip(all).find(|(_, one)| one["name"] == ifname && one["sandbox"] == netns);
    found.ok_or_else(|| wrong("prevResult", &format!("its interfaces have no {ifname} in {netns}")))
}

fn changed(on: &str, what: &str) -> Error {
    Error::new(Code::Changed, format!("{on}: {what}; end the container, and start it again"))
}

fn present(name: &str) -> Result<Value> {
    link::show(name).map_err(|_| changed(name, "the interface is missing"))
}

fn is_up(name: &str, link: &Value) -> Result<()> {
    let up = link["flags"].as_array().is_some_and(|flags| flags.iter().any(|flag| flag == "UP"));
    if up { Ok(()) } else { Err(changed(name, "the interface is down")) }
}

fn same_link(link: &Value, was: &Value, mtu: Option<u32>, name: &str) -> Result<()> {
    let (is, mac) = (&link["address"], &was["mac"]);
    if mac.is_string() && is != mac {
        return Err(changed(name, &format!("the MAC address is {is}, and was {mac}")));
    }
    let mtu = mtu.map(Value::from).or_else(|| was.get("mtu").cloned());
    match mtu.filter(|mtu| link["mtu"] != *mtu) {
        Some(mtu) => Err(changed(name, &format!("the MTU is {}, and was {mtu}", link["mtu"]))),
        None => Ok(()),
    }
}

fn has_addresses(link: &Value, given: &Given, name: &str) -> Result<()> {
    for address in &given.addresses {
        let (ip, length) = (address.ip.to_string(), address.length);
        let mut present = link["addr_info"].as_array().into_iter().flatten();
        if !present.any(|one| one["local"] == *ip && one["prefixlen"] == length) {
            return Err(changed(name, &format!("the address {ip}/{length} is missing")));
        }
    }
    Ok(())
}

fn has_route(route: &Route, name: &str) -> Result<()> {
    let to = format!("{}/{}", route.to.0, route.to.1);
    let family = if route.to.0.is_ipv4() { "-4" } else { "-6" };
    let via = route.via.map(|via| via.to_string());
    let via: Vec<&str> = via.iter().flat_map(|via| ["via", via]).collect();
    let words = [&[family, "route", "show", "exact", &to][..], &["table", "all", "dev", name], &via].concat();
    if objects(&words)?.is_empty() {
        Err(changed(name, &format!("the route to {to} is missing")))
    } else {
        Ok(())
    }
}
