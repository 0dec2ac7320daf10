//! A router: made, opened, asked, deleted.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use libbpf_rs::Link;
use ringway::capability::{Cap, need};
use ringway::pinned::Folder;
use ringway::{Error, ErrorKind, Result};

use super::intended_members::IntendedMembers;
use super::layout::{control as page, info};
use super::maps::{self, Shared, Tables, refused};
use super::pins::{CLAIM, LINKS, MARK, MEMBER, TABLES};
use super::program::{Code, Identity, STALE, TAKEN};
use super::spec::Spec;
use super::stages::Stages;
use crate::sys::Mapping;

/// A router that exists.
///
/// ```no_run
/// use ringway_router::kernel::{Outcome, Router};
/// for stats in Router::open("vale0")?.stats() {
///     println!("{} forwarded {}", stats.member.name, stats.counts.get(Outcome::Forwarded));
/// }
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug)]
pub struct Router {
    pub(super) folder: Folder,
    pub(super) name: String,
    spec: Spec,
    pub(super) netns: u32,
    pub(super) cpus: usize,
    pub(super) shared: Shared,
    pub(super) info: Mapping,
    pub(super) members: Mapping,
    pub(super) counts: Mapping,
    pub(super) budgets: Mapping,
}

/// Whether a router does its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    /// Whether members forward: tables were published, and their control process called them good less than 3 s ago.
    pub ready: bool,
    /// How long ago it was heard; `None` when no tables were published, or it was never heard.
    pub age: Option<Duration>,
    /// The process that controls the router; `None` when there is none, or it is in another pid namespace.
    pub controller: Option<u32>,
}

/// Names of the routers that exist.
///
/// ```
/// assert!(ringway_router::kernel::routers().iter().all(|name| ringway::pinned::check_router_name(name).is_ok()));
/// ```
#[must_use]
pub fn routers() -> Vec<String> {
    ringway::pinned::routers()
}

impl Router {
    /// Makes a router without members or tables, in the network namespace of the calling thread. Nothing is attached to interfaces.
    ///
    /// # Errors
    /// * [`ErrorKind::Busy`] when there is a router or switch of that name
    /// * [`ErrorKind::Denied`] without privilege
    /// * [`ErrorKind::Invalid`] for sizes that programs can't use
    /// * [`ErrorKind::Unsupported`] on another processor than x86-64, whose loads keep their order
    ///
    /// Nothing half made stays.
    pub fn create(name: &str, spec: &Spec) -> Result<Self> {
        Self::create_for(name, spec, &[])
    }

