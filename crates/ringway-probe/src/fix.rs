//! Settings that `doctor --fix` sets, each with the command that does the same and the one that restores.

use ringway_sys::error::{Error, Result};
use ringway_sys::net;

/// One setting that stands in the way of packet I/O, and what to set in its place.
///
/// ```no_run
/// for fix in ringway_probe::interface("eth0")?.fixes() {
///     fix.apply()?;
///     println!("did `{}`; `{}` restores", fix.command, fix.restore);
/// }
/// # Ok::<(), ringway_sys::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fix {
    /// Id of the finding that it cures.
    pub check: &'static str,
    /// The command that does the same.
    pub command: String,
    /// The command that restores what is now.
    pub restore: String,
    pub(super) interface: String,
    pub(super) index: u32,
    pub(super) change: Change,
}

/// What is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// The link, up.
    Up,
    /// The MTU.
    Mtu(u32),
    /// Offloads, off.
    Off(Vec<String>),
    /// Descriptors of rx and tx rings.
    Rings((u32, u32)),
    /// Rx, tx and combined queues.
    Queues([u32; 3]),
}

impl Fix {
    /// The command, as a cure has it.
    pub(super) fn cure(&self) -> String {
        format!("`{}`", self.command)
    }

    /// Sets it. Most drivers reset the device for rings, queues and the MTU.
    ///
    /// # Errors
    /// What the kernel or the driver said; also when a driver says yes and keeps an offload on. Needs `CAP_NET_ADMIN`.
    pub fn apply(&self) -> Result<()> {
        let failed = |e| {
            let error = Error::io(&self.interface, format!("`{}` failed", self.command), e);
            error.cure_if_denied("run as root, or with CAP_NET_ADMIN")
        };
        let device = net::Interface::new(self.index).map_err(failed)?;
        let set = match &self.change {
            Change::Up => device.set_up(),
            Change::Mtu(mtu) => device.set_mtu(*mtu),
            Change::Off(names) => device.set_offloads(names, false),
            Change::Rings(sizes) => device.set_rings(*sizes),
            Change::Queues(queues) => device.set_channels(*queues),
        };
        set.map_err(failed)?;
        if let Change::Off(names) = &self.change {
            let on = device.offloads().map_err(failed)?.on;
            if let Some(kept) = names.iter().find(|n| on.contains(n)) {
                let what = format!("`{}`: the driver keeps {kept} on", self.command);
                return Err(Error::new(ringway_sys::ErrorKind::Unsupported, &self.interface, what));
            }
        }
        Ok(())
    }
}
