//! Locks on directories, which fall with the process that holds them (`flock`).

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// An exclusive lock on a directory, held until it is dropped or the process ends, however it ends (`flock`).
///
/// When its process drops it, copies that children of a fork have hold it no longer. A child that drops its copy frees nothing.
/// A lock that was [shared](Self::share) falls with its last descriptor.
#[derive(Debug)]
pub struct DirLock {
    file: File,
    /// The process that took it.
    owner: u32,
    /// Whether other processes hold it by descriptors of their own.
    shared: AtomicBool,
}

/// A process that only looks whether a lock is taken has it for less than this, also when it has to wait for a CPU meanwhile.
const LOOK_MAX: Duration = Duration::from_millis(100);

impl Drop for DirLock {
    fn drop(&mut self) {
        if self.owner == std::process::id() && !self.is_shared() {
            // SAFETY: an open descriptor. It is closed next, whatever this call says.
            unsafe { libc::flock(self.file.as_raw_fd(), libc::LOCK_UN) };
        }
    }
}

impl DirLock {
    fn over(file: File, shared: bool) -> Self {
        Self { file, owner: std::process::id(), shared: AtomicBool::new(shared) }
    }

    /// A descriptor by which another process [holds](Self::inherit) the lock as well.
    pub fn share(&self) -> io::Result<OwnedFd> {
        self.shared.store(true, Relaxed);
        self.file.as_fd().try_clone_to_owned()
    }

    /// The lock that such a descriptor holds. `WouldBlock` when it holds none, and somebody else has the lock.
    pub fn inherit(fd: OwnedFd) -> io::Result<Self> {
        // SAFETY: an open descriptor. To lock again what it has locked changes nothing.
        super::fd::check(unsafe { libc::flock(fd.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) })?;
        Ok(Self::over(fd.into(), true))
    }

    /// Whether other processes may hold it by descriptors of their own.
    pub fn is_shared(&self) -> bool {
        self.shared.load(Relaxed)
    }

