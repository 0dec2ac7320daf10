//! Where a router's process keeps its things.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use ringway::{Error, ErrorKind, Result};

/// Paths of the process of one router, in `/run/ringway` or `$RINGWAY_DIR`.
///
/// ```
/// let files = ringway_router::follow::Files::of("vale0")?;
/// assert!(files.socket.ends_with("vale0.sock"));
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Files {
    /// Where it answers questions.
    pub socket: PathBuf,
    /// What it says.
    pub log: PathBuf,
    /// Its process id, in decimal.
    pub pid: PathBuf,
    /// How it was started, for whoever takes over.
    pub setup: PathBuf,
}

impl Files {
    /// Those of a router. Nothing is made.
    ///
    /// # Errors
    /// [`ErrorKind::BadName`] for what is no name of a router, and could lead elsewhere; [`ErrorKind::Denied`] for users that have no place
    /// for such files.
    pub fn of(name: &str) -> Result<Self> {
        ringway::vale::check_name(name)?;
        let dir = ringway::run_directory().ok_or_else(|| {
            Error::new(ErrorKind::Denied, name, "routers are made and asked by root").cure("run as root")
        })?;
        let file = |suffix| dir.join(format!("{name}.{suffix}"));
        Ok(Self { socket: file("sock"), log: file("log"), pid: file("pid"), setup: file("json") })
    }

    /// Makes the directory.
    ///
    /// # Errors
    /// What the system says.
    pub fn make_directory(&self) -> Result<()> {
        let Some(dir) = self.socket.parent() else { return Ok(()) };
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|e| Error::io(dir.display().to_string(), "making the directory failed", e))
    }

    /// Notes how the process was started: the file has all of the text or that of before, also when we are killed.
    ///
    /// # Errors
    /// What the system says.
    pub fn write_setup(&self, text: &str) -> Result<()> {
        let new = self.new_setup();
        let wrote = fs::write(&new, text).and_then(|()| fs::rename(&new, &self.setup));
        wrote.map_err(|e| {
            Error::io(self.setup.display().to_string(), "writing it failed", e).cure("run as root")
        })
    }

    /// Where it is written first.
    fn new_setup(&self) -> PathBuf {
        self.setup.with_extension("new")
    }

    /// Removes all but a log in which something is written.
    pub fn remove(&self) {
        for file in [&self.socket, &self.pid, &self.setup, &self.new_setup()] {
            let _ = fs::remove_file(file); // it may never have been made
        }
        if fs::metadata(&self.log).is_ok_and(|log| log.len() == 0) {
            let _ = fs::remove_file(&self.log); // in the worst case it stays
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["../vale0", "vale0/x", "", "eth0", "vale0.log", "vale-0123456789a"] {
            assert_eq!(Files::of(name).unwrap_err().kind(), ErrorKind::BadName, "{name}");
        }
    }

    #[test]
    fn how_a_process_was_started_is_written_whole_and_removed() {
        let dir = std::env::temp_dir().join(format!("ringway-files-{}", std::process::id()));
        let file = |suffix| dir.join(format!("vale0.{suffix}"));
        let files = Files { socket: file("sock"), log: file("log"), pid: file("pid"), setup: file("json") };
        files.make_directory().unwrap();
        files.write_setup("one").unwrap();
        let reader = fs::File::open(&files.setup).unwrap();
        files.write_setup("two").unwrap();
        assert_eq!(fs::read_to_string(&files.setup).unwrap(), "two");
        assert_eq!(std::io::read_to_string(reader).unwrap(), "one", "it was never cut short");
        fs::write(files.new_setup(), "th").unwrap(); // of one that was killed
        files.remove();
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
        fs::remove_dir(&dir).unwrap();
    }
}