    /// The same for a router that is to have these [`intended_members`](Self::intended_members). Until they are
    /// [marked](IntendedMembers::mark_complete) as complete, a process that goes on after a killed one knows that not all were added.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_for(name: &str, spec: &Spec, members: &[String]) -> Result<Self> {
        if cfg!(not(target_arch = "x86_64")) {
            return Err(Error::new(ErrorKind::Unsupported, name, "routers need an x86-64 processor")
                .cure("leave forwarding to the kernel on this machine"));
        }
        spec.check(name)?;
        need(&[Cap::Bpf, Cap::NetAdmin, Cap::Perfmon], "making a router", name)?;
        let netns = netns().map_err(|e| Error::io(name, "asking for the network namespace failed", e))?;
        let folder = Folder::make(name, |dir| fill(dir, name, (spec, netns), members))?;
        Self::with(folder, name)
    }

    /// Opens a router.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Unfit`] when it is a switch, or another version of Ringway made it; [`ErrorKind::Denied`]
    /// without privilege.
    pub fn open(name: &str) -> Result<Self> {
        Self::with(Folder::open(name, MARK)?, name)
    }

    fn with(folder: Folder, name: &str) -> Result<Self> {
        let shared = Shared::open(folder.path(), name)?;
        let info = shared.mapping(MARK, name)?;
        if ![info::IS, info::WAS].contains(&info.u64(info::MAGIC).load(Relaxed)) {
            return Err(Error::new(ErrorKind::Unfit, name, "another version of Ringway made this router")
                .cure("delete it with that version and make it again"));
        }
        let spec = Spec::of_words(std::array::from_fn(|i| info.u32(info::SPEC + 4 * i).load(Relaxed)));
        Ok(Self {
            name: name.to_owned(),
            spec,
            netns: info.u32(info::NETNS).load(Relaxed),
            cpus: info.u32(info::CPUS).load(Relaxed) as usize,
            members: shared.mapping("members", name)?,
            counts: shared.mapping("counts", name)?,
            budgets: shared.mapping("budgets", name)?,
            info,
            shared,
            folder,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it was made.
    #[must_use]
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// Removes the router: takes its programs off all interfaces, then all pins away.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`], and nothing done, while a process controls it, this one included.
    pub fn delete(self) -> Result<()> {
        self.delete_after(|| {})
    }

    /// The same; `before` runs when nobody can control the router any more, and before anything of it is
    /// removed.
    ///
    /// # Errors
    /// As [`delete`](Self::delete); `before` is not called then.
    pub fn delete_after(self, before: impl FnOnce()) -> Result<()> {
        let Some(_claim) = self.folder.claim(CLAIM)? else {
            return Err(Error::new(ErrorKind::Busy, &self.name, "a process controls the router")
                .cure("end it first: `ringway router list` shows it"));
        };
        self.folder.remove(|| {
            before();
            self.members().iter().for_each(|m| self.forget(m.number, &m.name));
            let links = TAKEN.map(|name| Link::open(self.folder.path().join(LINKS).join(name)));
            links.into_iter().flatten().for_each(|link| _ = link.detach());
        })
    }

    /// The interfaces that are to be members, whether they are or not.
    #[must_use]
    pub fn intended_members(&self) -> IntendedMembers<'_> {
        IntendedMembers(&self.info)
    }

    /// Whether it does its work.
    #[must_use]
    pub fn health(&self) -> Health {
        let page = self.tables().and_then(|tables| tables.mapping("control", &self.name)).ok();
        let heard = page.as_ref().map(|page| page.u64(page::NS).load(Relaxed)).filter(|ns| *ns != 0);
        let age = heard.map(|ns| Duration::from_nanos(ringway::time::monotonic_ns().saturating_sub(ns)));
        let trusted = page.is_some_and(|page| page.u64(page::BEAT).load(Relaxed) != 0);
        Health {
            ready: trusted && age.is_some_and(|age| age <= Duration::from_secs(STALE.into())),
            age,
            controller: self.folder.holder(CLAIM),
        }
    }

    /// The directory that the process that controls the router has locked (`flock`).
    #[must_use]
    pub fn control_lock(&self) -> PathBuf {
        self.folder.path().join(CLAIM)
    }

    /// The stages of its packets, which are not counted yet.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] when no control process looks after the router, or one of an earlier version; [`ErrorKind::Denied`] without
    /// privilege.
    pub fn stages(&self) -> Result<Stages> {
        let (on, Health { age, controller, .. }) = (&self.name, self.health());
        let begin = format!("`ringway router sync {on}` starts one");
        if age.is_none_or(|age| age > Duration::from_secs(STALE.into())) {
            let what = "no control process has members use programs that count stages";
            return Err(Error::new(ErrorKind::Unfit, on, what).cure(begin));
        }
        match Stages::find(self.folder.path(), self.cpus, on)? {
            Some(stages) if stages.are_served_by(&self.tables()?)? => Ok(stages),
            _ => {
                let end =
                    controller.map_or_else(|| "end it".to_owned(), |pid| format!("`kill {pid}` ends it"));
                let what = "its control process is of another version, and counts no stages";
                Err(Error::new(ErrorKind::Unfit, on, what)
                    .cure(format!("{end}, then {begin} of this version")))
            }
        }
    }

    /// Inode number of the network namespace in which it was made, and in which its members are.
    #[must_use]
    pub fn netns(&self) -> u32 {
        self.netns
    }

    /// The tables published last.
    pub(super) fn tables(&self) -> Result<Tables> {
        Tables::open(&self.folder.path().join(TABLES), &self.name)
    }

    pub(super) fn code<'a>(&'a self, tables: Option<&'a Tables>) -> Code<'a> {
        Code {
            spec: &self.spec,
            cpus: self.cpus,
            netns: self.netns,
            shared: &self.shared,
            tables,
            stages: None,
            on: &self.name,
        }
    }

    /// Interfaces are known by index, which says nothing in another network namespace.
    pub(crate) fn check_netns(&self, on: &str) -> Result<()> {
        if netns().is_ok_and(|netns| netns == self.netns) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unfit, on, "the router was made in another network namespace")
            .cure("run this in that one: `--netns NAME`"))
    }
}

/// Makes what stays as long as the router lives.
fn fill(dir: &std::path::Path, name: &str, (spec, netns): (&Spec, u32), members: &[String]) -> Result<()> {
    let cpus = maps::cpus(name)?;
    let shared = Shared::new(cpus, name)?;
    let info = shared.mapping(MARK, name)?;
    info.u32(info::NETNS).store(netns, Relaxed);
    info.u32(info::CPUS).store(cpus as u32, Relaxed);
    spec.words().iter().enumerate().for_each(|(i, word)| info.u32(info::SPEC + 4 * i).store(*word, Relaxed));
    IntendedMembers(&info).set(members);
    info.u64(info::MAGIC).store(info::IS, Relaxed);
    shared.pin(dir, name)?;
    let sub = |sub: &str| {
        let dir = dir.join(sub);
        ringway::dirs::make_closed_dir(&dir)?;
        Ok::<_, Error>(dir)
    };
    sub(MEMBER)?;
    sub(CLAIM)?;
    let taken = sub(LINKS)?;
    let code = Code { spec, cpus, netns, shared: &shared, tables: None, stages: None, on: name };
    let object = code.load(&TAKEN, Identity::default())?;
    for program in object.progs_mut().filter(|p| TAKEN.iter().any(|name| p.name() == *name)) {
        let pinned = program.attach_trace().and_then(|mut link| link.pin(taken.join(program.name())));
        pinned.map_err(|e| refused(name, "attaching what counts frames that drivers took", &e))?;
    }
    Ok(())
}

/// Inode number of the thread's network namespace.
fn netns() -> std::io::Result<u32> {
    use std::os::unix::fs::MetadataExt;
    Ok(fs::metadata("/proc/thread-self/ns/net")?.ino() as u32)
}
