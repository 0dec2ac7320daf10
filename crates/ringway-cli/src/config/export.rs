//! `ringway export`.

use std::fmt::Write;

use ringway::switch::PortConf;
use serde_json::json;

use super::keys::{Keys, member_keys, name, of_address, port_keys, quoted, router_keys, spec_keys};
use super::namespaces::Namespaces;
use super::state::{Netns, Router, Switch, Wanted};
use super::{diff, existing};
use crate::console::note;
use crate::failure::Failure;
use crate::options::{Bpffs, Json};

/// Print switches and routers as a file for `ringway apply`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file has what stays: switches, ports that were made, members, addresses set by hand and routers. Ports that go away with their users, addresses \
that were learned and counters are not in it. Members and routers of other network namespaces have the name of `ip netns`. Where there is \
none, they stand in comments.

Examples:
  ringway export                   # as the file would be
  ringway export > /etc/ringway/all.toml")]
pub(crate) struct Args {
    #[command(flatten)]
    json: Json,

    #[command(flatten)]
    bpffs: Bpffs,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.bpffs.apply()?;
    let none = Wanted::default();
    let existing = existing::read(&none, &Namespaces::open(&none)?)?;
    let mut all = diff::as_wanted(&existing);
    for (name, is) in &existing.routers {
        if is.members.is_empty() {
            all.routers.remove(name);
            note(&format!("ringway: {name}: it is left out, as it has no member"));
        } else if is.options.is_none() {
            note(&format!("ringway: {name}: how it was made is not known; the file names its members alone"));
        }
    }
    all.switches.iter().for_each(|(on, switch)| {
        nameless(switch).for_each(|port| left_out(&format!("{on}:{port}")));
    });
    let nowhere: Vec<_> = all.routers.iter().filter(|(_, is)| is.netns == Netns::Nameless).collect();
    nowhere.iter().for_each(|(on, _)| left_out(on));
    let text = text(&all);
    let (switches, routers) = (all.switches.len(), all.routers.len() - nowhere.len());
    let object = json!({ "toml": text, "switches": switches, "routers": routers });
    Ok(args.json.console().result(text.trim_end(), &object)?)
}

/// Members whose network namespace has no name.
fn nameless(switch: &Switch) -> impl Iterator<Item = &String> {
    switch.members.iter().filter(|(_, is)| is.netns == Netns::Nameless).map(|(port, _)| port)
}

const NO_NAME: &str = "its network namespace has no name; `ip netns attach NAME PID` gives it one";

fn left_out(what: &str) {
    note(&format!("ringway: {what}: it is left out, as {NO_NAME}"));
}

/// The file.
fn text(all: &Wanted) -> String {
    let mut text = String::from("# Written by `ringway export`; `ringway apply` makes it so.\n");
    all.switches.iter().for_each(|(on, switch)| of_switch(&mut text, on, switch));
    all.routers.iter().for_each(|(on, router)| of_router(&mut text, on, router));
    text
}

fn of_switch(text: &mut String, on: &str, switch: &Switch) {
    table(text, &format!("switch.{}", name(on)), spec_keys(switch));
    let is_left_out = |port: &str| nameless(switch).any(|name| name == port.trim_end_matches('^'));
    // A file has no copies to a port that it does not have.
    let written = |keys: Keys, conf: &PortConf| {
        let lost = conf.mirror.as_ref().is_some_and(|mirror| is_left_out(&mirror.to));
        keys.into_iter().filter(|(key, _)| !(lost && *key == "mirror")).collect()
    };
    for (port, is) in &switch.ports {
        let heading = format!("switch.{}.port.{}", name(on), name(port));
        table(text, &heading, written(port_keys(is), &is.conf));
    }
    for (port, is) in &switch.members {
        let heading = format!("switch.{}.member.{}", name(on), name(port));
        let keys = written(member_keys(is), &is.conf);
        match is.netns {
            Netns::Nameless => without_name(text, &heading, keys),
            _ => table(text, &heading, keys),
        }
    }
    for (station, port) in &switch.addresses {
        let heading = format!("switch.{}.fdb.{}", name(on), quoted(&station.to_string()));
        let keys = of_address(port.as_ref());
        match port.as_deref().is_some_and(is_left_out) {
            true => comment(text, "its port is left out", &heading, keys),
            false => table(text, &heading, keys),
        }
    }
}

fn of_router(text: &mut String, on: &str, router: &Router) {
    let (heading, keys) = (format!("router.{}", name(on)), router_keys(router));
    match router.netns {
        Netns::Nameless => without_name(text, &heading, keys),
        _ => table(text, &heading, keys),
    }
}

fn table(text: &mut String, heading: &str, keys: Keys) {
    // Writing to a string succeeds.
    let _ = writeln!(text, "\n[{heading}]");
    for (key, value) in keys {
        let _ = writeln!(text, "{key} = {value}");
    }
}

/// A table that waits for the name of a network namespace.
fn without_name(text: &mut String, heading: &str, mut keys: Keys) {
    keys.push(("netns", quoted("NAME")));
    comment(text, NO_NAME, heading, keys);
}

