//! Trying what the driver of an interface does, and whether anybody would be disturbed.

use super::interface::{BASIC, Interface, ZERO_COPY};
use super::trial::Trial;
use ringway_sys::{socket_probe, xdp_trial};

impl Interface {
    /// Binds an AF_XDP socket to queue `queue` in zero-copy mode, and closes it. What the driver says that it does not have
    /// is not tried.
    ///
    /// A driver may reset the queue for it, which loses what is in its ring.
    pub fn try_zero_copy(&mut self, queue: u32) {
        if self.xdp_features.is_none_or(|f| f & ZERO_COPY != 0) {
            self.zero_copy = Trial::of(socket_probe::zero_copy(self.index, queue), || None);
        }
    }

    /// Attaches an XDP program that passes all frames, and takes it off.
    ///
    /// Some drivers reset the device for it: the link may be down for some seconds.
    pub fn try_native(&mut self) {
        if self.xdp_features.is_none_or(|f| f & BASIC != 0) {
            self.native = Trial::of(xdp_trial::native(self.index), || xdp_trial::words(self.index));
        }
    }

    /// What a trial could disturb: who uses the interface, as far as the kernel tells; `None` when nobody does.
    ///
    /// ```
    /// let mut eth0 = ringway_probe::interface("lo")?;
    /// if eth0.in_use().is_none() {
    ///     eth0.try_zero_copy(0);
    ///     eth0.try_native();
    /// }
    /// # Ok::<(), ringway_sys::Error>(())
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
