//! Who has the lock on a directory (`flock`). A lock belongs to the open file, and so to each process that
//! has a descriptor of it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether all of a process is root's: its user, and the user who started it.
pub(super) fn is_roots(pid: u32) -> bool {
    let owner = fs::metadata(format!("/proc/{pid}")).is_ok_and(|meta| meta.uid() == 0);
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    owner && real_user(&status) == Some(0)
}

/// The real user id in the text of `/proc/PID/status` (proc_pid_status(5)).
fn real_user(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace().next()?.parse().ok()
}

/// Whether a process has a descriptor by which the lock on `dir` is held.
pub(super) fn has(pid: u32, dir: &Path) -> bool {
    let Ok(meta) = fs::metadata(dir) else { return false };
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    files.filter_map(|file| file.file_name().into_string().ok()).any(|number| {
        let open = fs::metadata(format!("/proc/{pid}/fd/{number}"));
        open.is_ok_and(|open| (open.dev(), open.ino()) == (meta.dev(), meta.ino()))
            && fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).is_ok_and(|info| is_locked(&info))
    })
}

/// Whether the text of `/proc/PID/fdinfo/NUMBER` tells that the open file holds a lock of `flock`
/// (proc_pid_fdinfo(5)).
fn is_locked(info: &str) -> bool {
    info.lines().filter_map(|line| line.strip_prefix("lock:")).any(|lock| lock.contains("FLOCK"))
}

/// All processes that have the lock on `dir`, as far as they can be seen.
pub(super) fn holders(dir: &Path) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| has(*pid, dir)).collect()
}

/// A process as people know it.
pub(super) fn describe(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name: String = name.trim_end().chars().filter(|c| !c.is_control()).collect();
    format!("process {pid} ({name})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_kernel() {
        assert_eq!(real_user("Name:\tsleep\nUid:\t1000\t0\t0\t0\nGid:\t0\t0\t0\t0\n"), Some(1000));
        assert_eq!(real_user("Name:\tUid: 0\n"), None);
        let info = "pos:\t0\nflags:\t02100000\nlock:\t1: FLOCK  ADVISORY  WRITE 4711 00:1c:5 0 EOF\n";
        assert!(is_locked(info));
        assert!(!is_locked("pos:\t0\nlock:\t1: POSIX  ADVISORY  WRITE 4711 00:1c:5 0 EOF\n"));
    }

    #[test]
    fn a_process_has_its_own_lock_until_it_gives_it_back() {
        let dir = std::env::temp_dir().join(format!("ringway-holders-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        let own = std::process::id();
        let open = fs::File::open(&dir).unwrap();
        let before = has(own, &dir);
        open.lock().unwrap();
        let (locked, listed) = (has(own, &dir), holders(&dir).contains(&own));
        open.unlock().unwrap();
        let after = has(own, &dir);
        fs::remove_dir(&dir).unwrap();
        assert_eq!((before, locked, listed, after), (false, true, true, false));
    }
}
