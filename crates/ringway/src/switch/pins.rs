//! Where the objects of a switch are pinned.
//!
//! ```text
//! <root>/lock/                root alone; locked while switches are made and removed
//! <root>/vale0/
//!     lock/                   root alone; locked while ports come and go
//!     info                    shape and generation; everybody may read it
//!     ports fdb vlans regions states bells       root alone
//!     send                    root alone; the program of all ports, unless a user's module decides
//!     module/object map/...   a user's module: its file, and the maps that it declares
//!     port/p1/                root's, as all directories but `use`
//!         region send look bell0...              owner and mode of the port
//!         nics/4 ...          programs that send what waits for the NIC with port number 4; owner and mode of the port
//!         use/                owner of the port; locked by the process that has it open
//!     nics devs all_devs out/ and more in the directories of ports, when NICs are members: nic/mod.rs
//! <root>/vale1/router ...      not a switch but a router: crates/ringway-router
//! ```
//!
//! Only root writes to these directories ([`trust`]), so what lies there under a name is what root put there. The
//! one exception is `use`: its owner may fill it, and nobody looks at what lies in it. It is locked and removed, nothing else.
//!
//! The root is `/sys/fs/bpf/ringway`, or what [`set_root`] or else `RINGWAY_BPFFS` says. A name that starts with `~` is being
//! made or removed by whoever holds the lock beside it; without one it was left by a process that was killed, and the next
//! holder removes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use super::name::check_router_name;
use super::trust;
use crate::error::{Error, ErrorKind, Result};
use crate::port::name::{is_router as is_router_name, is_switch};
use crate::sys::dir_lock::DirLock;
use crate::sys::{bpffs, dirs, is_root};

/// A directory to lock, which root alone may open: who may use a port only must not keep root from changing the switch.
pub(crate) const LOCK: &str = "lock";

/// What [`set_root`] said.
static ROOT: OnceLock<PathBuf> = OnceLock::new();

/// The directory of all switches: what [`set_root`] said, else `RINGWAY_BPFFS`, else `/sys/fs/bpf/ringway`.
#[must_use]
pub fn root() -> PathBuf {
    // Parts of a path that starts nowhere have no file system that could be asked for.
    named_root().map_or_else(|| "/sys/fs/bpf/ringway".into(), |dir| std::path::absolute(&dir).unwrap_or(dir))
}

/// What somebody said it is.
fn named_root() -> Option<PathBuf> {
    ROOT.get().cloned().or_else(|| crate::sys::environment::environment("RINGWAY_BPFFS").map(PathBuf::from))
}

/// Keeps switches in `dir`, for this process and for good. It must lie in a BPF file system; where it does not, making a
/// switch fails.
///
/// # Errors
/// [`ErrorKind::Busy`] when the directory was set before.
///
/// ```
/// ringway::switch::set_root("/run/bpf/switches")?;
/// assert_eq!(ringway::switch::root(), std::path::Path::new("/run/bpf/switches"));
/// assert!(ringway::switch::set_root("/run/bpf/others").is_err());
/// # Ok::<(), ringway::Error>(())
/// ```
pub fn set_root(dir: impl Into<PathBuf>) -> Result<()> {
    ROOT.set(dir.into()).map_err(|dir| {
        Error::new(ErrorKind::Busy, dir.display().to_string(), "the directory of switches was set before")
            .cure("set it once, before the first use of a switch")
    })
}

/// The directory of a switch.
pub(crate) fn switch(name: &str) -> PathBuf {
    root().join(name)
}

/// The directories of all ports of a switch.
pub(super) fn ports(switch_dir: &Path) -> PathBuf {
    switch_dir.join("port")
}

/// The directory of a port.
pub(crate) fn port(switch_dir: &Path, port: &str) -> PathBuf {
    ports(switch_dir).join(port)
}

/// What the process that has a port open locks: a directory in that of the port.
pub(crate) fn in_use(port_dir: &Path) -> PathBuf {
    port_dir.join("use")
}

/// The program that takes what users send: of a port in its directory, of all in that of the switch.
pub(crate) fn send(dir: &Path) -> PathBuf {
    dir.join("send")
}

/// The directory of the programs that a port runs to have NICs send, as [`outs`] has them for root.
pub(crate) fn nics(port_dir: &Path) -> PathBuf {
    port_dir.join("nics")
}

/// The file of the program that sends what waits for the NIC with this port number; for the host's side of an interface, its index
/// and the program that brings it into the stack.
pub(crate) fn out_name(number: u32, host: Option<u32>) -> String {
    host.map_or_else(|| number.to_string(), |index| format!("{number}^{index}"))
}

