//! Where a router's process keeps its things.

use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use ringway::{Error, ErrorKind, Result, dirs::PrivateDir};

/// A longer note of how a process was started is not from this crate.
const SETUP_MAX: u64 = 1 << 20;

/// Files of the process of one router, in `/run/ringway` or `$RINGWAY_DIR`. That directory must be root's,
/// and nobody else may write in it; a link instead of a file is not followed ([`PrivateDir`]).
///
/// ```
/// let files = ringway_router::follow::Files::of("vale0")?;
/// assert!(files.socket().ends_with("vale0.sock"));
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Files {
    dir: PathBuf,
    name: String,
}

impl Files {
    /// The files of a router. Nothing is made.
    ///
    /// # Errors
    /// [`ErrorKind::BadName`] for what is no name of a router, and could lead elsewhere; [`ErrorKind::Denied`] for users that have no place
    /// for such files.
    pub fn of(name: &str) -> Result<Self> {
        ringway::pinned::check_router_name(name)?;
        let dir = ringway::dirs::run_directory().ok_or_else(|| {
            Error::new(ErrorKind::Denied, name, "routers are made and asked by root").cure("run as root")
        })?;
        Ok(Self { dir, name: name.to_owned() })
    }

    /// Where the process answers questions.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.dir.join(self.file(SOCKET))
    }

    /// Where the process says what it does.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.dir.join(self.file(LOG))
    }

    /// How the process was started, for the process that takes over.
    #[must_use]
    pub fn setup(&self) -> PathBuf {
        self.dir.join(self.file(SETUP))
    }

    fn file(&self, suffix: &str) -> String {
        format!("{}.{suffix}", self.name)
    }

    fn directory(&self) -> Result<PrivateDir> {
        PrivateDir::open(&self.dir)
    }

    /// Makes the directory.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] when it is another user's, or others may write in it; what the system says.
    pub fn make_directory(&self) -> Result<()> {
        PrivateDir::make(&self.dir).map(drop)
    }

    /// Notes how the process was started: the file has all of the text or that of before, also when the
    /// process is killed.
    ///
    /// # Errors
    /// As [`make_directory`](Self::make_directory).
    pub fn write_setup(&self, text: &str) -> Result<()> {
        self.directory()?.replace(&self.file(SETUP), text.as_bytes())
    }

    /// What [`write_setup`](Self::write_setup) noted.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Denied`] for a file that is not root's; what the system says.
    pub fn read_setup(&self) -> Result<String> {
        let mut text = String::new();
        let file = self.directory()?.open_file(&self.file(SETUP))?;
        let read = file.take(SETUP_MAX).read_to_string(&mut text);
        read.map_err(|e| Error::io(self.setup().display().to_string(), "reading it failed", e))?;
        Ok(text)
    }

    /// Notes the process id of this process, in decimal.
    ///
    /// # Errors
    /// As [`make_directory`](Self::make_directory).
    pub fn write_pid(&self) -> Result<()> {
        self.directory()?.replace(&self.file(PID), format!("{}\n", std::process::id()).as_bytes())
    }

    /// Opens the log to write at its end, and whether it was made by this.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] when the log is no file of root's; as [`make_directory`](Self::make_directory).
    pub fn open_log(&self) -> Result<(File, bool)> {
        let dir = PrivateDir::make(&self.dir)?;
        let is_new = dir.open_file(&self.file(LOG)).is_err_and(|e| e.kind() == ErrorKind::NotFound);
        Ok((dir.append(&self.file(LOG))?, is_new))
    }

    /// Listens at the socket, in place of an earlier process. Only root may connect.
    pub(super) fn listen(&self) -> Result<UnixListener> {
        let dir = PrivateDir::make(&self.dir)?;
        dir.remove(&self.file(SOCKET))?;
        let at = self.in_descriptor(&dir);
        let listener = UnixListener::bind(&at).and_then(|listener| {
            fs::set_permissions(&at, Permissions::from_mode(0o600))?;
            Ok(listener)
        });
        let failed = format!("listening at {} failed", self.socket().display());
        listener.map_err(|e| Error::io(&self.name, failed, e).cure_if_denied("run as root"))
    }

    /// Connects to the process that listens.
    pub(super) fn connect(&self) -> Result<UnixStream> {
        let dir = self.directory()?;
        UnixStream::connect(self.in_descriptor(&dir)).map_err(|e| {
            let gone = matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused);
            let failed = format!("connecting to {} failed", self.socket().display());
            let error = Error::io(&self.name, failed, e).cure_if_denied("run as root");
            if gone { error.with_kind(ErrorKind::NotFound) } else { error }
        })
    }

    /// The socket in the directory that was looked at: by its own path another one might be reached
    /// meanwhile.
    fn in_descriptor(&self, dir: &PrivateDir) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", dir.as_fd().as_raw_fd())).join(self.file(SOCKET))
    }

    /// Removes the socket.
    pub(super) fn remove_socket(&self) {
        self.remove_all(&[SOCKET]);
    }

    /// Removes the note of the process id.
    pub fn remove_pid(&self) {
        self.remove_all(&[PID]);
    }

    /// Removes the log.
    pub fn remove_log(&self) {
        self.remove_all(&[LOG]);
    }

    /// Removes all but a log in which something is written.
    pub fn remove(&self) {
        self.remove_all(&[SOCKET, PID, SETUP, PID_NEW, SETUP_NEW]);
        let log = self.directory().and_then(|dir| dir.open_file(&self.file(LOG)));
        if log.is_ok_and(|log| log.metadata().is_ok_and(|meta| meta.len() == 0)) {
            self.remove_log();
        }
    }

    fn remove_all(&self, suffixes: &[&str]) {
        let Ok(dir) = self.directory() else { return }; // it was never made, or is not ours
        for suffix in suffixes {
            let _ = dir.remove(&self.file(suffix)); // in the worst case it stays
        }
    }
}

