//! A process without any right but to one port: user 65534, no groups, no capabilities.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use ringway::switch::{PortAccess, SwitchSpec};

use crate::support::switch::{Temporary, files};
use crate::support::{child_command, role};

pub(crate) const NOBODY: u32 = 65534;

/// A switch with a port `p1` that belongs to that user and a port `p2` that does not; `None`, with a loud word, where there can be none.
pub(crate) fn switch() -> Option<Temporary> {
    let switch = Temporary::new(&SwitchSpec::default())?;
    if std::fs::metadata("/sys/fs/bpf").is_ok_and(|m| std::os::unix::fs::MetadataExt::mode(&m) & 1 == 0) {
        eprintln!("SKIP: only root may look into /sys/fs/bpf here");
        return None;
    }
    switch.add_port("p1", &owner(NOBODY)).unwrap();
    switch.add_port("p2", &owner(1000)).unwrap();
    Some(switch)
}

pub(crate) fn owner(uid: u32) -> PortAccess {
    PortAccess { uid: Some(uid), gid: Some(uid), mode: 0o600 }
}

/// Has a command run as that user, for good: what it runs gets no right back.
fn lower(command: &mut Command) -> &mut Command {
    let no_new_rights = || {
        // SAFETY: no pointers; changes only this process, which is about to run a program.
        match unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: only a system call between fork and exec.
    unsafe { command.pre_exec(no_new_rights) };
    command.uid(NOBODY).gid(NOBODY) // which leaves all groups, too
}

/// What a shell of that user does in the directory of port p1. That most of it fails is the point.
pub(crate) fn shell(switch: &Temporary, script: &str) -> Output {
    let mut command = Command::new("sh");
    // He may stand nowhere that he may not search.
    lower(command.args(["-c", script]).current_dir("/"))
        .env("P", files(switch.name(), "p1"))
        .output()
        .unwrap()
}

/// The same for the test `name` of this program, which finds `words` by [`words`]; fails unless it passes.
pub(crate) fn passes(name: &str, words: &str) {
    let mut command = child_command(name, words);
    let output = lower(command.current_dir("/")).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What the parent told this process, if it is one of those.
pub(crate) fn words() -> Option<Vec<String>> {
    role()
}

/// A file of root's outside of all switches, and what it was when it was made.
#[derive(Debug)]
pub(crate) struct Canary {
    pub(crate) path: std::path::PathBuf,
    was: String,
}

impl Canary {
    /// In a directory that goes away with [`Drop`].
    pub(crate) fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("ringway-canary-{name}-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let path = dir.join("file");
        std::fs::write(&path, "root's").unwrap();
        std::os::unix::fs::chown(&path, Some(0), Some(0)).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&path, mode).unwrap();
        let was = look(&path);
        Self { path, was }
    }

    #[track_caller]
    pub(crate) fn assert_untouched(&self) {
        assert_eq!(look(&self.path), self.was);
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.path.parent().unwrap_or(&self.path));
    }
}

/// Owner, mode and content of a file.
fn look(path: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    let is = std::fs::symlink_metadata(path).unwrap();
    format!("{}:{} {:o} {:?}", is.uid(), is.gid(), is.mode(), std::fs::read_to_string(path).unwrap())
}
