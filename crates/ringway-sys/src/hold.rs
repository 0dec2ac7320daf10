//! Mounts that keep network namespaces alive when no process is in them.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::net::on_a_thread;

fn check(ret: i32) -> io::Result<()> {
    if ret < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Keeps the calling thread's network namespace alive: mounts it over the file at `path`, until [`let_go`].
///
/// The mount lies among those of the system, if the file is there, too: the mounts of a command under `ip netns exec` end
/// with it.
pub fn hold(path: &Path) -> io::Result<()> {
    let netns = File::open("/proc/thread-self/ns/net")?;
    let to = CString::new(path.as_os_str().as_bytes())?;
    let mount = || {
        let from = CString::new(format!("/proc/thread-self/fd/{}", netns.as_raw_fd()))?;
        let none = std::ptr::null();
        // SAFETY: NUL-terminated strings that live across the call; a bind mount takes neither type nor data.
        check(unsafe { libc::mount(from.as_ptr(), to.as_ptr(), none, libc::MS_BIND, none.cast()) })
    };
    in_lasting_mounts(path, mount)
}

/// The network namespace that [`hold`] keeps at `path`.
pub fn held(path: &Path) -> io::Result<File> {
    let mut netns = None;
    in_lasting_mounts(path, || {
        netns = Some(File::open(path)?);
        Ok(())
    })?;
    netns.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Ends what [`hold`] began, also among the mounts that the calling thread has a copy of; fails when nothing is mounted there.
pub fn let_go(path: &Path) -> io::Result<()> {
    let at = CString::new(path.as_os_str().as_bytes())?;
    let unmount = || {
        // SAFETY: a NUL-terminated string that lives across the call.
        check(unsafe { libc::umount2(at.as_ptr(), libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) })
    };
    let lasting = in_lasting_mounts(path, unmount);
    unmount().or(lasting)
}

/// Runs `f` in the mount namespace of the system when the folder of `path` is the same there, else in that of the
/// calling thread.
fn in_lasting_mounts(path: &Path, f: impl FnOnce() -> io::Result<()> + Send) -> io::Result<()> {
    let Some(lasting) = lasting_mounts() else { return f() };
    let folder = path.parent().unwrap_or(path);
    let place = || fs::metadata(folder).map(|m| (m.dev(), m.ino()));
    let here = place()?;
    let enter = || {
        // SAFETY: no memory is involved; the thread, which ends right after, shares nothing of this kind any more.
        check(unsafe { libc::unshare(libc::CLONE_FS) })?;
        // SAFETY: a descriptor that its owner keeps open.
        check(unsafe { libc::setns(lasting.as_raw_fd(), libc::CLONE_NEWNS) })
    };
    // One thread looks and acts; what is not there is done here.
    let mut f = Some(f);
    on_a_thread(|| match enter().and_then(|()| place()) {
        Ok(there) if there == here => f.take().map_or(Ok(()), |f| f()),
        _ => Ok(()),
    })?;
    f.map_or(Ok(()), |f| f())
}

/// The mount namespace of the system, if it is another one than that of the calling thread: that of the first process,
/// or where that one does not let itself be looked at, of the kernel's threads.
fn lasting_mounts() -> Option<File> {
    let is_kernel = || fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n");
    let open = |of: &str| File::open(of).ok();
    let file = open("/proc/1/ns/mnt").or_else(|| is_kernel().then(|| open("/proc/2/ns/mnt"))?)?;
    let own = fs::metadata("/proc/thread-self/ns/mnt").ok()?.ino();
    (file.metadata().ok()?.ino() != own).then_some(file)
}
