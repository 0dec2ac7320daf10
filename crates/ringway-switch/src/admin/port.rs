//! Ports of a switch: made, listed, removed.

use std::sync::atomic::Ordering::Relaxed;

use super::access::PortAccess;
use super::switch::Switch;
use crate::client::claim;
use crate::layout::{PORTS_MAX, port as at};
use crate::nic::{MEMBER_NEEDS, NicPath};
use crate::pins;
use ringway_pinned as pinned;
use ringway_sys::capability::{Cap, need};
use ringway_sys::dir_lock::{DirLock, Locks};
use ringway_sys::error::{Error, ErrorKind, Result};

/// A port that a switch has.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SwitchPort {
    /// Its number, 1 to 254.
    pub number: u32,
    /// Its name, without that of the switch.
    pub name: String,
    /// Whether it goes away with its last user.
    pub ephemeral: bool,
    /// Who may open it.
    pub access: PortAccess,
    /// Whether a process has it open.
    pub open: bool,
    /// That process, unless it is of another pid namespace.
    pub pid: Option<u32>,
    /// Index of the interface that it is, in the network namespace in which it was added; `None` for a virtual port.
    pub nic: Option<u32>,
    /// Inode number of the network namespace of that interface.
    pub netns: Option<u32>,
    /// Whether it is the host's side of that interface ([`NicOptions::host`](crate::NicOptions::host)).
    pub host: bool,
    /// Of an interface, how frames get in and out: by XDP or by tc.
    pub path: Option<NicPath>,
    /// Whether that interface was deleted: the port stays, and what is sent to it is dropped. Only root can tell.
    pub gone: bool,
}

impl Switch {
    /// Makes a port that stays until it is deleted; returns its number.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when there is one of that name; [`ErrorKind::Unfit`] when all 254 numbers are taken. Nothing half
    /// made stays.
    pub fn add_port(&self, name: &str, access: &PortAccess) -> Result<u32> {
        let number = self.attach_port(name, access)?;
        self.stay();
        Ok(number)
    }

    /// Makes a port that goes away with its last user, and takes it for this process.
    #[doc(hidden)]
    pub fn add_ephemeral(&self, name: &str) -> Result<DirLock> {
        let _lock = self.lock()?;
        let dir = pins::port(&self.dir, name);
        self.finish_interrupted();
        if !dir.is_dir() {
            self.make_port(name, &PortAccess::default(), at::EPHEMERAL)?;
        }
        let on = format!("{}:{name}", self.name);
        claim(&dir, &on)
    }

    /// Removes a port. Frames to it are then dropped as `no_destination`, or go to all when its addresses are forgotten. A NIC
    /// is no longer promiscuous, unless it is one of [`nics_out_of_reach`](Self::nics_out_of_reach).
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Busy`] when a process has it open and `force` is not set. With `force` that process
    /// gets [`ErrorKind::Gone`] from its next sync. [`ErrorKind::Unfit`] for the host's side of a NIC, which goes with the NIC.
    /// [`ErrorKind::Io`] when the port is gone, and its name free, but some of its files could not be removed: who next changes the
    /// switch tries again.
    pub fn del_port(&self, name: &str, force: bool) -> Result<()> {
        let done = self.del_port_alone(name, force);
        Self::remove_passed(&self.name, true);
        done
    }

    fn del_port_alone(&self, name: &str, force: bool) -> Result<()> {
        let _lock = self.lock()?;
        let port = self.find_port(name)?;
        self.need_to_change(std::slice::from_ref(&port), &[], "deleting the port")?;
        let _held = match self.hold_port(name) {
            Err(e) if !force => return Err(e.cure("end that process first, or use --force")),
            held => held,
        };
        self.del_host(&port)?;
        self.detach_nic(&port);
        self.forget_port(port.number);
        pinned::discard(&pins::port(&self.dir, name)).map_err(|e| {
            let on = format!("{}:{name}", self.name);
            Error::io(on, "the port is gone, but removing its files failed", e)
                .cure("`ringway switch list` tries again")
        })
    }

    /// Fails without `plain` and what these ports take besides: interfaces, and files of other users.
    pub(super) fn need_to_change(&self, ports: &[SwitchPort], plain: &[Cap], what: &str) -> Result<()> {
        let mut needed = plain.to_vec();
        if ports.iter().any(|p| p.nic.is_some()) {
            needed.extend(MEMBER_NEEDS);
        }
        if ports.iter().any(|p| p.access.is_of_others()) {
            needed.extend([Cap::Chown, Cap::DacOverride]);
        }
        need(&needed, what, &self.name)
    }

    /// The port of that name.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`].
    pub fn find_port(&self, name: &str) -> Result<SwitchPort> {
        let found = self.number_of(name).and_then(|number| self.port(number, &Locks::read()));
        found.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("{}:{name}", self.name), "there is no such port")
                .cure(format!("`ringway switch list {}` shows them", self.name))
        })
    }

    /// The ports, by number.
    #[must_use]
    pub fn ports(&self) -> Vec<SwitchPort> {
        let locks = Locks::read();
        (1..=PORTS_MAX).filter_map(|n| self.port(n, &locks)).collect()
    }

    fn port(&self, number: u32, locks: &Locks) -> Option<SwitchPort> {
        let (name, flags) = self.record(number)?;
        Some(self.describe(number, name, flags, locks))
    }

    pub(super) fn describe(&self, number: u32, name: String, flags: u32, locks: &Locks) -> SwitchPort {
        let lock = pins::in_use(&pins::port(&self.dir, &name));
        let access = self.access(number);
        // Asking who has the lock disturbs nobody. Taking it for an instant also finds a process of another pid namespace.
        let pid = locks.holder(&lock);
        let open = pid.is_some() || matches!(DirLock::take(&lock, false), Ok(None));
        let ifindex = self.port_word(number, at::IFINDEX).load(Relaxed);
        let nic = (flags & at::NIC != 0).then_some(ifindex);
        let netns = nic.is_some().then(|| self.nic_word(number, at::NETNS));
        let (ephemeral, host) = (flags & at::EPHEMERAL != 0, flags & at::HOST != 0);
        let by_tc = self.port_word(number, at::CROSSING).load(Relaxed) != 0;
        let path = nic.is_some().then_some(if by_tc { NicPath::Tc } else { NicPath::Xdp });
        let gone = nic.is_some() && self.interface_is_gone(name.trim_end_matches('^'), number, path);
        SwitchPort { number, name, ephemeral, access, open, pid, nic, netns, host, path, gone }
    }

    /// Keeps others from opening a port; `None` when it has no files.
    pub(super) fn hold_port(&self, name: &str) -> Result<Option<DirLock>> {
        let dir = pins::port(&self.dir, name);
        if !dir.exists() {
            return Ok(None);
        }
        claim(&dir, &format!("{}:{name}", self.name)).map(Some)
    }
}