/// Port and, of a host's side, interface of a program by its file.
pub(crate) fn parse_out(name: &str) -> Option<(u32, Option<u32>)> {
    match name.split_once('^') {
        Some((number, index)) => Some((number.parse().ok()?, Some(index.parse().ok()?))),
        None => Some((name.parse().ok()?, None)),
    }
}

/// The directory of those programs, for root alone.
pub(crate) fn outs(switch_dir: &Path) -> PathBuf {
    switch_dir.join("out")
}

/// Refuses a directory of all switches that others than root can change. One that is not there yet is nobody's.
///
/// # Errors
/// [`ErrorKind::Unfit`], with what is wrong and the cure.
///
/// ```
/// ringway::switch::check_root()?;
/// # Ok::<(), ringway::Error>(())
/// ```
pub fn check_root() -> Result<()> {
    match trust::check_path(&root()) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        checked => checked,
    }
}

/// Fails where there may be switches that can't be seen: whoever finds none can say so only after this.
///
/// # Errors
/// Those of [`check_root`]; [`ErrorKind::Unsupported`] in a mount namespace that hides the system's switches, as `ip netns exec` makes
/// them; [`ErrorKind::NotFound`] or [`ErrorKind::Invalid`] when `RINGWAY_BPFFS` names what can't have switches.
///
/// ```no_run
/// use ringway::switch;
/// if switch::switches().is_empty() {
///     switch::check_visible()?;
///     println!("there is no switch in {}", switch::root().display());
/// }
/// # Ok::<(), ringway::Error>(())
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

/// Makes the directory of all switches, mounting the BPF file system above it where there is nothing yet.
pub(crate) fn make_root() -> Result<PathBuf> {
    let root = root();
    if !root.is_dir() {
        let on = || root.display().to_string();
        let above = root.parent().unwrap_or(Path::new("/"));
        dirs::make_all(above, 0o755).map_err(|e| {
            Error::io(on(), "making the directory above failed", e).cure_if_denied("run as root")
        })?;
        mount_at(above)?;
        check_bpffs(above)?;
        match dirs::make(&root, 0o755) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists || !root.is_dir() => {
                return Err(Error::io(on(), "making the directory failed", e).cure_if_denied("run as root"));
            }
            _ => {} // or another one made it meanwhile
        }
    }
    check_bpffs(&root)?;
    trust::check_path(&root)?;
    Ok(root)
}

/// Mounts the BPF file system at an empty directory where it is not mounted yet.
fn mount_at(dir: &Path) -> Result<()> {
    // Two that make it at once would mount twice: one after the other, but no stranger's lock holds anybody up for long.
    let _alone = DirLock::take_soon(dir, Duration::from_secs(1));
    // A mount would hide what lies there.
    let bare = fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    if !bare || bpffs::is_bpffs(dir).unwrap_or(false) {
        return Ok(());
    }
    let on = || root().display().to_string();
    if named_root().is_none() && is_apart() {
        return Err(Error::new(ErrorKind::Unsupported, on(), HIDDEN).cure(HIDDEN_CURE));
    }
    bpffs::mount(dir).map_err(|e| {
        Error::io(on(), format!("mounting the BPF file system at {} failed", dir.display()), e)
            .cure("run as root, or name a mounted one with RINGWAY_BPFFS")
    })
}

const HIDDEN: &str = "no BPF file system is mounted in this mount namespace, which is not that of the system (`ip netns exec` makes \
                      such ones): what is made here, nobody else could see or remove";
const HIDDEN_CURE: &str = "in place of `ip netns exec NAME` use `--netns NAME`; in a container mount one with \
                           `mount -t bpf -o mode=0755 bpf /sys/fs/bpf`, or name a directory with RINGWAY_BPFFS";

/// Whether switches of the system can't be seen from here, as under `ip netns exec`.
pub(super) fn are_hidden() -> bool {
    let is_mounted = |dir: &Path| bpffs::is_bpffs(dir).unwrap_or(false);
    named_root().is_none() && !root().parent().is_some_and(is_mounted) && is_apart()
}

/// Whether a process above this one has another mount namespace: what is mounted here ends with those below it.
fn is_apart() -> bool {
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

fn check_bpffs(dir: &Path) -> Result<()> {
    let on = dir.display().to_string();
    match bpffs::is_bpffs(dir) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::new(ErrorKind::Unfit, on, "it is not in a BPF file system")
            .cure("mount one with `mount -t bpf -o mode=0755 bpf DIR`, or name another directory with RINGWAY_BPFFS")),
        Err(e) => Err(Error::io(on, "looking at the file system failed", e)),
    }
}

