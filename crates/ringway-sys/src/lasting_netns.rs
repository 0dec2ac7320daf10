//! Network namespaces by names that last: names of `ip netns`, and other files that only the process' user can replace.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

use crate::error::{Error, ErrorKind, Result};
use crate::fd::check;
use crate::net;
use crate::netns::NAMED;
use crate::private_dir::PrivateDir;

/// Asks a file of nsfs for the kind of its namespace (linux/nsfs.h).
const NS_GET_NSTYPE: libc::Ioctl = 0xb703;

/// A network namespace that a file names, held open: it stays the same one when the file is replaced.
///
/// [`enter_netns`](crate::netns::enter_netns) also takes the number of a process, which does not last. This follows no link to the
/// namespace, and refuses a file that other users could replace.
///
/// ```no_run
/// let web = ringway_sys::lasting_netns::LastingNetns::open("web")?;
/// assert!(web.run(|| Ok(ringway_sys::net::exists("lo")))?);
/// # Ok::<(), ringway_sys::Error>(())
/// ```
#[derive(Debug)]
pub struct LastingNetns {
    file: File,
    inode: u32,
    /// What errors are on.
    on: String,
}

impl LastingNetns {
    /// Refuses what is neither a name of `ip netns` nor the absolute path of a file that may last.
    ///
    /// # Errors
    /// [`ErrorKind::BadName`].
    pub fn check_name(name: &str) -> Result<()> {
        let refuse = |what: &str, cure: &str| {
            Err(Error::new(ErrorKind::BadName, format!("network namespace {name:?}"), what).cure(cure))
        };
        let cure = "take a name of `ip netns`, or an absolute path without `..`";
        if !name.contains('/') {
            let is_name = !matches!(name, "" | "." | "..") && !name.contains(char::is_control);
            return if is_name { Ok(()) } else { refuse("it is no name", cure) };
        }
        let mut parts = Path::new(name).components();
        let is_path = parts.next() == Some(Component::RootDir)
            && parts.clone().all(|part| matches!(part, Component::Normal(_)))
            && !name.contains(char::is_control)
            && !name.ends_with('/');
        match parts.next() {
            Some(Component::Normal(top)) if is_path && top == "proc" => refuse(
                "a process does not last",
                "`ip netns attach NAME PID` gives its network namespace a name; take that one",
            ),
            Some(_) if is_path => Ok(()),
            _ => refuse("it is no path of a file that lasts", cure),
        }
    }

    /// Opens one by its name.
    ///
    /// # Errors
    /// [`ErrorKind::BadName`] as [`check_name`](Self::check_name); [`ErrorKind::NotFound`] when there is none; [`ErrorKind::Denied`] for a
    /// link, and where others could replace the file; [`ErrorKind::Unfit`] when the file is something else.
    pub fn open(name: &str) -> Result<Self> {
        Self::check_name(name)?;
        let on = format!("network namespace {name}");
        let (folder, entry) = name.rsplit_once('/').unwrap_or((NAMED, name));
        let folder = if folder.is_empty() { "/" } else { folder };
        let opened = PrivateDir::open(folder).and_then(|dir| dir.read_file(entry));
        let file = opened.map_err(|e| match e.kind() {
            ErrorKind::NotFound => {
                Error::new(ErrorKind::NotFound, &on, "there is none").cure(cure_of_absence(name))
            }
            _ => e.cure("take a file that is no link, in a folder that root alone changes"),
        })?;
        // SAFETY: a descriptor that `file` keeps open; no memory is involved.
        let kind = check(unsafe { libc::ioctl(file.as_raw_fd(), NS_GET_NSTYPE) });
        if !kind.is_ok_and(|kind| kind == libc::CLONE_NEWNET) {
            let what = "the file stands for no network namespace in this mount namespace";
            return Err(Error::new(ErrorKind::Unfit, &on, what)
                .cure("name the file of one; run this where `ip netns add` was run"));
        }
        let is = file.metadata().map_err(|e| Error::io(&on, "looking at it failed", e))?;
        Ok(Self { file, inode: is.ino() as u32, on })
    }

