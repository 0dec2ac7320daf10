//! Directories and files of others, and links, are refused; a canary that they lead to stays as it was.

use std::os::unix::fs::{DirBuilderExt, chown, symlink};

use super::*;

/// A directory of this test alone, that goes away with it.
struct Place(PathBuf);

impl Place {
    fn new(tag: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("ringway-private-{tag}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir); // of a process that was killed
        fs::DirBuilder::new().mode(0o755).create(&dir).unwrap();
        Self(dir)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn set_mode(&self, mode: u32) {
        fs::set_permissions(&self.0, Permissions::from_mode(mode)).unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn refused<T: std::fmt::Debug>(found: Result<T>, word: &str) {
    let e = found.unwrap_err();
    assert!(e.kind() == ErrorKind::Denied && e.to_string().contains(word), "{:?} {e}", e.kind());
}

/// Whether files can be given to another user.
fn is_root() -> bool {
    if effective_user() != 0 {
        eprintln!("SKIP: files of other users need root; run these tests with sudo");
    }
    effective_user() == 0
}

#[test]
fn what_is_made_is_for_its_user_alone() {
    let place = Place::new("made");
    let dir = PrivateDir::make(place.join("a/b")).unwrap();
    assert_eq!([mode(place.join("a")), mode(place.join("a/b"))], [0o700; 2]);
    let sub = dir.make_dir("sub").unwrap();
    dir.create("file").unwrap();
    dir.append("log").unwrap();
    sub.fifo("bell").unwrap();
    dir.replace("text", b"one").unwrap();
    assert_eq!(mode(sub.path()), 0o700);
    assert_eq!(["file", "log", "text", "sub/bell"].map(|name| mode(dir.path().join(name))), [0o600; 4]);
    assert_eq!(dir.create("file").unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(dir.open_file("none").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(PrivateDir::open(place.join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    for name in ["../file", "a/b", "", ".."] {
        assert!(dir.create(name).is_err() && dir.make_dir(name).is_err(), "{name:?} is no name");
    }
    dir.remove_dir("sub").unwrap();
    dir.remove("file").unwrap();
    dir.remove("file").unwrap();
    let mut left = dir.names();
    left.sort();
    assert_eq!(left, ["log", "text"]);
}

#[test]
fn a_directory_in_which_others_may_write_is_refused() {
    let place = Place::new("open");
    for mode in [0o777, 0o1777, 0o775, 0o757, 0o720] {
        place.set_mode(mode);
        refused(PrivateDir::open(&place.0), &format!("others may write: the directory has mode {mode:04o}"));
        refused(PrivateDir::make(&place.0), "`chmod go-w ");
    }
    place.set_mode(0o755);
    let dir = PrivateDir::open(&place.0).unwrap();
    fs::create_dir(place.join("sub")).unwrap();
    fs::set_permissions(place.join("sub"), Permissions::from_mode(0o777)).unwrap();
    refused(dir.make_dir("sub"), "others may write");
    fs::write(place.join("file"), "").unwrap();
    fs::set_permissions(place.join("file"), Permissions::from_mode(0o666)).unwrap();
    refused(dir.open_file("file"), "others may write: the file has mode 0666");
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    if !is_root() {
        return;
    }
    let place = Place::new("owner");
    let dir = PrivateDir::open(&place.0).unwrap();
    dir.make_dir("sub").unwrap();
    dir.create("file").unwrap();
    dir.make_dir("pipe").unwrap().fifo("bell").unwrap();
    ["sub", "file", "pipe/bell"].iter().for_each(|name| chown(place.join(name), Some(65534), None).unwrap());
    refused(dir.open_dir("sub"), "the directory belongs to user 65534, and the process runs as user 0");
    refused(dir.open_file("file"), "the file belongs to user 65534");
    refused(dir.append("file"), "the file belongs to user 65534");
    refused(dir.open_dir("pipe").unwrap().fifo("bell"), "the file belongs to user 65534");
    chown(&place.0, Some(65534), None).unwrap();
    refused(PrivateDir::open(&place.0), "the directory belongs to user 65534");
    refused(PrivateDir::make(place.join("sub")), "RINGWAY_DIR");
}

#[test]
fn links_to_files_are_not_followed() {
    let place = Place::new("links");
    let canary = place.join("canary");
    fs::write(&canary, "alive").unwrap();
    fs::set_permissions(&canary, Permissions::from_mode(0o644)).unwrap();
    let dir = PrivateDir::make(place.join("dir")).unwrap();
    for name in ["log", "pid", "json", "json.new", "region"] {
        symlink(&canary, dir.path().join(name)).unwrap();
    }
    symlink(&place.0, dir.path().join("sub")).unwrap();
    refused(dir.append("log"), "symbolic link");
    refused(dir.open_file("pid"), "remove it");
    refused(dir.open_or_create("region"), "symbolic link");
    refused(dir.open_dir("sub"), "no directory");
    refused(dir.make_dir("sub"), "no directory");
    refused(dir.fifo("log"), "symbolic link");
    assert_eq!(dir.create("pid").unwrap_err().kind(), ErrorKind::Busy);
    dir.replace("json", b"own").unwrap();
    assert_eq!(fs::read(dir.path().join("json")).unwrap(), b"own", "the link itself was replaced");
    assert!(!fs::symlink_metadata(dir.path().join("json")).unwrap().is_symlink());
    dir.remove("log").unwrap();
    assert!(!dir.names().contains(&"log".into()));
    assert_eq!((fs::read(&canary).unwrap().as_slice(), mode(&canary)), (&b"alive"[..], 0o644));
}

/// A FIFO in the place of a file does not make the process wait.
#[test]
fn what_is_no_file_is_refused_at_once() {
    let place = Place::new("fifo");
    let dir = PrivateDir::open(&place.0).unwrap();
    drop(dir.fifo("log").unwrap());
    refused(dir.open_file("log"), "something else has the name");
    assert!(dir.append("log").is_err(), "nobody reads it");
    dir.create("bell").unwrap();
    refused(dir.fifo("bell"), "something else has the name");
}

#[test]
fn links_on_the_way_are_followed_if_root_or_the_user_made_them() {
    let place = Place::new("way");
    PrivateDir::make(place.join("real/run")).unwrap();
    symlink(place.join("real"), place.join("link")).unwrap();
    symlink("real/../link", place.join("second")).unwrap();
    symlink("turns", place.join("turns")).unwrap();
    for way in ["link/run", "second/run", "link/../real/run"] {
        let found = PrivateDir::open(place.join(way)).unwrap().dir.metadata().unwrap().ino();
        assert_eq!(found, fs::metadata(place.join("real/run")).unwrap().ino(), "{way}");
    }
    assert_eq!(PrivateDir::make(place.join("turns/run")).unwrap_err().kind(), ErrorKind::Io);
    if !is_root() {
        return;
    }
    std::os::unix::fs::lchown(place.join("link"), Some(65534), None).unwrap();
    for way in ["link", "link/run", "second/run", "link/new"] {
        refused(PrivateDir::make(place.join(way)), "link on the way is a symbolic link of user 65534");
    }
    assert!(!place.join("real/new").exists(), "nothing was made where the link leads");
}

#[test]
fn a_closed_directory_stays_closed() {
    let place = Place::new("closed");
    let path = place.join("control");
    make_closed_dir(&path).unwrap();
    assert_eq!(mode(&path), 0o700);
    for before in [0o755, 0o777, 0o1777, 0o500] {
        fs::set_permissions(&path, Permissions::from_mode(before)).unwrap();
        make_closed_dir(&path).unwrap();
        assert_eq!(mode(&path), 0o700, "it was {before:o}");
    }
    fs::create_dir(place.join("other")).unwrap();
    let other = mode(place.join("other"));
    symlink("other", place.join("link")).unwrap();
    assert!(make_closed_dir(place.join("link")).is_err());
    assert_eq!(mode(place.join("other")), other, "the link was not followed");
    if is_root() {
        chown(&path, Some(65534), None).unwrap();
        refused(make_closed_dir(&path), "belongs to user 65534");
    }
}