fn comment(text: &mut String, why: &str, heading: &str, keys: Keys) {
    let mut lines = String::new();
    table(&mut lines, heading, keys);
    let _ = writeln!(text, "\n# Left out: {why}.");
    lines.trim().lines().for_each(|line| *text += &format!("# {line}\n"));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ringway::switch::{Mirror, NicPath, PortAccess, PortConf, StormLimits, VlanMode};

    use super::*;
    use crate::config::folder::File;
    use crate::config::state::{Member, Port};
    use crate::config::wanted;

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let mut switch = Switch::default();
        (switch.spec.slots, switch.spec.ageing) = (64, std::time::Duration::from_millis(1500));
        let trunk = VlanMode::Trunk { allowed: "3-5,9".parse().unwrap(), native: Some(9) };
        let storm = StormLimits { broadcast: Some(7), multicast: None, unknown: Some(0) };
        let mirror = Some(Mirror { to: "p2".into(), rx: false, tx: true });
        let conf = PortConf { vlan: trunk, isolated: true, storm, mirror };
        let access = |gid, mode| PortAccess { uid: Some(4711), gid: Some(gid), mode };
        let port = Port { access: access(4712, 0o660), conf: conf.clone(), memif: Some("@a b,id=2".into()) };
        switch.ports.insert("p1".into(), port);
        for (name, gid, mode) in
            [("p2", 4712, 0o600), ("p3", 0, 0o660), ("p4", 4712, 0o666), ("p5", 0, 0o600)]
        {
            switch.ports.insert(name.into(), Port { access: access(gid, mode), ..Port::default() });
        }
        switch
            .members
            .insert("e1".into(), Member { host: true, path: NicPath::Xdp, conf, ..Member::default() });
        let netns = Netns::Named("/run/a \"b\"".into());
        let member = Member { interface: Some("eth0.7".into()), netns: netns.clone(), ..Member::default() };
        switch.members.insert("web".into(), member);
        for (station, port) in [
            ("02:00:00:00:00:01", Some("p1")),
            ("02:00:00:00:00:02@7", Some("e1^")),
            ("02:00:00:00:00:01@7", None),
        ] {
            switch.addresses.insert(station.parse().unwrap(), port.map(str::to_owned));
        }
        let mut router =
            Router { members: BTreeSet::from(["eth0.7".to_owned()]), netns, ..Router::default() };
        router.options.set("bypass", "rules,tc").unwrap();
        let mut all = Wanted::default();
        all.switches.insert("vale0".into(), switch);
        all.routers.insert("r0".into(), router);
        assert_eq!(read(&text(&all)), all);
    }

    fn read(text: &str) -> Wanted {
        let file = File { path: "/c/all.toml".into(), text: text.into() };
        Wanted { netns_at: Default::default(), ..wanted::wanted(&[file]).unwrap() }
    }

    /// The rest of the file is good without members and routers whose network namespace has no name.
    #[test]
    fn what_nobody_can_name_is_a_comment() {
        let to = |to: &str| Some(Mirror { to: to.into(), rx: true, tx: true });
        let conf = |mirror| PortConf { mirror, isolated: true, ..PortConf::default() };
        let mut switch = Switch::default();
        for (name, mirror) in [("p1", to("far")), ("p2", to("p1"))] {
            switch.ports.insert(name.into(), Port { conf: conf(mirror), ..Port::default() });
        }
        let far = Member { netns: Netns::Nameless, conf: conf(to("p1")), ..Member::default() };
        switch.members.insert("far".into(), far);
        for (station, port) in [("02:00:00:00:00:01", "p1"), ("02:00:00:00:00:02", "far")] {
            switch.addresses.insert(station.parse().unwrap(), Some(port.to_owned()));
        }
        let members = BTreeSet::from(["a".to_owned()]);
        let mut all = Wanted::default();
        all.switches.insert("vale0".into(), switch);
        all.routers.insert("r0".into(), Router { netns: Netns::Nameless, members, ..Router::default() });
        let text = text(&all);
        let left = format!(
            "\n# Left out: {NO_NAME}.\n# [switch.vale0.member.far]\n# isolated = true\n# mirror = \"p1\"\n# netns = \"NAME\"\n"
        );
        assert!(
            text.contains(&left) && text.contains("# [router.r0]\n# members = [\"a\"]\n# netns"),
            "{text}"
        );
        let address = "\n# Left out: its port is left out.\n# [switch.vale0.fdb.\"02:00:00:00:00:02\"]\n# port = \"far\"\n";
        assert!(text.contains(address), "{text}");
        let read = read(&text);
        assert_eq!(read.switches["vale0"].addresses.len(), 1);
        let mirror = |name: &str| read.switches["vale0"].ports[name].conf.mirror.clone();
        assert_eq!((mirror("p1"), mirror("p2")), (None, to("p1")));
        assert!(read.switches["vale0"].members.is_empty() && read.routers.is_empty());
    }
}
