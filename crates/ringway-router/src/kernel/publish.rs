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
use super::program::Identity;
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
    /// since loading their programs takes a while.
    ///
    /// # Errors
    /// What the kernel said. Everything that can fail is tried before the first member goes over. If one does not go, the members before it use
    /// these tables, and to publish again is the cure.
    pub fn publish(&mut self, pulse: &mut Pulse<'_>) -> Result<()> {
        let router = &self.router;
        let on = router.name();
        let _lock = router.folder.lock()?;
        let loaded = self.load_programs(pulse)?;
        let [tables, new, old] = [TABLES, "~new", "~old"].map(|name| router.folder.path().join(name));
        let io = |e| Error::io(on, "exchanging the tables failed", e);
        [&new, &old].into_iter().for_each(|dir| _ = fs::remove_dir_all(dir)); // of a process that was killed here
        ringway::dirs::make_closed_dir(&new)?;
        self.tables.pin(&new, on)?;
        if self.page.u64(at::BEAT).load(Relaxed) != 0 {
            self.heartbeat(true)?; // loading programs of many members takes a while
        }
        for loaded in &loaded {
            pulse.beat();
            self.exchange_program(loaded)?;
        }
        if tables.exists() {
            fs::rename(&tables, &old).map_err(io)?;
        }
        fs::rename(&new, &tables).map_err(io)?;
        let _ = fs::remove_dir_all(&old);
        Ok(())
    }

    /// The programs of all members. A member by XDP has a second one, by traffic control, where there are members by traffic control.
    fn load_programs(&self, pulse: &mut Pulse<'_>) -> Result<Vec<Loaded>> {
        let router = &self.router;
        let members: Vec<Member> = router.members().into_iter().filter(|m| !m.gone).collect();
        let code = router.code(Some(&self.tables));
        let mut all = Vec::new();
        for m in &members {
            pulse.beat();
            let of = router.identity(m);
            let loaded = |path, program| Loaded { member: m.name.clone(), path, program };
            all.push(loaded(m.path, code.member(m.path, of)?));
            if m.path == Path::Xdp && Stand::ingress(&router.place(&m.name)).is_attached() {
                all.push(loaded(Path::Tc, code.member(Path::Tc, Identity { behind: true, ..of })?));
            }
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
