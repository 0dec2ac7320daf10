//! Reading configuration files: what they want.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use ringway::LastingNetns;
use ringway::pinned::{check_name, check_router_name};
use ringway::switch::{Module, PortAccess, PortConf, SwitchSpec, VlanMode};
use toml::de::DeTable;

use super::folder::{self, File};
use super::keys::{ADDRESS, MEMBER, PORT, ROUTER, SWITCH};
use super::plan::Place;
use super::state::{Member, Netns, Port, Router, Switch, Wanted};
use super::table::Table;
use crate::failure::Failure;
use crate::switch::station::Station;
use crate::switch::values::{self, duration, group, implied_mode, mode, user};

/// What the files of a folder want.
pub(super) fn read(folder: &Path) -> Result<Wanted, Failure> {
    wanted(&folder::read(folder)?)
}

/// What files want. Each name stands in one file.
pub(super) fn wanted(files: &[File]) -> Result<Wanted, Failure> {
    let mut all = Wanted::default();
    let mut places = BTreeMap::new();
    for file in files {
        let parsed = DeTable::parse(&file.text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start);
            file.wrong(at, e.message().lines().collect::<Vec<_>>().join(" "))
        })?;
        let table = Table::whole(file, parsed.get_ref());
        table.check_keys(&["switch", "router"])?;
        for (name, table) in table.tables("switch", "a switch")? {
            first(&mut places, name, &table)?;
            check_name(name).map_err(|e| table.wrong(e))?;
            let mut named = Vec::new();
            all.switches.insert(name.to_owned(), switch(name, &table, &mut named)?);
            all.netns_at.insert(name.to_owned(), named);
        }
        for (name, table) in table.tables("router", "a router")? {
            first(&mut places, name, &table)?;
            check_router_name(name).map_err(|e| table.wrong(e))?;
            let mut named = Vec::new();
            all.routers.insert(name.to_owned(), router(&table, &mut named)?);
            all.netns_at.insert(name.to_owned(), named);
        }
    }
    Ok(all)
}

/// Refuses a name that stands elsewhere.
fn first(places: &mut BTreeMap<String, String>, name: &str, table: &Table<'_>) -> Result<(), Failure> {
    match places.insert(name.to_owned(), table.place()) {
        Some(before) => Err(table.wrong(format!("{name} stands in {before} already; name it once"))),
        None => Ok(()),
    }
}

/// The names of network namespaces, and the places of the names.
type Named = Vec<(String, String)>;

fn switch(name: &str, table: &Table<'_>, named: &mut Named) -> Result<Switch, Failure> {
    table.check_keys(&[&SWITCH[..], &["port", "member", "fdb"]].concat())?;
    let spec = spec(table)?;
    spec.validate(name).map_err(|e| table.wrong(e))?;
    let mut switch = Switch { spec, ..Switch::default() };
    for (port_name, table) in table.tables("port", "a port")? {
        values::check_port(port_name).map_err(|e| table.wrong(e))?;
        switch.ports.insert(port_name.to_owned(), port(&table)?);
    }
    for (interface, table) in table.tables("member", "a member")? {
        values::check_port(interface).map_err(|e| table.wrong(e))?;
        if switch.ports.contains_key(interface) {
            return Err(
                table.wrong(format!("{name}:{interface} is a port already; take another name for the port"))
            );
        }
        switch.members.insert(interface.to_owned(), member(interface, &table, named)?);
    }
    check_mirrors(name, &switch, table)?;
    for (text, table) in table.tables("fdb", "an address")? {
        let (station, place) = address(name, text, &switch, &table)?;
        if switch.addresses.insert(station, place).is_some() {
            return Err(table.wrong(format!("{station} is named twice; name it once")));
        }
    }
    Ok(switch)
}

/// Refuses copies to a port that the switch does not have.
fn check_mirrors(name: &str, switch: &Switch, table: &Table<'_>) -> Result<(), Failure> {
    let ports = switch.ports.iter().map(|(port, is)| (port, &is.conf));
    let members = switch.members.iter().map(|(port, is)| (port, &is.conf));
    for (port, conf) in ports.chain(members) {
        if let Some(mirror) = &conf.mirror
            && (mirror.to == *port
                || !(switch.ports.contains_key(&mirror.to) || switch.members.contains_key(&mirror.to)))
        {
            let what = format!(
                "{name}:{port}: its mirror {} is no other port of the switch in this file",
                mirror.to
            );
            return Err(table.wrong(format!("{what}; name one that is, or add it")));
        }
    }
    Ok(())
}

