//! An interface that is to become a port.

use std::thread;
use std::time::{Duration, Instant};

use ringway_nic::find;
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::net::{self, Interface};

use crate::admin::port::SwitchPort;

/// How long the kernel may take to call a link running that was just brought up.
const SETTLE: Duration = Duration::from_millis(1100);

/// An interface of the present network namespace.
pub(super) struct Nic {
    pub(super) index: u32,
    pub(super) netns: u32,
    pub(super) interface: Interface,
}

impl Nic {
    pub(super) fn find(name: &str, on: &str) -> Result<Self> {
        let io = |e| Error::io(on, "asking for the interface failed", e);
        let (index, interface) = find(on, name)?;
        let start = Instant::now();
        while !interface.link_up().map_err(io)? {
            if start.elapsed() < SETTLE {
                thread::sleep(Duration::from_millis(10));
                continue;
            }
            let what = format!("the link of {name} is down");
            return Err(Error::new(ErrorKind::LinkDown, on, what)
                .cure(format!("`ip link set {name} up`, and check the cable or the other end")));
        }
        Ok(Self { index, netns: net::netns_inode().map_err(io)?, interface })
    }
}

impl SwitchPort {
    /// The present name of the interface that it is. `None` for other ports, and when the interface was deleted. Also `None` when its
    /// network namespace can't be found: it is neither the present one, nor a process', nor mounted anywhere here.
    ///
    /// ```no_run
    /// for port in ringway_switch::Switch::open("vale0")?.ports() {
    ///     println!("{} is {}", port.name, port.interface().as_deref().unwrap_or("no interface"));
    /// }
    /// # Ok::<(), ringway_sys::Error>(())
    /// ```
    #[must_use]
    pub fn interface(&self) -> Option<String> {
        let (index, netns) = (self.nic.filter(|_| !self.gone)?, self.netns?);
        if net::netns_inode().is_ok_and(|here| here == netns) {
            return net::name(index).ok();
        }
        net::in_netns(&net::find_netns(netns)?, || net::name(index)).ok()
    }
}
