//! Finding an interface, its queues, and noticing that it is gone.

use std::io;

use super::tc;
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::net::{self, Interface};
use ringway_sys::promiscuous::Promiscuous;

/// How often an idle or failing port looks at its interface, in ns.
pub const LOOK_NS: u64 = 100_000_000;

/// The interface called `ifname`, for the port `name`, and its index.
pub fn find(name: &str, ifname: &str) -> Result<(u32, Interface)> {
    let index = net::index(ifname).map_err(|_| {
        let what = format!("there is no interface {ifname} in this network namespace");
        Error::new(ErrorKind::NotFound, name, what).cure("`ip link` lists what there is")
    })?;
    let interface = Interface::new(index).map_err(|e| Error::io(name, "socket failed", e))?;
    Ok((index, interface))
}

/// Refuses queue `queue` of an interface that has `queues` of them, when there is no such queue.
///
/// # Errors
/// [`ErrorKind::NotFound`].
pub fn check_queue(name: &str, ifname: &str, queue: u32, queues: u32) -> Result<()> {
    if queue < queues {
        return Ok(());
    }
    let what = match queues {
        0 => format!("{ifname} has no queue {queue}, for it has none"),
        _ => format!("{ifname} has no queue {queue}; its queues are 0 to {}", queues - 1),
    };
    Err(Error::new(ErrorKind::NotFound, name, what).cure("`ethtool -L` changes how many there are"))
}

/// Refuses a port that takes all frames of an interface before a switch or router by tc sees them.
pub fn refuse_member(port: &str, ifindex: u32) -> Result<()> {
    let Some(program) = tc::taker(ifindex) else { return Ok(()) };
    let what = format!(
        "the interface is a member of a switch or router by tc (program {program}), which would get nothing more"
    );
    Err(Error::new(ErrorKind::Busy, port, what)
        .cure("`ringway switch list` shows which: `ringway switch port del` takes the interface out of it; packet: ports see copies beside it"))
}

/// What keeps the interface of a port promiscuous, and what its description says where that is refused. `wanted` is what the
/// caller of a port that receives frames asked for, `usual` what it gets without asking.
pub fn promiscuous(
    name: &str,
    ifindex: u32,
    wanted: Option<bool>,
    usual: bool,
) -> Result<(Option<Promiscuous>, &'static str)> {
    if !wanted.unwrap_or(usual) {
        return Ok((None, ""));
    }
    match Promiscuous::hold(ifindex) {
        Ok(held) => Ok((Some(held), "")),
        Err(e) if wanted.is_none() && e.kind() == io::ErrorKind::PermissionDenied => {
            Ok((None, "; frames to the interface's own addresses only, for want of CAP_NET_RAW"))
        }
        Err(e) => {
            let error = Error::io(name, "promiscuous mode refused", e);
            Err(error.cure_if_denied("run as root, or with CAP_NET_RAW"))
        }
    }
}

/// Explains why an interface could not be asked.
pub fn gone(port: &str, e: io::Error) -> Error {
    if matches!(e.raw_os_error(), Some(libc::ENODEV | libc::ENXIO)) {
        let what = "the interface was deleted, or moved to another network namespace";
        return Error::new(ErrorKind::Gone, port, what).cure("open the port again when it is back");
    }
    Error::io(port, "asking for the state of the interface failed", e)
}

/// Fails when the interface has more rx queues than the `served` ones: frames would pass the port by.
pub fn all_served(port: &str, interface: &Interface, served: u32) -> Result<()> {
    let now = interface.queues().0;
    if now <= served {
        return Ok(());
    }
    let what = format!("the interface has {now} rx queues now, not {served}");
    Err(Error::new(ErrorKind::Gone, port, what).cure("open the port again, to serve them all"))
}
