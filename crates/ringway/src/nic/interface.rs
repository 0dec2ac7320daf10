//! Finding an interface, its queues, and noticing that it is gone.

use std::io;

use super::tc;
use crate::error::{Error, ErrorKind, Result};
use crate::port::name::{NicRings, file_instead};
use crate::sys::net::{self, Interface};
use crate::sys::promiscuous::Promiscuous;

/// How often an idle or failing port looks at its interface, in ns.
pub(crate) const LOOK_NS: u64 = 100_000_000;

/// The interface called `ifname`, for the port `name`, and its index.
pub(crate) fn find(name: &str, ifname: &str) -> Result<(u32, Interface)> {
    let index = net::index(ifname).map_err(|_| {
        let what = format!("there is no interface {ifname} in this network namespace");
        let cure = file_instead(ifname).unwrap_or_else(|| "`ip link` lists what there is".into());
        Error::new(ErrorKind::NotFound, name, what).cure(cure)
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

/// Refuses a port that takes all frames of an interface before a switch or router by tc sees them.
pub(crate) fn refuse_member(port: &str, ifindex: u32) -> Result<()> {
    let Some(program) = tc::taker(ifindex) else { return Ok(()) };
    let what = format!(
        "the interface is a member of a switch or router by tc (program {program}), which would get nothing more"
    );
    Err(Error::new(ErrorKind::Busy, port, what)
        .cure("`ringway switch list` shows which: `ringway switch port del` takes the interface out of it; packet: ports see copies beside it"))
}

/// What keeps the interface of a port promiscuous, and what its description says where that is refused. `wanted` is what the
/// caller of a port that receives frames asked for, `usual` what it gets without asking.
pub(crate) fn promiscuous(
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
pub(crate) fn gone(port: &str, e: io::Error) -> Error {
    if matches!(e.raw_os_error(), Some(libc::ENODEV | libc::ENXIO)) {
        let what = "the interface was deleted, or moved to another network namespace";
        return Error::new(ErrorKind::Gone, port, what).cure("open the port again when it is back");
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