/// An address that stays, and its port.
fn address(on: &str, text: &str, switch: &Switch, table: &Table<'_>) -> Result<(Station, Place), Failure> {
    table.check_keys(ADDRESS)?;
    let station: Station = text.parse().map_err(|why| table.wrong(format!("{text}: {why}")))?;
    if station.mac.0[0] & 1 != 0 {
        return Err(table.wrong(format!("{station} is the address of a group; take a unicast address")));
    }
    let port = table.parsed("port", |name| match switch.has_port(name) {
        true => Ok(name.to_owned()),
        false => Err(format!("it is no port of {on} in this file; name one that is, or add it")),
    })?;
    match (port, table.flag("blackhole")?) {
        (Some(port), false) => Ok((station, Some(port))),
        (None, true) => Ok((station, None)),
        _ => Err(table.wrong(format!("{station}: write either port = \"PORT\" or blackhole = true"))),
    }
}

fn spec(table: &Table<'_>) -> Result<SwitchSpec, Failure> {
    let plain = SwitchSpec::default();
    let module = table.parsed("module", |text| Ok(module(text, table.folder())))?;
    Ok(SwitchSpec {
        slots: table.number("slots")?.unwrap_or(plain.slots),
        rings: table.number("rings")?.unwrap_or(plain.rings),
        buf_size: table.number("buffers")?.unwrap_or(plain.buf_size),
        ageing: table.parsed("ageing", duration)?.unwrap_or(plain.ageing),
        quota: table.number("quota")?.unwrap_or(plain.quota),
        module: module.unwrap_or(plain.module),
    })
}

/// The file of a module is found from the folder of the configuration.
fn module(text: &str, folder: &Path) -> Module {
    match text.parse() {
        Ok(Module::Object(path)) => Module::Object(folder.join(path)),
        Ok(named) => named,
    }
}

fn port(table: &Table<'_>) -> Result<Port, Failure> {
    table.check_keys(PORT)?;
    let plain = Port::default();
    let group = table.parsed("group", group)?;
    let mode = table.parsed("mode", mode)?.unwrap_or_else(|| implied_mode(plain.access.mode, group));
    let uid = table.parsed("owner", user)?.or(plain.access.uid);
    let access = PortAccess { uid, gid: group.or(plain.access.gid), mode };
    Ok(Port { access, conf: conf(table)?, memif: table.parsed("memif", values::memif)? })
}

fn member(port: &str, table: &Table<'_>, named: &mut Named) -> Result<Member, Failure> {
    table.check_keys(MEMBER)?;
    let interface = table.parsed("interface", interface)?.filter(|name| name != port);
    let path = table.parsed("path", str::parse)?.unwrap_or_default();
    let netns = netns(table, named)?;
    Ok(Member { interface, netns, host: table.flag("host")?, path, conf: conf(table)? })
}

fn interface(text: &str) -> Result<String, String> {
    let is_name = !text.contains(|c: char| c == '/' || c.is_whitespace() || c.is_control());
    match (1..16).contains(&text.len()) && is_name && !matches!(text, "." | "..") {
        true => Ok(text.to_owned()),
        false => Err("accepted: the name of an interface, as `ip link` shows it".into()),
    }
}

/// A network namespace, which need not exist yet.
fn netns(table: &Table<'_>, named: &mut Named) -> Result<Netns, Failure> {
    let check = |text: &str| {
        let wrong = |e: ringway::Error| format!("{}; {}", e.brief(), e.remedy().unwrap_or_default());
        LastingNetns::check_name(text).map(|()| text.to_owned()).map_err(wrong)
    };
    let Some(name) = table.parsed("netns", check)? else { return Ok(Netns::Here) };
    named.push((name.clone(), table.place_of("netns")));
    Ok(Netns::Named(name))
}

fn conf(table: &Table<'_>) -> Result<PortConf, Failure> {
    let mut vlan = table.parsed("vlan", values::vlan)?.unwrap_or_default();
    if let Some(vid) = table.parsed("native", values::vid)? {
        let VlanMode::Trunk { allowed, native } = &mut vlan else {
            return Err(table.wrong("`native` is for a trunk; add vlan = \"trunk:VIDS\""));
        };
        // A native VLAN is one of the trunk's.
        allowed.extend([vid]);
        *native = Some(vid);
    }
    Ok(PortConf {
        vlan,
        isolated: table.flag("isolated")?,
        storm: table.parsed("storm", values::storm)?.unwrap_or_default(),
        mirror: table.parsed("mirror", values::mirror)?.flatten(),
    })
}

fn router(table: &Table<'_>, named: &mut Named) -> Result<Router, Failure> {
    table.check_keys(&[&["members", "netns"], ROUTER].concat())?;
    let mut router = Router { netns: netns(table, named)?, ..Router::default() };
    for (interface, at) in table.list("members")? {
        if !router.members.insert(interface.clone()) {
            return Err(table.wrong_at(at, format!("{interface} is named twice; name it once")));
        }
    }
    if router.members.is_empty() {
        return Err(table.wrong("a router without members; add members = [\"IF\", ...]"));
    }
    for key in ROUTER {
        table.parsed(key, |text| router.options.set(key, text))?;
    }
    Ok(router)
}
