//! Members: which interfaces are, and what the programs know of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ringway::{Error, ErrorKind, Result};
use ringway_fwd::control::event::Link;
use ringway_fwd::control::{Family, State};

use super::joining::{attach, lacks_sending, refuses_frames};
use crate::kernel::{Interface, Member, Path, Router, Rpf};

/// `ARPHRD_ETHER`.
const ETHERNET: u16 = 1;

/// How long to wait before an interface that could not join is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// The interfaces that are to be members.
#[derive(Debug)]
pub(super) struct Members {
    rpf6: Rpf,
    /// How all join that do; each in its own way without.
    path: Option<Path>,
    /// Names, and why they are not members now.
    wanted: BTreeMap<String, Wanted>,
    /// Members whose interfaces the kernel told nothing of at the last look: they left, or came a moment ago.
    absent: BTreeSet<u32>,
    /// When far ends are looked at again.
    far_due: Option<Instant>,
}

/// From one look at far ends to the next.
const FAR_ENDS: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct Wanted {
    retry: Option<Instant>,
    why: Option<String>,
}

impl Members {
    pub(super) fn new(rpf6: Rpf, path: Option<Path>, names: impl IntoIterator<Item = String>) -> Self {
        let wanted = names.into_iter().map(|name| (name, Wanted::default())).collect();
        Self { rpf6, path, wanted, absent: BTreeSet::new(), far_due: None }
    }

    /// Makes an interface a member, and tells the programs what it may do. What is left of one of its name that is gone, or was not
    /// made to its end, goes first.
    pub(super) fn join(&mut self, router: &Router, state: &State, name: &str) -> Result<u32> {
        if router.members().iter().any(|m| m.name == name && m.gone) {
            router.remove_member(name)?;
        }
        let new = router.intended_members().intend(name);
        let joined = attach(router, state, name, (self.rpf6, self.path));
        if joined.is_ok() {
            self.wanted.insert(name.to_owned(), Wanted::default());
        } else if new {
            router.intended_members().cancel(name);
        }
        joined
    }

