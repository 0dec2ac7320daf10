//! Directories of switches that somebody else than root made, or can change.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use ringway::ErrorKind;
use ringway::pinned::check_root;
use ringway::switch::{PortAccess, Switch, SwitchSpec, switches};

use crate::client::{NOBODY, words};
use crate::support::child_command;
use crate::support::switch::unused_name;

/// A BPF file system that goes away with the test.
struct Mounted(PathBuf);

impl Mounted {
    /// As the kernel mounts it when nobody names a mode: everybody may make files there.
    fn new() -> Option<Self> {
        let dir = std::env::temp_dir().join(unused_name()?);
        fs::create_dir(&dir).unwrap();
        let this = Self(fs::canonicalize(dir).unwrap());
        let mounted = Command::new("mount").args(["-t", "bpf", "bpf"]).arg(&this.0).status();
        assert!(mounted.unwrap().success());
        assert_eq!(fs::metadata(&this.0).unwrap().mode() & 0o7777, 0o1777);
        Some(this)
    }

    fn root(&self) -> PathBuf {
        self.0.join("ringway")
    }

    /// Runs a test of this program for switches in `root`.
    fn passes(&self, test: &str, root: &Path) {
        let output = child_command(test, "-").env("RINGWAY_BPFFS", root).output().unwrap();
        assert!(output.status.success(), "{test}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}

/// A child of root's that refuses the directory of switches it was given, in all that it does.
#[test]
fn refuses_its_directory() {
    if words().is_none() {
        return;
    }
    let all = [
        check_root().unwrap_err(),
        Switch::create("vale7", &SwitchSpec::default()).unwrap_err(),
        Switch::open("vale0").unwrap_err(),
        ringway::Port::open("vale0:p1").unwrap_err(),
        ringway::pinned::clear("vale0").unwrap_err(),
    ];
    for e in all {
        assert_eq!(e.kind(), ErrorKind::Unfit, "{e}");
        assert!(e.to_string().contains("mode=0755") || e.to_string().contains("realpath"), "no cure: {e}");
    }
    assert!(switches().is_empty());
}

/// A child of root's that makes a switch and leaves it.
#[test]
fn makes_a_switch_in_it() {
    if words().is_none() {
        return;
    }
    // SAFETY: no pointers.
    unsafe { libc::umask(0) };
    let switch = Switch::create("vale0", &SwitchSpec { slots: 64, ..SwitchSpec::default() }).unwrap();
    switch.add_port("p1", &PortAccess { uid: Some(NOBODY), ..PortAccess::default() }).unwrap();
}

/// A child of root's that uses the switch and removes it.
#[test]
fn uses_and_removes_it() {
    if words().is_none() {
        return;
    }
    let switch = Switch::open("vale0").unwrap();
    assert_eq!(switch.ports().len(), 1);
    switch.delete().unwrap();
}

/// A user makes the directory of switches before root does, then puts a link to a directory of root's in the place of the ports.
#[test]
fn a_directory_that_a_user_made_first_is_refused() {
    let Some(bpf) = Mounted::new() else { return };
    let root = bpf.root();
    fs::create_dir(&root).unwrap();
    chown(&root, Some(NOBODY), Some(NOBODY)).unwrap();
    fs::set_permissions(&root, fs::Permissions::from_mode(0o777)).unwrap();
    let victim = bpf.0.join("victim");
    fs::create_dir(&victim).unwrap();
    fs::create_dir(victim.join("precious")).unwrap();
    fs::create_dir(root.join("vale0")).unwrap();
    fs::create_dir(root.join("~vale0")).unwrap();
    symlink(&victim, root.join("vale0/port")).unwrap();
    bpf.passes("roots::refuses_its_directory", &root);
    assert!(victim.join("precious").is_dir() && root.join("~vale0").is_dir());
    // Owned by root it is refused for its mode alone.
    chown(&root, Some(0), Some(0)).unwrap();
    bpf.passes("roots::refuses_its_directory", &root);
    assert!(victim.join("precious").is_dir());
}

#[test]
fn links_and_directories_of_users_on_the_way_are_refused() {
    let Some(bpf) = Mounted::new() else { return };
    let (real, link) = (bpf.root(), bpf.0.join("link"));
    bpf.passes("roots::makes_a_switch_in_it", &real);
    symlink(&real, &link).unwrap();
    bpf.passes("roots::refuses_its_directory", &link);
    let theirs = bpf.0.join("theirs");
    fs::create_dir(&theirs).unwrap();
    fs::create_dir(theirs.join("ringway")).unwrap();
    chown(&theirs, Some(NOBODY), Some(NOBODY)).unwrap();
    bpf.passes("roots::refuses_its_directory", &theirs.join("ringway"));
    bpf.passes("roots::uses_and_removes_it", &real);
}

/// A sticky directory above is no danger, and a umask of 0 opens nothing to others.
#[test]
fn whatever_the_umask_nobody_else_may_write() {
    let Some(bpf) = Mounted::new() else { return };
    let root = bpf.root();
    bpf.passes("roots::makes_a_switch_in_it", &root);
    let mut left = vec![root.clone()];
    let mut seen = 0;
    while let Some(path) = left.pop() {
        let is = fs::symlink_metadata(&path).unwrap();
        assert_eq!(is.mode() & 0o022, 0, "{} {:o}", path.display(), is.mode());
        let given = path.starts_with(root.join("vale0/port/p1")) && is.uid() == NOBODY;
        assert!(is.uid() == 0 || given, "{} belongs to {}", path.display(), is.uid());
        if is.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().flatten().map(|e| e.path()));
        }
        seen += 1;
    }
    assert!(seen > 15, "{seen} files and directories");
    bpf.passes("roots::uses_and_removes_it", &root);
}

/// A link in the place of what root keeps of a switch.
#[test]
fn links_in_a_switch_are_refused() {
    let Some(bpf) = Mounted::new() else { return };
    let root = bpf.root();
    bpf.passes("roots::makes_a_switch_in_it", &root);
    let (port, away) = (root.join("vale0/port"), bpf.0.join("away"));
    fs::rename(&port, &away).unwrap();
    symlink(&away, &port).unwrap();
    let output =
        child_command("roots::uses_and_removes_it", "-").env("RINGWAY_BPFFS", &root).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("symbolic link"), "{said}");
    assert!(away.join("p1/region").exists());
    fs::remove_file(&port).unwrap();
    fs::rename(&away, &port).unwrap();
    bpf.passes("roots::uses_and_removes_it", &root);
}
