//! Links, names and directories that a client would put in the way of root.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use ringway::switch::Switch;

use crate::client::{Canary, NOBODY, owner, shell, switch};
use crate::support::switch::files;

/// All names that root's commands use in the directory of a port.
const NAMES: [&str; 9] = ["x", "region", "send", "look", "state", "bell0", "~send", "~look", "nics"];

#[test]
fn a_client_changes_nothing_in_the_directory_of_its_port() {
    let Some(switch) = switch() else { return };
    let dir = files(switch.name(), "p1");
    let before = listing(&dir);
    for name in NAMES {
        let tries = format!(
            "chmod 700 $P; ln -s /etc/passwd $P/{name}; mkdir $P/{name}; rm -f $P/{name}; mv $P/{name} $P/away; mv $P/use $P/{name}; \
             ln -s /etc/passwd $P/../~p1; mkdir $P/../{name}"
        );
        shell(&switch, &tries);
        assert_eq!(listing(&dir), before, "{name}");
    }
    let is = fs::symlink_metadata(&dir).unwrap();
    assert_eq!((is.uid(), is.mode() & 0o7777), (0, 0o755));
}

fn listing(dir: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .flatten()
        .map(|e| format!("{} {:?}", e.file_name().display(), e.file_type().unwrap()))
        .collect();
    names.sort();
    names
}

/// All that root does with a port, whatever its user put into the one directory that is his.
#[test]
fn root_follows_nothing_that_a_client_put_in_its_way() {
    let Some(switch) = switch() else { return };
    let (canary, lock) = (Canary::new("links"), files(switch.name(), "p1").join("use"));
    let tries: String =
        NAMES.iter().map(|n| format!("ln -s {} $P/use/{n}; ", canary.path.display())).collect();
    shell(
        &switch,
        &format!(
            "chmod 700 $P/use; {tries} ln -s {} $P/use/dir; mkdir $P/use/sub; ln -s / $P/use/sub/root",
            canary.path.parent().unwrap().display()
        ),
    );
    assert_eq!(
        fs::read_dir(&lock).unwrap().count(),
        NAMES.len() + 2,
        "the client can't fill its own directory"
    );
    switch.set_access("p1", &owner(1000)).unwrap();
    canary.assert_untouched();
    assert_eq!(fs::read_dir(&lock).unwrap().count(), 0, "what the old owner left is gone");
    switch.set_access("p1", &owner(NOBODY)).unwrap();
    shell(&switch, &format!("chmod 700 $P/use; {tries}"));
    switch.reload().unwrap();
    drop(Switch::open(switch.name()).unwrap().stats());
    switch.del_port("p1", false).unwrap();
    canary.assert_untouched();
    assert!(!files(switch.name(), "p1").exists());
}

/// A user whose port's directory was his, as an earlier version gave it, still finds root careful.
#[test]
fn links_in_place_of_a_ports_files_are_refused() {
    let Some(switch) = switch() else { return };
    let (canary, dir) = (Canary::new("planted"), files(switch.name(), "p1"));
    for name in ["send", "look", "bell0", "region"] {
        fs::rename(dir.join(name), dir.join("away")).unwrap();
        symlink(&canary.path, dir.join(name)).unwrap();
        let _ = (switch.reload(), Switch::open(switch.name()).unwrap().stats());
        canary.assert_untouched();
        fs::remove_file(dir.join(name)).unwrap();
        fs::rename(dir.join("away"), dir.join(name)).unwrap();
    }
    symlink(&canary.path, dir.join("~send")).unwrap();
    switch.reload().unwrap();
    switch.set_access("p1", &owner(1000)).unwrap();
    canary.assert_untouched();
}

/// 1,100 directories, one in the other, are more than a process has descriptors.
#[test]
fn deep_directories_keep_nobody_from_removing() {
    let Some(switch) = switch() else { return };
    let nest = "chmod 700 $P/use && cd $P/use && i=0 && while [ $i -lt 1100 ]; do mkdir d && cd d && i=$((i+1)); done";
    for round in 0..2 {
        let made = shell(&switch, nest);
        assert!(made.status.success(), "{made:?}");
        if round == 0 {
            switch.del_port("p1", false).unwrap();
            switch.add_port("p1", &owner(NOBODY)).unwrap();
        }
    }
    let (name, ports) = (switch.name().to_owned(), files(switch.name(), "p1"));
    drop(switch);
    assert!(!ports.exists() && !ringway::switch::switches().contains(&name));
    let root = ports.ancestors().nth(3).unwrap();
    assert!(!root.join(format!("~{name}")).exists(), "files of the switch stay");
}

/// Its user may have the lock of a port, or leave it; he can't keep others from seeing that.
#[test]
fn a_client_makes_files_in_no_name_that_root_needs() {
    let Some(switch) = switch() else { return };
    shell(&switch, "rmdir $P/use; mv $P/use $P/../use; mkdir /sys/fs/bpf/ringway/valenobody $P/../../x");
    let port = switch.find_port("p1").unwrap();
    assert!(!port.open && files(switch.name(), "p1").join("use").is_dir());
    assert!(!ringway::switch::switches().contains(&"valenobody".to_owned()));
}
