//! Attaching programs to the receive path of an interface, and who has it.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use super::attached::xdp_program;
use ringway_count::{OpenPort, freed_by, listed};
use ringway_sys::error::{Error, ErrorKind};
use ringway_sys::{bpf, net, xdp_query, xdp_trial};

/// A program behind the driver: `XDP_FLAGS_SKB_MODE` of linux/if_link.h.
pub const SKB_MODE: u32 = 1 << 1;
/// A program in the driver: `XDP_FLAGS_DRV_MODE`.
pub const DRV_MODE: u32 = 1 << 2;

/// How long the kernel gets to detach what a dead process had attached: some ten times what it takes.
const DETACH_MAX: Duration = Duration::from_millis(300);

/// Names of the programs that Ringway attaches to receive paths.
const OURS: [&str; 4] = ["nic_rx", "to_socket", "ringway_take", ""];

/// Attaches `program` to the receive path of an interface for as long as the link returned is open.
///
/// The kernel detaches the program of a process that was killed a little after the process is gone. A new owner waits for
/// that, at most 0.3 s; it does not wait for an owner that lives.
pub fn attach_xdp(program: BorrowedFd<'_>, (netns, ifindex): (u32, u32), flags: u32) -> io::Result<OwnedFd> {
    let start = Instant::now();
    loop {
        match bpf::link(program, ifindex, libbpf_sys::BPF_XDP, flags) {
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) && start.elapsed() < DETACH_MAX => {
                let left = xdp_query::xdp(ifindex)
                    .is_ok_and(|is| OURS.contains(&bpf::prog_name(is.program).as_str()));
                if !left || owner(netns, ifindex).is_some() {
                    return Err(e);
                }
                thread::sleep(Duration::from_millis(1));
            }
            r => return r,
        }
    }
}

/// The port that receives from an interface, if its owner lives.
pub fn owner(netns: u32, ifindex: u32) -> Option<OpenPort> {
    listed(&[]).into_iter().find(|p| p.is_on(netns, ifindex) && !p.name.ends_with('^'))
}

/// Explains why a program could not be attached to the interface, given by namespace and index.
pub fn xdp_refused(name: &str, on: (u32, u32), interface: &net::Interface, e: io::Error) -> Error {
    let code = e.raw_os_error();
    let words = match code {
        Some(libc::EINVAL | libc::ERANGE | libc::ENOSPC) => interface.inside(|| Ok(xdp_trial::words(on.1))),
        _ => Ok(None),
    };
    let words = words.ok().flatten().map_or(String::new(), |w| format!(" ({w})"));
    let error = Error::io(name, format!("XDP program refused{words}"), e);
    match code {
        Some(libc::EBUSY | libc::EEXIST) => busy(name, on, interface),
        Some(libc::EOPNOTSUPP) => {
            let what = match interface.driver().as_str() {
                "" => "XDP program refused: the interface has no native XDP".to_owned(),
                driver => format!("XDP program refused: driver {driver} has no native XDP"),
            };
            Error::new(ErrorKind::Unsupported, name, what)
                .cure("use a veth, a tap or a NIC whose driver has native XDP")
        }
        Some(libc::EPERM) => error.cure("run as root"),
        Some(libc::EINVAL | libc::ERANGE | libc::ENOSPC) => {
            error.cure("lower the MTU, the number of queues or turn off LRO: drivers limit them under XDP")
        }
        _ => error,
    }
}

/// Says what has the XDP hook of an interface, and what frees it.
fn busy(name: &str, on: (u32, u32), interface: &net::Interface) -> Error {
    let found = interface.inside(|| Ok((xdp_program(on.1), net::name(on.1)?)));
    let (program, ifname) = found.unwrap_or((None, "IF".into()));
    let mut what = "busy: an XDP program is attached to the interface".to_owned();
    if let Some(p) = &program {
        let called = p.name.as_ref().map_or(String::new(), |name| format!(" ({name})"));
        what = format!("busy: XDP program {}{called} is attached to the interface", p.id);
    }
    let owner = owner(on.0, on.1);
    if let Some(p) = &owner {
        what += &format!("; pid {} has {} open", p.pid, p.name);
    }
    let cure = match (owner, program) {
        (Some(p), _) => freed_by(p.pid),
        (None, Some(p)) => p.removal(&ifname),
        (None, None) => "try again: it is gone now".into(),
    };
    Error::new(ErrorKind::Busy, name, what).cure(cure)
}
