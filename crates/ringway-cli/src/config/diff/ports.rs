//! The difference in the ports and members of one switch.

use ringway::switch::{NicPath, PortConf};

use super::addresses;
use crate::config::keys::{member_keys, of_member, of_place, of_port, port_keys};
use crate::config::notes::Notes;
use crate::config::plan::Step;
use crate::config::state::{ExistingSwitch, Member, Port, Switch};

/// What is to be made or changed. Ports come first, as the settings of others may name them.
pub(super) fn changed(notes: &mut Notes, switch: &str, want: &Switch, is: &ExistingSwitch) {
    let mut later = Vec::new();
    for (name, member) in &want.members {
        later.extend(one_member(notes, switch, name, member, is));
    }
    for (name, port) in &want.ports {
        later.extend(one_port(notes, switch, name, port, is));
    }
    later.extend(addresses::changed(notes, switch, want, is));
    later.sort_by_key(rank);
    later.into_iter().for_each(|step| notes.step(step));
}

/// A process that has a port loses it with its rights, and one that serves it is started: both when little else can fail.
fn rank(step: &Step) -> u8 {
    match step {
        Step::Serve { .. } => 2,
        Step::SetAccess { .. } => 1,
        _ => 0,
    }
}

fn one_member(notes: &mut Notes, switch: &str, name: &str, want: &Member, is: &ExistingSwitch) -> Vec<Step> {
    let on = format!("{switch}:{name}");
    let free = format!("free the name first: `ringway switch port del {on}`");
    if is.state.ports.contains_key(name) || is.open.get(name).is_some_and(|holder| holder.ephemeral) {
        notes.obstacle(format!(
            "{on}: it is a port for programs, and the file says that it is an interface; {free}"
        ));
    }
    let Some(present) = is.state.members.get(name) else {
        if is.gone.contains(name) {
            notes.step(Step::DropGone(name.to_owned()));
        }
        notes.add("member", on, member_keys(want));
        notes.step(Step::AddMember(name.to_owned(), want.clone()));
        return settings(name, &PortConf::default(), &want.conf).into_iter().collect();
    };
    let want = Member { path: path(want.path, present.path), ..want.clone() };
    let (as_added, as_wanted) = (how(name, present), how(name, &want));
    if as_added != as_wanted {
        notes.obstacle(format!(
            "{on}: a member stays as it was added ({as_added}), and the file says {as_wanted}; {free}"
        ));
    }
    if want.conf != present.conf {
        notes.alter("member", on, of_member(present), of_member(&want));
    }
    settings(name, &present.conf, &want.conf).into_iter().collect()
}

/// Any path is right where none is named.
fn path(want: NicPath, present: NicPath) -> NicPath {
    if want == NicPath::Auto { present } else { want }
}

fn settings(port: &str, was: &PortConf, conf: &PortConf) -> Option<Step> {
    let (port, was, conf) = (port.to_owned(), was.clone(), conf.clone());
    (was != conf).then_some(Step::SetConf { port, was, conf })
}

fn one_port(notes: &mut Notes, switch: &str, name: &str, want: &Port, is: &ExistingSwitch) -> Vec<Step> {
    let on = format!("{switch}:{name}");
    if is.state.members.contains_key(name) || is.gone.contains(name) {
        notes.obstacle(format!(
            "{on}: it is an interface, and the file says that it is a port for programs; free the name first: `ringway switch port del {on}`"
        ));
    }
    let (port, access) = (name.to_owned(), want.access);
    let Some(present) = is.state.ports.get(name) else {
        if is.open.contains_key(name) {
            notes.obstacle(format!("{on}: {}, which goes away with it; end that process", held(name, is)));
        }
        notes.add("port", on, port_keys(want));
        notes.step(Step::AddPort(port, access));
        let set = settings(name, &PortConf::default(), &want.conf);
        return set.into_iter().chain(serving(name, want)).collect();
    };
    let want = Port { memif: want.memif.clone().or_else(|| present.memif.clone()), ..want.clone() };
    if want == *present {
        return Vec::new();
    }
    notes.alter("port", on.clone(), of_port(present), of_port(&want));
    let mut steps: Vec<_> = settings(name, &present.conf, &want.conf).into_iter().collect();
    if want.access != present.access {
        steps.push(Step::SetAccess { port, was: present.access, access });
    }
    if want.memif != present.memif {
        if is.open.contains_key(name) {
            let who = held(name, is);
            notes.obstacle(format!("{on}: {who}, and the file names another memif; `ringway switch port del {on} --force` ends it"));
        }
        steps.extend(serving(name, &want));
    } else if want.access != present.access && present.memif.is_some() {
        notes.obstacle(format!(
            "{on}: the process that serves its memif runs as its owner, and the file names another one; \
             `ringway switch port del {on} --force` ends it"
        ));
    }
    steps
}

fn serving(name: &str, want: &Port) -> Option<Step> {
    let memif = want.memif.clone()?;
    Some(Step::Serve { port: name.to_owned(), memif, access: want.access })
}

/// Which interface a member is, and how it was added.
fn how(name: &str, member: &Member) -> String {
    let interface = member.interface.as_deref().unwrap_or(name);
    format!("interface {interface} of {}, host {}, path {}", member.netns, member.host, member.path)
}

/// Ports and members that no file names.
pub(super) fn pruned(notes: &mut Notes, switch: &str, want: &Switch, is: &ExistingSwitch) {
    let members = is.state.members.keys().chain(&is.gone);
    for name in members.filter(|name| !want.members.contains_key(*name) && !want.ports.contains_key(*name)) {
        let keys = is.state.members.get(name).map(of_place).unwrap_or_default();
        notes.remove("member", format!("{switch}:{name}"), keys);
        notes.step(Step::RemovePort { port: name.clone(), force: false });
    }
    let ports = is.state.ports.keys();
    for name in ports.filter(|name| !want.ports.contains_key(*name) && !want.members.contains_key(*name)) {
        notes.remove("port", format!("{switch}:{name}"), Vec::new());
        remove_open(notes, switch, name, is);
        if !is.open.contains_key(name) {
            notes.step(Step::RemovePort { port: name.clone(), force: false });
        }
    }
}

/// Removes a port that a process has open: one that serves a memif socket ends with its port, and others keep it.
pub(super) fn remove_open(notes: &mut Notes, switch: &str, name: &str, is: &ExistingSwitch) {
    if is.state.ports.get(name).is_some_and(|port| port.memif.is_some()) {
        notes.step(Step::RemovePort { port: name.to_owned(), force: true });
    } else if is.open.contains_key(name) {
        notes.obstacle(format!("{switch}:{name}: {}; end that process first", held(name, is)));
    }
}

fn held(name: &str, is: &ExistingSwitch) -> String {
    match is.open.get(name).and_then(|holder| holder.pid) {
        Some(pid) => format!("process {pid} has it open"),
        None => "a process that can't be seen from here has it open".into(),
    }
}
