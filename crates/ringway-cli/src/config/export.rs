//! `ringway export`.

use std::fmt::Write;

use serde_json::json;

use super::keys::{Keys, member_keys, name, port_keys, router_keys, spec_keys};
use super::state::{Router, Switch, Wanted};
use super::{diff, existing};
use crate::console::note;
use crate::failure::Failure;
use crate::options::{Bpffs, Json};

/// Print switches and routers as a file for `ringway apply`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file has what stays: switches, ports that were made, members and routers. Ports that go away with their users, addresses of the \
forwarding table and counters are not in it.

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
    let existing = existing::read()?;
    let mut all = diff::as_wanted(&existing);
    for (name, is) in &existing.routers {
        if is.members.is_empty() {
            all.routers.remove(name);
            note(&format!("ringway: {name}: it is left out, as it has no member"));
        } else if is.options.is_none() {
            note(&format!("ringway: {name}: how it was made is not known; the file names its members alone"));
        }
    }
    let text = text(&all);
    let (switches, routers) = (all.switches.len(), all.routers.len());
    let object = json!({ "toml": text, "switches": switches, "routers": routers });
    Ok(args.json.console().result(text.trim_end(), &object)?)
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
    for (port, is) in &switch.ports {
        table(text, &format!("switch.{}.port.{}", name(on), name(port)), port_keys(is));
    }
    for (interface, is) in &switch.members {
        table(text, &format!("switch.{}.member.{}", name(on), name(interface)), member_keys(is));
    }
}

fn of_router(text: &mut String, on: &str, router: &Router) {
    table(text, &format!("router.{}", name(on)), router_keys(router));
}

fn table(text: &mut String, heading: &str, keys: Keys) {
    // Writing to a string succeeds.
    let _ = writeln!(text, "\n[{heading}]");
    for (key, value) in keys {
        let _ = writeln!(text, "{key} = {value}");
    }
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
        switch.members.insert("e1".into(), Member { host: true, path: NicPath::Xdp, conf });
        let mut router = Router { members: BTreeSet::from(["eth0.7".to_owned()]), ..Router::default() };
        router.options.set("bypass", "rules,tc").unwrap();
        let mut all = Wanted::default();
        all.switches.insert("vale0".into(), switch);
        all.routers.insert("r0".into(), router);
        let file = File { path: "/c/all.toml".into(), text: text(&all) };
        assert_eq!(wanted::wanted(&[file]).map_err(|e| e.to_string()), Ok(all));
    }
}
