//! What the backends of interfaces share: finding one, its queues, and noticing that it is gone.

use crate::error::{Error, ErrorKind, Result};
use crate::name::NicRings;
use crate::sys::net::{self, Interface};

/// How often an idle or failing port looks at its interface, in ns.
pub(crate) const LOOK_NS: u64 = 100_000_000;

/// The interface called `ifname`, for the port `name`, and its index.
pub(crate) fn find(name: &str, ifname: &str) -> Result<(u32, Interface)> {
    let index = net::index(ifname).map_err(|_| {
        let what = format!("there is no interface {ifname} in this network namespace");
        Error::new(ErrorKind::NotFound, name, what).cure("`ip link` lists what there is")
    })?;
    let interface = Interface::new(index).map_err(|e| Error::io(name, "socket failed", e))?;
    Ok((index, interface))
}

/// Refuses a queue that the interface does not have.
pub(crate) fn check_queue(name: &str, ifname: &str, rings: NicRings, queues: u32) -> Result<()> {
    match rings {
        NicRings::Queue(q) if q >= queues => {
            let what = format!("{ifname} has no queue {q}; its queues are 0 to {}", queues - 1);
            Err(Error::new(ErrorKind::NotFound, name, what).cure("`ethtool -L` changes how many there are"))
        }
        _ => Ok(()),
    }
}

/// Explains why an interface could not be asked.
pub(crate) fn gone(port: &str, e: std::io::Error) -> Error {
    if matches!(e.raw_os_error(), Some(libc::ENODEV | libc::ENXIO)) {
        return Error::new(ErrorKind::Gone, port, "the interface was deleted")
            .cure("open the port again when it is back");
    }
    Error::io(port, "asking for the state of the interface failed", e)
}

/// Fails when the interface has more rx queues than the `served` ones: frames would pass the port by.
pub(crate) fn all_served(port: &str, interface: &Interface, served: u32) -> Result<()> {
    let now = interface.queues().0;
    if now <= served {
        return Ok(());
    }
    let what = format!("the interface has {now} rx queues now, not {served}");
    Err(Error::new(ErrorKind::Gone, port, what).cure("open the port again, to serve them all"))
}