    /// Takes the lock, or with `wait` waits for it; `None` when somebody else has it.
    pub fn take(dir: &Path, wait: bool) -> io::Result<Option<Self>> {
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let file = File::options().read(true).custom_flags(flags).open(dir)?;
        let how = if wait { libc::LOCK_EX } else { libc::LOCK_EX | libc::LOCK_NB };
        loop {
            // SAFETY: an open descriptor.
            match super::fd::check(unsafe { libc::flock(file.as_fd().as_raw_fd(), how) }) {
                Ok(_) => return Ok(Some(Self::over(file, false))),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Takes the lock unless somebody else has it for longer than `patience`. Gives up much sooner when the process that took it
    /// lives: only what a process left behind when it was killed goes away by itself.
    pub fn take_soon(dir: &Path, patience: Duration) -> io::Result<Option<Self>> {
        let start = Instant::now();
        let lives = || Self::holder(dir).is_some_and(is_alive);
        loop {
            if let Some(lock) = Self::take(dir, false)? {
                return Ok(Some(lock));
            }
            let waited = start.elapsed();
            if waited >= patience || waited >= LOOK_MAX && lives() {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Process that has the lock of `dir`, as the kernel lists it; `None` when nobody has, or one of another pid namespace.
    pub fn holder(dir: &Path) -> Option<u32> {
        Locks::read().holder(dir)
    }

    /// Whether the directory that is locked still stands at `path`.
    pub fn is_at(&self, path: &Path) -> bool {
        let of = |m: Metadata| (m.dev(), m.ino());
        matches!((self.file.metadata().map(of), path.symlink_metadata().map(of)), (Ok(a), Ok(b)) if a == b)
    }
}

/// Whether the process runs: one that has ended is none, also before its parent asks how.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// The exclusive locks of the machine, as the kernel listed them at one moment (proc_locks(5)).
///
/// A user may have a hundred thousand locks: who asks about many directories reads the list once.
#[derive(Debug, Default)]
pub struct Locks(HashMap<Place, u32>);

/// Major and minor number of a device, and an inode on it.
type Place = (u32, u32, u64);

impl Locks {
    /// Reads the list; an empty one where there is no `/proc`.
    pub fn read() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/locks").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(held).collect())
    }

    /// Process that has the lock of `dir`; `None` when nobody has, or one of another pid namespace.
    pub fn holder(&self, dir: &Path) -> Option<u32> {
        let meta = dir.symlink_metadata().ok()?;
        self.0.get(&(libc::major(meta.dev()), libc::minor(meta.dev()), meta.ino())).copied()
    }
}

/// What is locked by a line of the list, and the process that holds the lock; `None` for one that waits (`->`), and for other kinds.
fn held(line: &str) -> Option<(Place, u32)> {
    let mut words = line.split_whitespace().skip(1);
    let (kind, _, access) = (words.next()?, words.next()?, words.next()?);
    if (kind, access) != ("FLOCK", "WRITE") {
        return None;
    }
    // A process of another pid namespace has number 0 here.
    let pid: u32 = words.next()?.parse().ok().filter(|&pid| pid != 0)?;
    let mut place = words.next()?.split(':');
    let mut hex = || u32::from_str_radix(place.next()?, 16).ok();
    let (major, minor) = (hex()?, hex()?);
    Some(((major, minor, place.next()?.parse().ok()?), pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_told_from_those_that_wait() {
        let locks = "1: POSIX  ADVISORY  WRITE 70 00:1a:99 0 EOF\n2: FLOCK  ADVISORY  READ 71 00:1a:99 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 72 00:1a:99 0 EOF\n3: -> FLOCK  ADVISORY  WRITE 73 00:1a:98 0 EOF\n";
        let locks = Locks::parse(locks);
        assert_eq!(locks.0.into_iter().collect::<Vec<_>>(), [((0, 0x1a, 99), 72)]);
        assert!(Locks::parse("1: FLOCK\n\nx").0.is_empty());
    }

    #[test]
    fn a_lock_tells_its_process() {
        let dir = std::env::temp_dir().join(format!("ringway-lock-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let lock = DirLock::take(&dir, false).unwrap();
        let (held, again) = (DirLock::holder(&dir), DirLock::take(&dir, false).unwrap());
        drop(lock);
        let free = DirLock::holder(&dir);
        std::fs::remove_dir(&dir).unwrap();
        assert!(
            held == Some(std::process::id()) && again.is_none() && free.is_none(),
            "{held:?} {again:?} {free:?}"
        );
    }
    /// A child of `sh` has a copy of the descriptor, as every program has that is being started.
    #[test]
    fn copies_in_children_hold_no_lock_that_was_dropped() {
        let dir = std::env::temp_dir().join(format!("ringway-copies-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let lock = DirLock::take(&dir, false).unwrap().unwrap();
        let copy = lock.file.try_clone().unwrap();
        let mut child = std::process::Command::new("sleep").arg("1000").stdin(copy).spawn().unwrap();
        let refused = DirLock::take_soon(&dir, Duration::from_secs(600)).unwrap().is_none();
        drop(lock);
        let taken = DirLock::take(&dir, false).unwrap().is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        std::fs::remove_dir(&dir).unwrap();
        assert!(refused, "a process that lives has it: no reason to wait");
        assert!(taken);
    }

    #[test]
    fn a_shared_lock_falls_with_its_last_descriptor() {
        let dir = std::env::temp_dir().join(format!("ringway-shared-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let lock = DirLock::take(&dir, false).unwrap().unwrap();
        let heir = DirLock::inherit(lock.share().unwrap()).unwrap();
        let other = File::open(&dir).unwrap();
        let stranger = DirLock::inherit(other.into()).is_err();
        drop(lock);
        let held = DirLock::take(&dir, false).unwrap().is_none();
        drop(heir);
        // A process that another test is starting has a copy for a moment.
        let start = Instant::now();
        let mut free = false;
        while !free && start.elapsed() < Duration::from_secs(60) {
            free = DirLock::take(&dir, false).unwrap().is_some();
        }
        std::fs::remove_dir(&dir).unwrap();
        assert!(stranger && held && free, "{stranger} {held} {free}");
    }

    #[test]
    fn a_lock_left_behind_is_waited_for() {
        assert!(is_alive(std::process::id()) && !is_alive(u32::MAX));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        while is_alive(pid) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }
}