const SOCKET: &str = "sock";
const LOG: &str = "log";
const PID: &str = "pid";
const SETUP: &str = "json";
/// What a process leaves that is killed while it writes.
const PID_NEW: &str = "pid.new";
const SETUP_NEW: &str = "json.new";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["../vale0", "vale0/x", "", "0eth", "lock", "vale0.log", "vale-0123456789a"] {
            assert_eq!(Files::of(name).unwrap_err().kind(), ErrorKind::BadName, "{name}");
        }
    }

    #[test]
    fn how_a_process_was_started_is_written_whole_and_removed() {
        let dir = std::env::temp_dir().join(format!("ringway-files-{}", std::process::id()));
        let files = Files { dir: dir.clone(), name: "vale0".into() };
        files.make_directory().unwrap();
        files.write_setup("one").unwrap();
        let reader = File::open(files.setup()).unwrap();
        files.write_setup("two").unwrap();
        assert_eq!(files.read_setup().unwrap(), "two");
        assert_eq!(io::read_to_string(reader).unwrap(), "one", "it was never cut short");
        files.write_pid().unwrap();
        for killed in [PID_NEW, SETUP_NEW] {
            fs::write(dir.join(files.file(killed)), "th").unwrap();
        }
        assert!(files.open_log().unwrap().1 && !files.open_log().unwrap().1, "it is new once");
        files.remove();
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
        fs::remove_dir(&dir).unwrap();
    }

    /// In a directory that others could write in once, links may lie that lead to other files.
    #[test]
    fn links_in_the_place_of_files_lead_nowhere() {
        let dir = std::env::temp_dir().join(format!("ringway-planted-{}", std::process::id()));
        let files = Files { dir: dir.join("run"), name: "vale0".into() };
        files.make_directory().unwrap();
        let canary = dir.join("canary");
        fs::write(&canary, "alive").unwrap();
        fs::set_permissions(&canary, Permissions::from_mode(0o644)).unwrap();
        let plant = || {
            for suffix in [SOCKET, LOG, PID, SETUP, PID_NEW, SETUP_NEW] {
                let _ = fs::remove_file(files.dir.join(files.file(suffix)));
                std::os::unix::fs::symlink(&canary, files.dir.join(files.file(suffix))).unwrap();
            }
        };
        plant();
        assert_eq!(files.read_setup().unwrap_err().kind(), ErrorKind::Denied);
        assert_eq!(files.open_log().unwrap_err().kind(), ErrorKind::Denied);
        files.write_setup("one").unwrap();
        files.write_pid().unwrap();
        drop(files.listen().unwrap());
        let named = |suffix| fs::symlink_metadata(files.dir.join(files.file(suffix))).unwrap();
        assert!([SOCKET, PID, SETUP].iter().all(|suffix| !named(suffix).is_symlink()), "they were replaced");
        plant();
        files.remove();
        let meta = fs::metadata(&canary).unwrap();
        let canary = (fs::read_to_string(&canary).unwrap(), meta.permissions().mode() & 0o777);
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(canary, ("alive".into(), 0o644));
    }

    /// Nothing is read, made or removed in a directory in which others may write.
    #[test]
    fn a_directory_that_others_may_write_in_is_refused() {
        let dir = std::env::temp_dir().join(format!("ringway-shared-{}", std::process::id()));
        let files = Files { dir: dir.clone(), name: "vale0".into() };
        files.make_directory().unwrap();
        files.write_setup("{}").unwrap();
        fs::set_permissions(&dir, Permissions::from_mode(0o777)).unwrap();
        let found = [
            files.make_directory(),
            files.write_setup("one"),
            files.write_pid(),
            files.read_setup().map(drop),
            files.open_log().map(drop),
            files.listen().map(drop),
            files.connect().map(drop),
        ];
        files.remove();
        let left: Vec<_> = fs::read_dir(&dir).unwrap().flatten().map(|e| e.file_name()).collect();
        fs::remove_dir_all(&dir).unwrap();
        for refused in found {
            let refused = refused.unwrap_err();
            assert!(
                refused.kind() == ErrorKind::Denied && refused.to_string().contains("chmod go-w"),
                "{refused}"
            );
        }
        assert_eq!(left, ["vale0.json"]);
    }
}
