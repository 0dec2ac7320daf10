//! Whether a process can see the switches and routers of the system.

use std::fs;
use std::io;
use std::path::Path;

use super::root::{check_bpffs, check_root, named_root, root};
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::{bpffs, is_root};

/// Fails where there may be switches that the process can't see. Only after this may it say that there is none.
///
/// # Errors
/// As [`check_root`]; [`ErrorKind::Unsupported`] in a mount namespace that hides the system's switches, as `ip netns exec` makes
/// them; [`ErrorKind::NotFound`] or [`ErrorKind::Invalid`] when `RINGWAY_BPFFS` names what can't have switches.
///
/// ```no_run
/// use ringway_pinned::{check_visible, root, routers};
/// if routers().is_empty() {
///     check_visible()?;
///     println!("there is no router in {}", root().display());
/// }
/// # Ok::<(), ringway_sys::Error>(())
/// ```
pub fn check_visible() -> Result<()> {
    let root = root();
    let on = || root.display().to_string();
    if are_hidden() {
        return Err(Error::new(ErrorKind::Unsupported, on(), HIDDEN).cure(HIDDEN_CURE));
    }
    match fs::read_dir(&root) {
        Ok(_) => check_bpffs(&root).and_then(|()| check_root()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let above = root.parent().unwrap_or(Path::new("/"));
            match named_root().is_none() || bpffs::is_bpffs(above).unwrap_or(false) {
                true => Ok(()),
                false => Err(Error::new(ErrorKind::NotFound, on(), "there is no such directory of switches")
                    .cure(NAMED_CURE)),
            }
        }
        Err(e) => {
            let error = Error::io(on(), "listing the directory of switches failed", e);
            Err(error.cure(if is_root() { NAMED_CURE } else { "run as root" }))
        }
    }
}

const NAMED_CURE: &str =
    "name a directory in a BPF file system with RINGWAY_BPFFS, or unset it for /sys/fs/bpf/ringway";

pub(super) const HIDDEN: &str = "no BPF file system is mounted in this mount namespace, which is not that of the system (`ip netns exec` makes \
                      such ones): what is made here, nobody else could see or remove";

pub(super) const HIDDEN_CURE: &str = "in place of `ip netns exec NAME` use `--netns NAME`; in a container mount one with \
                           `mount -t bpf -o mode=0755 bpf /sys/fs/bpf`, or name a directory with RINGWAY_BPFFS";

/// Whether switches of the system can't be seen from here, as under `ip netns exec`.
pub(super) fn are_hidden() -> bool {
    let is_mounted = |dir: &Path| bpffs::is_bpffs(dir).unwrap_or(false);
    named_root().is_none() && !root().parent().is_some_and(is_mounted) && is_apart()
}

/// Whether a process above this one has another mount namespace: what is mounted here ends with those below it.
pub(super) fn is_apart() -> bool {
    let namespace = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
    let Some(own) = namespace(std::process::id()) else { return false };
    let above = std::iter::successors(Some(std::process::id()), |pid| parent(*pid));
    above.filter_map(namespace).any(|other| other != own)
}

/// The parent of a process; `None` for one without a parent that can be seen.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // the name in front may have spaces and parentheses
    let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    (parent != 0).then_some(parent)
}