    /// The number by which the kernel knows it: all namespaces are files of one file system.
    #[must_use]
    pub fn inode(&self) -> u32 {
        self.inode
    }

    /// Runs `job` there, on a thread of its own.
    ///
    /// # Errors
    /// What the system says; the job's own.
    pub fn run<T: Send>(&self, job: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        net::in_netns(&self.file, || Ok(job()))
            .map_err(|e| Error::io(&self.on, "entering it failed", e).cure_if_denied("run as root"))?
    }

    /// The names of `ip netns` that can be opened, in their order, each with the number of its namespace.
    #[must_use]
    pub fn names() -> Vec<(String, u32)> {
        let mut names = PrivateDir::open(NAMED).map(|dir| dir.names()).unwrap_or_default();
        names.sort();
        let known = |name: String| Self::open(&name).map(|is| (name, is.inode)).ok();
        names.into_iter().filter_map(known).collect()
    }
}

fn cure_of_absence(name: &str) -> String {
    match name.contains('/') {
        true => "start what makes it, or name another one".to_owned(),
        false => format!(
            "`ip netns add {name}` makes one, `ip netns attach {name} PID` gives the name to that of a process"
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn names_that_do_not_last_are_refused() {
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "../a",
            "/run/../x",
            "/",
            "/a/",
            "a\nb",
            "/run//netns/./a/..",
            "/proc/1/ns/net",
        ] {
            let e = LastingNetns::open(bad).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::BadName, "{bad}: {e}");
        }
        let e = LastingNetns::open("/proc/1/ns/net").unwrap_err().to_string();
        assert!(e.contains("`ip netns attach NAME PID`"), "{e}");
        for good in ["web", "4711", "a b", "/run/docker/netns/x", "/process/x"] {
            assert_eq!(LastingNetns::check_name(good).map_err(|e| e.to_string()), Ok(()), "{good}");
        }
        let e = LastingNetns::open("no-such-namespace").unwrap_err();
        assert!(e.kind() == ErrorKind::NotFound && e.to_string().contains("`ip netns add no-such"), "{e}");
    }

    #[test]
    fn a_namespace_is_entered_and_other_files_are_not() {
        if !crate::is_root() {
            eprintln!("SKIP: network namespaces need root; run these tests with sudo");
            return;
        }
        let lab = ringway_lab::Lab::new().unwrap();
        lab.veth("far0", "far1").unwrap();
        let named = LastingNetns::open(lab.name()).unwrap();
        let path = LastingNetns::open(&format!("{NAMED}/{}", lab.name())).unwrap();
        assert_eq!(named.inode(), path.inode());
        assert!(LastingNetns::names().contains(&(lab.name().to_owned(), named.inode())));
        let here = net::netns_inode().unwrap();
        assert_eq!(
            named.run(|| Ok((net::exists("far0"), net::netns_inode().unwrap()))).unwrap(),
            (true, named.inode())
        );
        assert!(!net::exists("far0") && net::netns_inode().unwrap() == here);

        let folder = ringway_lab::TemporaryFolder::create(&std::env::temp_dir()).unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink(PathBuf::from(NAMED).join(lab.name()), at("link")).unwrap();
        std::fs::write(at("file"), "").unwrap();
        let refused =
            |name: &str| LastingNetns::open(at(name).to_str().unwrap()).map(drop).map_err(|e| e.kind());
        assert_eq!(
            [refused("link"), refused("file"), refused("none")],
            [Err(ErrorKind::Denied), Err(ErrorKind::Unfit), Err(ErrorKind::NotFound)]
        );
        // In a folder of another user, that user could put any namespace.
        std::os::unix::fs::chown(folder.path(), Some(65534), None).unwrap();
        assert_eq!(refused("file"), Err(ErrorKind::Denied));
    }
}
