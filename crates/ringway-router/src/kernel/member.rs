//! Members: interfaces that a router's program is attached to.

use std::fs;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering::{Relaxed, Release};

use libbpf_rs::{Link, MapCore};
use ringway::tc::{Stand, Way};
use ringway::{Error, ErrorKind, Result, probe};
use ringway_bpf::Record;
use ringway_bpf::layout::router::nic_key;
use ringway_fwd::router::Interface;

use super::layout::{BUDGET, COUNTS, MEMBERS, info, member as at};
use super::outcome::{Counts, Outcome};
use super::path::Path;
use super::pins::MEMBER;
use super::program::{Identity, StopAfter};
use super::router::Router;
use crate::sys;

/// A member of a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its number, 0 to 255.
    pub number: u32,
    /// Name of the interface when it became a member.
    pub name: String,
    /// The interface, as the control process says that it is.
    pub interface: Interface,
    /// Where its program stands.
    pub path: Path,
    /// Whether the interface was deleted: [`Router::remove_member`] is all that is left.
    pub gone: bool,
}

/// What a member's packets became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberStats {
    /// The member.
    pub member: Member,
    /// Packets that came in by what became of them, and of those forwarded to it what its driver took.
    pub counts: Counts,
}

impl Router {
    /// All members.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        (0..MEMBERS as u32).filter_map(|number| self.member(number)).collect()
    }

    fn member(&self, number: u32) -> Option<Member> {
        if self.word(number, at::FLAGS) & 1 == 0 {
            return None;
        }
        let bytes = (0..at::NAME_SIZE / 8).flat_map(|i| {
            self.members.u64(number as usize * at::SIZE + at::NAME + 8 * i).load(Relaxed).to_ne_bytes()
        });
        let name: Vec<u8> = bytes.take_while(|b| *b != 0).collect();
        let name = String::from_utf8_lossy(&name).into_owned();
        let path = Path::of_number(self.word(number, at::PATH));
        let lives = match path {
            Path::Xdp => Link::open(self.link(&name))
                .is_ok_and(|link| sys::xdp_index(link.as_fd()).is_ok_and(|i| i != 0)),
            Path::Tc => Stand::ingress(&self.place(&name)).lives(),
        };
        Some(Member {
            number,
            path,
            interface: Interface::of_word(
                self.word(number, at::IFINDEX),
                self.members.u64(number as usize * at::SIZE + at::WORD).load(Relaxed),
            ),
            gone: !lives,
            name,
        })
    }

    /// Makes an interface of the router's network namespace a member by XDP: attaches the router's program to it. From then on packets that
    /// come in by it are forwarded as the tables say that were published last. Its number is found by its name: that of `to` is not asked for.
    ///
    /// The interface may be the egress of packets of all members. A veth takes them only while its far end runs NAPI: `ethtool -K PEER
    /// gro on`, or an XDP program there.
    ///
    /// # Errors
    /// * [`ErrorKind::Unfit`] when no tables were published yet ([`Control::publish`](super::Control::publish)), or the thread is in another
    ///   network namespace than the router
    /// * [`ErrorKind::NotFound`] when there is no such interface
    /// * [`ErrorKind::Busy`] when it is a member, or another XDP program is attached, or there are 256 members
    /// * [`ErrorKind::Unsupported`] when its driver has no native XDP
    ///
    /// Nothing half made stays.
    pub fn add_member(&self, interface: &str, to: &Interface) -> Result<u32> {
        self.add_member_by(interface, to, Path::Xdp)
    }

    /// The same by either way. By traffic control nothing is asked of a veth's far end, and other programs and filters there may be: they
    /// come first.
    ///
    /// # Errors
    /// As [`add_member`](Self::add_member).
    pub fn add_member_by(&self, interface: &str, to: &Interface, path: Path) -> Result<u32> {
        self.add(interface, to, StopAfter::Whole, (path, Way::Best))
    }

    /// By traffic control as on kernels without tcx: for tests on others.
    ///
    /// # Errors
    /// As [`add_member`](Self::add_member).
    #[doc(hidden)]
    pub fn add_member_by_clsact(&self, interface: &str, to: &Interface) -> Result<u32> {
        self.add(interface, to, StopAfter::Whole, (Path::Tc, Way::Clsact))
    }

    /// By XDP for measuring: packets that come in by it end at some point, until tables are published the next time.
    ///
    /// # Errors
    /// As [`add_member`](Self::add_member).
    pub fn add_member_stopping(&self, interface: &str, to: &Interface, stop: StopAfter) -> Result<u32> {
        self.add(interface, to, stop, (Path::Xdp, Way::Best))
    }

    fn add(&self, interface: &str, to: &Interface, stop: StopAfter, (path, way): (Path, Way)) -> Result<u32> {
        let on = format!("{}:{interface}", self.name());
        let found = probe::interface(interface)?;
        self.check_netns(&on)?;
        let _lock = self.folder.lock()?;
        let number = self.free_number(interface, &on)?;
        let software = found.leaves_checksums();
        let of = Identity { number, index: found.index, software, stop, behind: false };
        self.enter(of, (interface, path), to, &on)?;
        self.attach(of, &found, (path, way), &on).inspect_err(|_| self.forget(number, interface))?;
        Ok(number)
    }

    /// Takes the program off an interface; packets that come in by it are the kernel's again.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when it is no member.
    ///
    /// ```no_run
    /// ringway_router::kernel::Router::open("vale0")?.remove_member("eth1")?;
    /// # Ok::<(), ringway::Error>(())
    /// ```
    pub fn remove_member(&self, interface: &str) -> Result<()> {
        let _lock = self.folder.lock()?;
        let Some(member) = self.members().into_iter().find(|m| m.name == interface) else {
            let what = format!("{interface} is no member");
            return Err(Error::new(ErrorKind::NotFound, self.name(), what)
                .cure("`ringway router list` shows the members"));
        };
        self.forget(member.number, interface);
        Ok(())
    }

    /// Tells the program of a member its link address, and what it may do. One store: each packet sees all of it or nothing.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is no member with that number.
    pub fn set_interface(&self, member: u32, to: &Interface) -> Result<()> {
        if member as usize >= MEMBERS || self.word(member, at::FLAGS) & 1 == 0 {
            return Err(Error::new(ErrorKind::NotFound, self.name(), format!("there is no member {member}")));
        }
        self.members.u64(member as usize * at::SIZE + at::WORD).store(to.word(), Release);
        Ok(())
    }

    /// What members' packets became, without the packets of members that were removed.
    #[must_use]
    pub fn stats(&self) -> Vec<MemberStats> {
        self.members()
            .into_iter()
            .map(|member| MemberStats { counts: self.counts(member.number), member })
            .collect()
    }

    fn counts(&self, number: u32) -> Counts {
        let mut sum = Counts::default();
        for cpu in 0..self.cpus {
            let of = (cpu * MEMBERS + number as usize) * COUNTS;
            Outcome::ALL
                .iter()
                .for_each(|o| sum.add(*o, self.counts.u64(of + 8 * *o as usize).load(Relaxed)));
        }
        sum
    }

    /// Which program a member has.
    pub(super) fn identity(&self, member: &Member) -> Identity {
        let software = self.word(member.number, at::SOFTWARE) != 0;
        let (number, index) = (member.number, member.interface.index);
        Identity { number, index, software, stop: StopAfter::Whole, behind: false }
    }

    /// Where what attaches a member's programs lies.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        Self::place_of(&self.name, name)
    }

    /// The same of a router that need not be there.
    pub(crate) fn place_of(router: &str, name: &str) -> PathBuf {
        ringway::pinned::root().join(router).join(MEMBER).join(name)
    }

    /// The link that attaches a member's program by XDP.
    pub(super) fn link(&self, name: &str) -> PathBuf {
        self.place(name).join("xdp")
    }

    fn word(&self, number: u32, word: usize) -> u32 {
        self.members.u32(number as usize * at::SIZE + word).load(Relaxed)
    }

    fn free_number(&self, interface: &str, on: &str) -> Result<u32> {
        let members = self.members();
        let busy = |what: String, cure: &str| Err(Error::new(ErrorKind::Busy, on, what).cure(cure));
        if members.iter().any(|m| m.name == interface) {
            return busy(
                format!("{interface} is a member"),
                "`ringway router port del` removes it, also when it is gone",
            );
        }
        let free = (0..MEMBERS as u32).find(|n| members.iter().all(|m| m.number != *n));
        free.map_or_else(|| busy(format!("the router has {MEMBERS} members"), "remove one"), Ok)
    }

    /// Writes the entry of a member, with counters at 0.
    fn enter(&self, of: Identity, (name, path): (&str, Path), to: &Interface, on: &str) -> Result<()> {
        let base = of.number as usize * at::SIZE;
        let mut bytes = [0; at::NAME_SIZE];
        let Some(place) = bytes[..at::NAME_SIZE - 1].get_mut(..name.len()) else {
            return Err(Error::new(ErrorKind::BadName, on, "the name of the interface is too long"));
        };
        place.copy_from_slice(name.as_bytes());
        for (i, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
            self.members.u64(base + at::NAME + 8 * i).store(u64::from_ne_bytes(*word), Relaxed);
        }
        (0..self.cpus).flat_map(|cpu| (0..COUNTS / 8).map(move |i| (cpu, i))).for_each(|(cpu, i)| {
            let of = (cpu * MEMBERS + of.number as usize) * COUNTS;
            self.counts.u64(of + 8 * i).store(0, Relaxed);
        });
        (0..BUDGET / 8).for_each(|i| self.budgets.u64(of.number as usize * BUDGET + 8 * i).store(0, Relaxed));
        let word = |at: usize, value| self.members.u32(base + at).store(value, Relaxed);
        word(at::IFINDEX, of.index);
        word(at::NETNS, self.netns);
        word(at::SOFTWARE, of.software.into());
        word(at::PATH, (path == Path::Tc).into());
        // an earlier version knows no member by tc
        self.info.u64(info::MAGIC).store(info::IS, Relaxed);
        self.members.u64(base + at::WORD).store(to.word(), Relaxed);
        self.members.u32(base + at::FLAGS).store(1, Release);
        Ok(())
    }

    /// Takes everything of a member away; what is not there is gone already.
    pub(super) fn forget(&self, number: u32, name: &str) {
        let path = self.link(name);
        if let Ok(link) = Link::open(&path) {
            let _ = link.detach();
        }
        let index = self.word(number, at::IFINDEX);
        Stand::ingress(&self.place(name)).detach((self.netns, index));
        let _ = fs::remove_dir_all(self.place(name));
        // Another one may have the index of an interface that was deleted.
        if !self.members().iter().any(|m| m.number != number && m.interface.index == index) {
            let _ = self.shared.get("devs").delete(&index.to_ne_bytes());
            let _ = self.shared.get("nics").delete(&self.nic_key(index));
        }
        self.members.u32(number as usize * at::SIZE + at::FLAGS).store(0, Release);
    }

    /// The key of an interface in the map of members by interface.
    pub(super) fn nic_key(&self, index: u32) -> Vec<u8> {
        Record::new(nic_key::SIZE)
            .with_u32(nic_key::IFINDEX, index)
            .with_u32(nic_key::NETNS, self.netns)
            .into_bytes()
    }
}
