//! Pinned eBPF objects: files of the BPF file system, with owner and mode.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use libbpf_sys as bpf;

use super::bpf::check;

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// Pins a map, program or link at `path`, which must not exist.
pub(crate) fn pin(object: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: a NUL-terminated path.
    check(unsafe { bpf::bpf_obj_pin(object.as_raw_fd(), path.as_ptr()) }).map(drop)
}

/// Opens a pinned object; maps for reading only if `write` is not set.
pub(crate) fn get(path: &Path, write: bool) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    let opts = bpf::bpf_obj_get_opts {
        sz: size_of::<bpf::bpf_obj_get_opts>() as _,
        file_flags: if write { 0 } else { bpf::BPF_F_RDONLY },
        ..Default::default()
    };
    // SAFETY: a NUL-terminated path; `opts` lives across the call and carries its size.
    let fd = check(unsafe { bpf::bpf_obj_get_opts(path.as_ptr(), &opts) })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether `dir` lies in a BPF file system.
pub(crate) fn is_bpffs(dir: &Path) -> io::Result<bool> {
    let dir = File::open(dir)?;
    // SAFETY: all zero is a valid value of this plain struct.
    let mut stat: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: an open descriptor and a struct to fill.
    super::fd::check(unsafe { libc::fstatfs(dir.as_raw_fd(), &mut stat) })?;
    Ok(stat.f_type as i64 == BPF_FS_MAGIC)
}

/// `BPF_FS_MAGIC` of linux/magic.h.
const BPF_FS_MAGIC: i64 = 0xcafe_4a11;

/// Mounts a BPF file system at `dir`, where everybody may look up names.
pub(crate) fn mount(dir: &Path) -> io::Result<()> {
    let dir = c_path(dir)?;
    let (kind, data) = (c"bpf".as_ptr(), c"mode=0755".as_ptr().cast());
    // SAFETY: all pointers are to NUL-terminated strings that live across the call.
    super::fd::check(unsafe { libc::mount(kind, dir.as_ptr(), kind, 0, data) }).map(drop)
}

/// An exclusive lock on a directory, held until it is dropped or the process ends, however it ends (`flock`).
#[derive(Debug)]
pub(crate) struct DirLock(File);

impl DirLock {
    /// Takes the lock, or with `wait` waits for it; `None` when somebody else has it.
    pub(crate) fn take(dir: &Path, wait: bool) -> io::Result<Option<Self>> {
        let file = File::open(dir)?;
        let how = if wait { libc::LOCK_EX } else { libc::LOCK_EX | libc::LOCK_NB };
        loop {
            // SAFETY: an open descriptor.
            match super::fd::check(unsafe { libc::flock(file.as_fd().as_raw_fd(), how) }) {
                Ok(_) => return Ok(Some(Self(file))),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Takes the lock unless somebody else has it for longer than `patience`.
    pub(crate) fn take_soon(dir: &Path, patience: Duration) -> io::Result<Option<Self>> {
        let start = Instant::now();
        loop {
            match Self::take(dir, false)? {
                None if start.elapsed() < patience => std::thread::sleep(Duration::from_millis(1)),
                lock => return Ok(lock),
            }
        }
    }

    /// Process that has the lock of `dir`, as the kernel lists it; `None` when nobody has, or one of another pid namespace.
    pub(crate) fn holder(dir: &Path) -> Option<u32> {
        use std::os::unix::fs::MetadataExt;
        let meta = std::fs::metadata(dir).ok()?;
        let (major, minor) = (libc::major(meta.dev()), libc::minor(meta.dev()));
        let file = format!("{major:02x}:{minor:02x}:{}", meta.ino());
        holder_in(&std::fs::read_to_string("/proc/locks").ok()?, &file)
    }

    /// Whether the directory that is locked still stands at `path`.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt;
        let of = |m: std::fs::Metadata| (m.dev(), m.ino());
        matches!((self.0.metadata().map(of), std::fs::metadata(path).map(of)), (Ok(a), Ok(b)) if a == b)
    }
}

/// The process that holds a lock on `file` by the text of /proc/locks (proc_locks(5)); those that wait have `->`.
fn holder_in(locks: &str, file: &str) -> Option<u32> {
    locks.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [_, "FLOCK", _, "WRITE", pid, on, ..] if on == file => pid.parse().ok(),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_told_from_those_that_wait() {
        let locks = "1: POSIX  ADVISORY  WRITE 70 00:1a:99 0 EOF\n2: FLOCK  ADVISORY  READ 71 00:1a:99 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 72 00:1a:99 0 EOF\n3: -> FLOCK  ADVISORY  WRITE 73 00:1a:98 0 EOF\n";
        assert_eq!(holder_in(locks, "00:1a:99"), Some(72));
        assert_eq!(holder_in(locks, "00:1a:98"), None);
    }

    #[test]
    fn a_lock_tells_its_process() {
        let dir = std::env::temp_dir().join(format!("ringway-lock-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let lock = DirLock::take(&dir, false).unwrap();
        let (held, again) = (DirLock::holder(&dir), DirLock::take(&dir, false).unwrap());
        drop(lock);
        // A process that another test is starting has a copy for a moment.
        let begun = Instant::now();
        let mut free = DirLock::holder(&dir);
        while free.is_some() && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
            free = DirLock::holder(&dir);
        }
        std::fs::remove_dir(&dir).unwrap();
        assert!(
            held == Some(std::process::id()) && again.is_none() && free.is_none(),
            "{held:?} {again:?} {free:?}"
        );
    }
}
