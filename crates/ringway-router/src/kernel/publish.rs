//! The members of a router go over to other tables: make before break.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;

use libbpf_rs::Link;
use ringway::tc::Stand;
use ringway::{Error, Result};
use ringway_fwd::control::Pulse;

use super::control::Control;
use super::layout::control as at;
use super::maps::refused;
use super::member::Member;
use super::path::Path;
use super::pins::TABLES;
use super::program::{Code, Identity};
use super::router::Router;
use crate::sys;

/// A program for a member, loaded and not attached yet.
struct Loaded {
    member: String,
    path: Path,
    program: OwnedFd,
}

impl Control {
    /// Has all members, and members to come, use these tables. No packet is lost: each is forwarded by the old tables or by these, for which
    /// [`heartbeat`](Self::heartbeat) should have been called. Publishing again does the same once more. `pulse` beats for each member,
    /// since loading their programs takes a while. Programs time their stages if somebody watches.
    ///
    /// # Errors
    /// What the kernel said. Everything that can fail is tried before the first member goes over. If one does not go, the members before it use
    /// these tables, and to publish again is the cure.
    pub fn publish(&mut self, pulse: &mut Pulse<'_>) -> Result<()> {
        let router = &self.router;
        let on = router.name();
        let _lock = router.folder.lock()?;
        let timed = self.stages.are_wanted();
        let loaded = self.load_programs(timed, pulse)?;
        let [tables, new, old] = [TABLES, "~new", "~old"].map(|name| router.folder.path().join(name));
        let io = |e| Error::io(on, "exchanging the tables failed", e);
        [&new, &old].into_iter().for_each(|dir| _ = fs::remove_dir_all(dir)); // of a process that was killed here
        ringway::dirs::make_closed_dir(&new)?;
        self.tables.pin(&new, on)?;
        if self.page.u64(at::BEAT).load(Relaxed) != 0 {
            self.heartbeat(true)?; // loading programs of many members takes a while
        }
        self.stages.set_timed(timed);
        self.behind = Some(Vec::new());
        for loaded in &loaded {
            pulse.beat();
            self.exchange_program(loaded)?;
        }
        self.stages.set_exchanged();
        if tables.exists() {
            fs::rename(&tables, &old).map_err(io)?;
        }
        fs::rename(&new, &tables).map_err(io)?;
        let _ = fs::remove_dir_all(&old);
        self.stages.set_served_by(&self.tables)
    }

    /// One step towards programs that time their stages while somebody watches, and towards the others when nobody does: the programs of one
    /// member, loaded and exchanged in place. No packet is lost by that. Returns whether there are more. To be called again and again after
    /// [`publish`](Self::publish), before which it does nothing. A member that was to stop packets somewhere forwards from then on.
    ///
    /// # Errors
    /// What the kernel said. The member is tried again after the others.
    pub fn follow_stages(&mut self) -> Result<bool> {
        let wanted = self.stages.are_wanted();
        let Some(behind) = &mut self.behind else { return Ok(false) };
        if wanted == self.stages.are_timed() && behind.is_empty() {
            return Ok(false);
        }
        let _lock = self.router.folder.lock()?;
        let members = living(&self.router);
        if wanted != self.stages.are_timed() {
            self.stages.set_timed(wanted); // for those that join from now on
            *behind = members.iter().map(|m| m.name.clone()).collect();
        }
        let name = behind.pop();
        let more = !behind.is_empty();
        let member = members.iter().find(|m| Some(&m.name) == name.as_ref());
        let exchanged = member.map_or(Ok(()), |member| self.exchange_programs(member, wanted));
        match (&exchanged, &mut self.behind, name) {
            (Err(_), Some(behind), Some(name)) => behind.insert(0, name),
            _ if !more => self.stages.set_exchanged(),
            _ => {}
        }
        exchanged.map(|()| more)
    }

    fn exchange_programs(&self, member: &Member, timed: bool) -> Result<()> {
        self.load_programs_of(member, timed)?.iter().try_for_each(|loaded| self.exchange_program(loaded))
    }

    /// The programs of all members.
    fn load_programs(&self, timed: bool, pulse: &mut Pulse<'_>) -> Result<Vec<Loaded>> {
        let mut all = Vec::new();
        for member in &living(&self.router) {
            pulse.beat();
            all.append(&mut self.load_programs_of(member, timed)?);
        }
        Ok(all)
    }

    /// The program of a member. One by XDP has a second program, by traffic control, where there are members by traffic control.
    fn load_programs_of(&self, member: &Member, timed: bool) -> Result<Vec<Loaded>> {
        let router = &self.router;
        let code = Code { stages: timed.then_some(&self.stages), ..router.code(Some(&self.tables)) };
        let of = router.identity(member);
        let loaded = |path, program| Loaded { member: member.name.clone(), path, program };
        let mut all = vec![loaded(member.path, code.member(member.path, of)?)];
        if member.path == Path::Xdp && Stand::ingress(&router.place(&member.name)).is_attached() {
            all.push(loaded(Path::Tc, code.member(Path::Tc, Identity { behind: true, ..of })?));
        }
        Ok(all)
    }

    fn exchange_program(&self, Loaded { member, path, program }: &Loaded) -> Result<()> {
        let router = &self.router;
        let on = format!("{}:{member}", router.name());
        let exchanged = match path {
            Path::Xdp => {
                let link =
                    Link::open(router.link(member)).map_err(|e| refused(&on, "opening its link", &e))?;
                sys::update_link(link.as_fd(), program.as_fd())
            }
            Path::Tc => Stand::ingress(&router.place(member)).exchange(program.as_fd()),
        };
        exchanged.map_err(|e| Error::io(&*on, "exchanging its program failed", e))
    }
}

/// The members that packets come in by.
fn living(router: &Router) -> Vec<Member> {
    router.members().into_iter().filter(|m| !m.gone).collect()
}
