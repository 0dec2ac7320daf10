//! Network namespaces by what people call them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use crate::capability::{Cap, cure_of_denial};
use crate::error::{Error, ErrorKind, Result};
use crate::net;

/// Where `ip netns add` has its namespaces.
pub(crate) const NAMED: &str = "/run/netns";

/// Moves the calling thread to another network namespace, and with it the threads that it starts later: it then
/// sees the interfaces of that namespace. Nothing else changes; `/sys/fs/bpf` stays as it is, unlike under `ip netns exec`.
///
/// `namespace` is a name of `ip netns`, the number of a process in it, or the path of a file that stands for it
/// (`/proc/4711/ns/net`, `/run/docker/netns/...`).
///
/// # Errors
/// [`ErrorKind::NotFound`] when there is none; [`ErrorKind::Unfit`] when the file is something else;
/// [`ErrorKind::Denied`] without `CAP_SYS_ADMIN`.
///
/// ```no_run
/// ringway_sys::netns::enter_netns("web")?;
/// // From here on the thread sees the interfaces of namespace `web`.
/// # Ok::<(), ringway_sys::Error>(())
/// ```
pub fn enter_netns(namespace: &str) -> Result<()> {
    let on = format!("network namespace {namespace}");
    let file = find(namespace).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, &on, "there is none").cure(
            "`ip netns list` lists names; a container is found by a process in it: `docker inspect -f '{{.State.Pid}}' NAME`",
        ),
        _ => Error::io(&on, "opening it failed", e).cure_if_denied("run as root"),
    })?;
    net::enter(&file).map_err(|e| match e.raw_os_error() {
        Some(libc::EINVAL) => Error::new(ErrorKind::Unfit, &on, "the file stands for something else")
            .cure("name one as /proc/PID/ns/net"),
        _ => Error::io(&on, "entering it failed", e).cure_if_denied(cure_of_denial(&[Cap::SysAdmin])),
    })
}

fn find(namespace: &str) -> io::Result<File> {
    if namespace.contains('/') {
        return open(namespace.into());
    }
    if matches!(namespace, "" | "." | "..") {
        return Err(io::ErrorKind::NotFound.into());
    }
    let named = open(PathBuf::from(NAMED).join(namespace));
    match (&named, namespace.parse::<u32>()) {
        (Err(e), Ok(pid)) if e.kind() == io::ErrorKind::NotFound => {
            open(format!("/proc/{pid}/ns/net").into())
        }
        _ => named,
    }
}

/// What else may lie there is not waited for.
fn open(path: PathBuf) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_namespace_is_refused() {
        for none in ["", ".", "..", "no-such-namespace", "4294967295", "/no/such/file"] {
            let e = enter_netns(none).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::NotFound, "{none}: {e}");
        }
        if crate::is_root() {
            let e = enter_netns("/dev/null").unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Unfit, "{e}");
        }
    }

    #[test]
    fn that_of_a_process_is_found() {
        if crate::is_root() {
            let here = net::netns_inode().unwrap();
            enter_netns(&std::process::id().to_string()).unwrap();
            enter_netns("/proc/self/ns/net").unwrap();
            assert_eq!(net::netns_inode().unwrap(), here);
        }
    }
}