    /// Gives an interface back.
    pub(super) fn leave(&mut self, router: &Router, name: &str) -> Result<()> {
        let waits = self.wanted.remove(name).is_some();
        router.intended_members().cancel(name);
        match router.remove_member(name) {
            // it is away, and does not join any more when it returns
            Err(e) if waits && e.kind() == ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Brings the members up to date with the kernel's interfaces. Returns whether to come again soon: attaching takes its time, so one call joins
    /// one interface. Troubles go to `notes`.
    pub(super) fn reconcile(
        &mut self,
        router: &Router,
        state: &State,
        now: Instant,
        notes: &mut Vec<String>,
    ) -> bool {
        let members = router.members();
        self.remove_absent(router, &members, state, notes);
        self.update_interfaces(router, &members, state, notes);
        if self.far_due.is_none_or(|due| due <= now) {
            self.far_due = Some(now + FAR_ENDS);
            leave_refusing(router, state, notes);
        }
        self.join_returned(router, state, now, notes)
    }

    /// Removes members whose interfaces were absent at the last look, too.
    fn remove_absent(&mut self, router: &Router, members: &[Member], state: &State, notes: &mut Vec<String>) {
        let absent = || members.iter().filter(|m| !m.gone && state.interface(m.interface.index).is_none());
        let before = std::mem::replace(&mut self.absent, absent().map(|m| m.number).collect());
        for m in absent().filter(|m| before.contains(&m.number)) {
            let left = router.remove_member(&m.name);
            notes.push(
                left.map_or_else(
                    |e| e.to_string(),
                    |()| format!("{}: it left the network namespace", m.name),
                ),
            );
        }
    }

    /// Tells the programs what members may do now.
    fn update_interfaces(&self, router: &Router, members: &[Member], state: &State, notes: &mut Vec<String>) {
        for m in members.iter().filter(|m| !m.gone) {
            if state.interface(m.interface.index).is_none() {
                continue;
            }
            let to = Interface::of(state, m.interface.index, self.rpf6);
            if to != m.interface
                && let Err(e) = router.set_interface(m.number, &to)
            {
                notes.push(e.to_string());
            }
        }
    }

    /// Joins the first interface that is to be a member and is none; whether there was one.
    fn join_returned(
        &mut self,
        router: &Router,
        state: &State,
        now: Instant,
        notes: &mut Vec<String>,
    ) -> bool {
        let members = router.members();
        for (name, wanted) in &mut self.wanted {
            let Some(link) = state.interfaces().find(|l| l.name == *name) else { continue };
            let is_member = members.iter().any(|m| m.interface.index == link.index && !m.gone);
            if is_member || wanted.retry.is_some_and(|at| now < at) {
                continue;
            }
            let cleared = clear_name(router, &members, name);
            match cleared.and_then(|()| attach(router, state, name, (self.rpf6, self.path))) {
                Ok(_) => {
                    notes.push(format!("{name}: member again"));
                    *wanted = Wanted::default();
                    return true;
                }
                // the kernel's message about that is on its way
                Err(_) if is_away(name) => wanted.retry = Some(now + RETRY),
                Err(e) => {
                    let why = e.to_string();
                    if wanted.why.as_ref() != Some(&why) {
                        notes.push(why.clone());
                    }
                    *wanted = Wanted { retry: Some(now + RETRY), why: Some(why) };
                }
            }
        }
        false
    }
}

/// Removes what is left of a member of this name. A member that was renamed may have had it.
fn clear_name(router: &Router, members: &[Member], name: &str) -> Result<()> {
    match members.iter().find(|m| m.name == *name) {
        Some(m) if m.gone => router.remove_member(name),
        Some(_) => Err(Error::new(ErrorKind::Busy, name, "a member that was renamed had this name")
            .cure(format!("`ringway router port del {}:{name}`, then add both", router.name()))),
        None => Ok(()),
    }
}

/// Whether there is no interface of that name.
fn is_away(name: &str) -> bool {
    ringway::probe::interface(name).is_err_and(|e| e.kind() == ErrorKind::NotFound)
}

/// Gives members back that would take no packet any more: those to them are the kernel's then. They join again when they can.
fn leave_refusing(router: &Router, state: &State, notes: &mut Vec<String>) {
    for m in router.members().iter().filter(|m| !m.gone && m.path == Path::Xdp) {
        let Some(link) = state.interface(m.interface.index) else { continue };
        let may_refuse = lacks_sending(ringway::probe::xdp_features(link.index));
        if may_refuse && ringway::probe::interface(&link.name).is_ok_and(|probe| refuses_frames(&probe)) {
            notes.extend(router.remove_member(&m.name).err().map(|e| e.to_string()));
        }
    }
}

/// The interfaces of the namespace that a router is made of by default: Ethernet, up, no port of another one, and they forward.
pub(super) fn forwarding(state: &State) -> Vec<String> {
    able(state).filter(|l| l.up).map(|l| l.name.clone()).collect()
}

/// Warnings about interfaces that are not up, which people may have meant, too.
pub(super) fn left_out(router: &str, state: &State) -> impl Iterator<Item = String> {
    able(state).filter(|l| !l.up).map(move |l| {
        let add = format!("`ringway router port add {router}:{}` when it is up", l.name);
        format!("{router}: {} is down, so it stays with the kernel; {add}", l.name)
    })
}

/// Ethernet interfaces that forward, and are no ports of others.
fn able(state: &State) -> impl Iterator<Item = &Link> {
    let forwards = |l: &&Link| [Family::V4, Family::V6].iter().any(|f| state.forwards(*f, l.index));
    let plain = |l: &&Link| l.hardware == ETHERNET && !l.loopback && l.master == 0;
    state.interfaces().filter(plain).filter(forwards)
}

#[cfg(test)]
mod tests {
    use ringway_fwd::control::event::Setting;
    use ringway_fwd::control::{Changes, Event, Pulse};

    use super::*;

    fn state(links: &[(u32, u16, bool, u32)]) -> State {
        let mut state = State::default();
        for &(index, hardware, up, master) in links {
            let (name, address) = (format!("e{index}"), Some([2, 0, 0, 0, 0, index as u8]));
            let (carrier, running, loopback, mtu) = (true, true, false, 1500);
            let link = Link { index, name, hardware, up, carrier, running, loopback, mtu, address, master };
            state.apply(Event::Link(link), &mut Changes::default(), &mut Pulse::none());
            let (forwarding, reverse_path) = (Some(index != 9), Some(index as u8 % 3));
            let dev = index.cast_signed();
            let setting =
                Setting { family: Family::V4, dev, forwarding, ignore_linkdown: None, reverse_path };
            state.apply(Event::Setting(setting), &mut Changes::default(), &mut Pulse::none());
        }
        state
    }

    #[test]
    fn a_router_is_made_of_what_forwards() {
        let all = [(1, 1, true, 0), (2, 1, false, 0), (3, 1, true, 1), (4, 65534, true, 0), (9, 1, true, 0)];
        assert_eq!(forwarding(&state(&all)), ["e1"]);
        let left: Vec<_> = left_out("vale0", &state(&all)).collect();
        assert!(matches!(&left[..], [why] if why.contains("e2 is down")), "{left:?}");
    }
}