/// Makes the lock in a directory, unless it is there.
pub(crate) fn make_lock(dir: &Path) -> io::Result<()> {
    match dirs::make(&dir.join(LOCK), 0o700) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
        _ => Ok(()),
    }
}

/// Waits for the lock in the directory of all switches.
pub(crate) fn lock(root: &Path) -> io::Result<Option<DirLock>> {
    make_lock(root)?;
    DirLock::take(&root.join(LOCK), true)
}

/// Removes what processes that were killed left half made or half removed; the caller holds the lock in `dir`.
pub(crate) fn clean(dir: &Path) {
    let left = fs::read_dir(dir).into_iter().flatten().flatten();
    let left = left.filter(|e| e.file_name().as_encoded_bytes().starts_with(b"~"));
    left.for_each(|e| _ = dirs::remove_tree(&e.path())); // what stays hides nothing, and the next one tries again
}

/// Takes a directory out of sight, then removes it with all that is in it: its name is free also when the latter fails.
///
/// # Errors
/// What the system says. The rest stays under a name that starts with `~`, until somebody removes it ([`clean`]).
pub(super) fn discard(dir: &Path) -> io::Result<()> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let unused =
        (0..).map(|i| dir.with_file_name(format!("~{i}-{name}"))).find(|p| p.symlink_metadata().is_err());
    let aside = unused.unwrap_or_else(|| dir.to_owned());
    match fs::rename(dir, &aside) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
        Ok(()) => dirs::remove_tree(&aside),
    }
}

/// Removes what a process left of a switch or router that was killed while it made or removed it; whether there was anything. What is
/// being made or removed now is waited for, and is no such thing.
///
/// # Errors
/// [`ErrorKind::BadName`]; [`ErrorKind::Denied`] without privilege.
///
/// ```no_run
/// if ringway::switch::clear("vale0")? {
///     println!("a process was killed here");
/// }
/// # Ok::<(), ringway::Error>(())
/// ```
pub fn clear(name: &str) -> Result<bool> {
    check_router_name(name)?;
    check_root()?;
    let (root, left) = (root(), root().join(format!("~{name}")));
    if !left.exists() {
        return Ok(false);
    }
    let failed = |e| Error::io(name, "removing what was left of it failed", e).cure_if_denied("run as root");
    let _alone = lock(&root).map_err(failed)?;
    let stays = left.exists();
    dirs::remove_tree(&left).map_err(failed)?;
    clean(&root);
    Ok(stays)
}

/// Has `fill` make the directory of `name` under another name, then gives it its own; the caller holds the lock in `root`.
pub(crate) fn make_whole(root: &Path, name: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    clean(root);
    let (making, dir) = (root.join(format!("~{name}")), root.join(name));
    let made = fill(&making).and_then(|()| {
        // On a directory that is not empty, as that of a switch is, rename fails.
        fs::rename(&making, &dir).map_err(|e| match e.raw_os_error() {
            Some(libc::ENOTEMPTY | libc::EEXIST) => {
                Error::new(ErrorKind::Busy, name, "there is a switch or router of that name").cure(format!(
                    "`ringway switch del {name}` removes a switch, `ringway router del {name}` a router"
                ))
            }
            _ => Error::io(name, format!("making {} failed", dir.display()), e),
        })
    });
    match made {
        Ok(()) => Ok(dir),
        Err(e) => {
            let _ = dirs::remove_tree(&making); // the next one cleans up
            Err(e)
        }
    }
}

/// The file that tells a router from a switch.
const ROUTER: &str = "router";

/// Whether there is a router of that name.
#[must_use]
pub fn is_router(name: &str) -> bool {
    is_router_name(name) && switch(name).join(ROUTER).exists()
}

/// Names of the switches that exist.
pub(crate) fn switches() -> Vec<String> {
    names(|name| is_switch(name) && !is_router(name))
}

/// Names of the routers that exist (crate `ringway-router`).
///
/// ```
/// assert!(ringway::switch::routers().iter().all(|name| ringway::switch::is_router(name)));
/// ```
#[must_use]
pub fn routers() -> Vec<String> {
    names(is_router)
}

fn names(wanted: impl Fn(&str) -> bool) -> Vec<String> {
    if check_root().is_err() {
        return Vec::new(); // whoever asks for one of them learns why
    }
    let entries = fs::read_dir(root()).map(|d| d.flatten().collect()).unwrap_or_else(|_| Vec::new());
    let names = entries.into_iter().filter_map(|e| e.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|n| wanted(n)).collect();
    names.sort();
    names
}
