//! What a driver does is tried: what it says of itself is a hint. A trial changes nothing that stays, but a driver may
//! reset the queue or the whole device for it.

use std::io;

use super::interface::Interface;
use crate::sys::{socket_probe, xdp_trial};

/// How a trial went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trial {
    /// It was not tried, or could not be, for want of rights or because the place is taken.
    #[default]
    Untried,
    /// It works.
    Works,
    /// The driver refused.
    #[non_exhaustive]
    Refused {
        /// The number of the error (errno(3)).
        error: i32,
        /// What the driver said, or what the number means.
        why: String,
    },
}

impl Trial {
    fn of(tried: io::Result<()>, words: impl FnOnce() -> Option<String>) -> Self {
        match tried {
            Ok(()) => Self::Works,
            Err(e) => match e.raw_os_error() {
                None | Some(libc::EPERM | libc::EACCES | libc::EBUSY | libc::EEXIST | libc::ENETDOWN) => {
                    Self::Untried
                }
                Some(error) => Self::Refused { error, why: words().unwrap_or_else(|| e.to_string()) },
            },
        }
    }
}

impl Interface {
    /// Binds an AF_XDP socket to queue `queue` in zero-copy mode, and closes it. What the driver says that it does not have
    /// is not tried.
    ///
    /// A driver may reset the queue for it, which loses what is in its ring.
    pub fn try_zero_copy(&mut self, queue: u32) {
        if self.xdp_features.is_none_or(|f| f & super::findings::ZERO_COPY != 0) {
            self.zero_copy = Trial::of(socket_probe::zero_copy(self.index, queue), || None);
        }
    }

    /// Attaches an XDP program that passes all frames, and takes it off.
    ///
    /// Some drivers reset the device for it: the link may be down for some seconds.
    pub fn try_native(&mut self) {
        if self.xdp_features.is_none_or(|f| f & super::findings::BASIC != 0) {
            self.native = Trial::of(xdp_trial::native(self.index), || xdp_trial::words(self.index));
        }
    }

    /// What a trial could disturb: who uses the interface, as far as the kernel tells; `None` when nobody does.
    ///
    /// ```
    /// let mut eth0 = ringway::probe::interface("lo")?;
    /// if eth0.in_use().is_none() {
    ///     eth0.try_zero_copy(0);
    ///     eth0.try_native();
    /// }
    /// # Ok::<(), ringway::Error>(())
    /// ```
    #[must_use]
    pub fn in_use(&self) -> Option<String> {
        if let Some((port, pid)) = self.ports.first() {
            return Some(format!("pid {pid} has {port} open"));
        }
        if let Some(address) = self.addresses.first() {
            return Some(format!("it carries {address}"));
        }
        if self.default_route {
            return Some("it carries the default route".to_owned());
        }
        if let Some(other) = self.users.first() {
            return Some(format!("{other} uses it"));
        }
        self.programs.first().map(|p| format!("program {} is attached", p.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_from_what_could_not_be_tried() {
        let of = |code| Trial::of(Err(io::Error::from_raw_os_error(code)), || Some("MTU too large".into()));
        for code in [libc::EPERM, libc::EBUSY, libc::EEXIST, libc::ENETDOWN] {
            assert_eq!(of(code), Trial::Untried);
        }
        let why = "MTU too large".to_owned();
        assert_eq!(of(libc::EINVAL), Trial::Refused { error: libc::EINVAL, why });
        assert_eq!(Trial::of(Ok(()), || None), Trial::Works);
    }

    #[test]
    fn who_uses_an_interface_is_known() {
        let idle = Interface::default();
        assert_eq!(idle.in_use(), None);
        let used = [
            (Interface { users: vec!["br0".into()], ..idle.clone() }, "br0 uses it"),
            (Interface { ports: vec![("ebpf:a0".into(), 7)], ..idle.clone() }, "pid 7 has ebpf:a0 open"),
            (Interface { default_route: true, ..idle.clone() }, "it carries the default route"),
            (Interface { addresses: vec!["10.0.0.1".parse().unwrap()], ..idle }, "it carries 10.0.0.1"),
        ];
        for (interface, why) in used {
            assert_eq!(interface.in_use().as_deref(), Some(why));
        }
    }
}
