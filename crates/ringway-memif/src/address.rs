//! Where a memif socket is: a path, or a name in the abstract space of the network namespace.

use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ringway_sys::private_dir::PrivateDir;
use ringway_sys::{Error, ErrorKind, Result};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen, socket_with,
};

use crate::channel::Access;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 16;

/// Longest path of a socket (`sun_path` of unix(7), with its zero byte).
const MOST: usize = 107;

/// The address of a socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A socket in a directory.
    Path(PathBuf),
    /// `@NAME`: no file, and no permissions.
    Abstract(String),
}

impl Address {
    /// Reads `PATH` or `@NAME`; `None` when it is empty or too long.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (is_name, rest) = text.strip_prefix('@').map_or((false, text), |name| (true, name));
        if rest.is_empty() || rest.len() > MOST || rest.contains('\0') {
            return None;
        }
        Some(if is_name { Self::Abstract(rest.into()) } else { Self::Path(rest.into()) })
    }

    fn of_abstract(name: &str) -> rustix::io::Result<SocketAddrUnix> {
        SocketAddrUnix::new_abstract_name(name.as_bytes())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Abstract(name) => write!(f, "@{name}"),
        }
    }
}

fn new_socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// Connects to a server; `None` while there is none. The caller looks at who it is.
///
/// # Errors
/// What the system says, but for a server that is missing or has no room.
pub fn connect_to(address: &Address) -> io::Result<Option<OwnedFd>> {
    let socket = new_socket()?;
    let to = match address {
        Address::Path(path) => SocketAddrUnix::new(path)?,
        Address::Abstract(name) => Address::of_abstract(name)?,
    };
    match connect(&socket, &to) {
        Ok(()) => Ok(Some(socket)),
        Err(Errno::NOENT | Errno::CONNREFUSED | Errno::AGAIN) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// A socket that accepts clients. Dropping it removes its file.
#[derive(Debug)]
pub struct Listening {
    socket: OwnedFd,
    _file: Option<SocketFile>,
}

/// The file of a socket, in a directory that only its user can change.
#[derive(Debug)]
struct SocketFile {
    dir: PrivateDir,
    leaf: String,
    inode: u64,
    /// Process that made it: a fork must not remove it.
    pid: u32,
}

impl Listening {
    /// Listens at the address. A socket that a killed process left is replaced.
    ///
    /// The file has mode 0600, or 0666 for [`Access::Any`].
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when a process listens there; [`ErrorKind::Denied`] when other users may write in the directory.
    pub fn at(address: &Address, access: Access, port: &str) -> Result<Self> {
        let failed = |what: &str, e: Errno| Error::io(port, format!("{what} failed"), e.into());
        let socket = new_socket().map_err(|e| failed("making a socket", e))?;
        let file = match address {
            Address::Abstract(name) => {
                let at = Address::of_abstract(name).map_err(|e| failed("naming the socket", e))?;
                bind(&socket, &at).map_err(|e| match e {
                    Errno::ADDRINUSE => busy(port),
                    e => failed("binding the socket", e),
                })?;
                listen(&socket, BACKLOG).map_err(|e| failed("listening", e))?;
                None
            }
            Address::Path(path) => Some(listen_in_directory(&socket, path, access, port)?),
        };
        Ok(Self { socket, _file: file })
    }

    /// The next connection; `None` when there is none now.
    #[must_use]
    pub fn accept(&self) -> Option<OwnedFd> {
        accept_with(&self.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK).ok()
    }
}

impl AsFd for Listening {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let own = |meta: fs::Metadata| meta.ino() == self.inode && meta.file_type().is_socket();
        if self.pid == std::process::id() && fs::symlink_metadata(self.path()).is_ok_and(own) {
            let _ = self.dir.remove(&self.leaf);
        }
    }
}

impl SocketFile {
    /// The file by the descriptor of its directory.
    fn path(&self) -> PathBuf {
        in_directory(&self.dir, &self.leaf)
    }
}

fn in_directory(dir: &PrivateDir, leaf: &str) -> PathBuf {
    PathBuf::from(format!("/proc/thread-self/fd/{}/{leaf}", dir.as_fd().as_raw_fd()))
}

fn busy(port: &str) -> Error {
    Error::new(ErrorKind::Busy, port, "another process listens at this socket")
        .cure("open all interfaces of a socket in one process, or name another socket")
}

fn listen_in_directory(socket: &OwnedFd, path: &Path, access: Access, port: &str) -> Result<SocketFile> {
    let leaf = path.file_name().and_then(|leaf| leaf.to_str()).ok_or_else(|| {
        Error::new(ErrorKind::BadName, port, "the path of the socket has no last part")
            .cure("name a file, e.g. /run/memif.sock")
    })?;
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let dir = PrivateDir::open(parent).map_err(|e| match e.kind() {
        ErrorKind::NotFound => e,
        _ => {
            e.cure("name a socket in a directory that this user alone may write in, or @NAME without a file")
        }
    })?;
    // One process at a time looks at a socket that is there already, and replaces it. It has the lock until it listens: a socket at which
    // nobody listens counts as left behind.
    flock(&dir, FlockOperation::LockExclusive)
        .map_err(|e| Error::io(port, "locking the directory failed", e.into()))?;
    let at = in_directory(&dir, leaf);
    let address =
        SocketAddrUnix::new(&at).map_err(|e| Error::io(port, "naming the socket failed", e.into()))?;
    // A socket's file gets the mode of the socket: it is never open to more users than it should be.
    let io = |what: &str, e: io::Error| Error::io(port, format!("{what} failed"), e);
    let closed = fs::File::from(socket.try_clone().map_err(|e| io("copying the socket", e))?);
    closed
        .set_permissions(Permissions::from_mode(0o600))
        .map_err(|e| io("closing the socket to others", e))?;
    let bound = match bind(socket, &address) {
        Err(Errno::ADDRINUSE) => {
            remove_dead(&dir, leaf, &at, port)?;
            bind(socket, &address)
        }
        bound => bound,
    };
    bound.map_err(|e| if e == Errno::ADDRINUSE { busy(port) } else { io("binding the socket", e.into()) })?;
    let inode = fs::symlink_metadata(&at).map_err(|e| io("looking at the socket", e))?.ino();
    let file = SocketFile { dir, leaf: leaf.into(), inode, pid: std::process::id() };
    if access == Access::Any {
        fs::set_permissions(&at, Permissions::from_mode(0o666))
            .map_err(|e| io("opening the socket to others", e))?;
    }
    listen(socket, BACKLOG).map_err(|e| io("listening", e.into()))?;
    let _ = flock(&file.dir, FlockOperation::Unlock);
    Ok(file)
}

/// Removes the socket of a process that was killed. Only the user of the directory can have made it.
fn remove_dead(dir: &PrivateDir, leaf: &str, at: &Path, port: &str) -> Result<()> {
    let is_socket = fs::symlink_metadata(at).is_ok_and(|meta| meta.file_type().is_socket());
    if !is_socket {
        let what = "there is a file that is no socket";
        return Err(Error::new(ErrorKind::Unfit, port, what).cure("remove it, or name another socket"));
    }
    let knock = || connect(&new_socket()?, &SocketAddrUnix::new(at)?);
    match knock() {
        Err(Errno::CONNREFUSED) => dir.remove(leaf),
        _ => Err(busy(port)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_lab::TemporaryFolder;

    fn folder() -> TemporaryFolder {
        TemporaryFolder::create(&std::env::temp_dir()).unwrap()
    }

    #[test]
    fn addresses_are_read_and_printed() {
        for text in ["/run/memif.sock", "@memif"] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        assert!(["", "@", &"x".repeat(108), "a\0b"].iter().all(|bad| Address::parse(bad).is_none()));
    }

    #[test]
    fn one_process_listens_and_leaves_nothing() {
        let folder = folder();
        let path = folder.path().join("m.sock");
        let address = Address::Path(path.clone());
        assert!(connect_to(&address).unwrap().is_none(), "nobody listens");
        let first = Listening::at(&address, Access::Own, "m").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(Listening::at(&address, Access::Own, "m").unwrap_err().kind(), ErrorKind::Busy);
        let client = connect_to(&address).unwrap();
        assert!(
            client.is_some() && first.accept().is_some() && first.accept().is_some(),
            "the second one looked"
        );
        assert!(first.accept().is_none());
        drop(first);
        assert!(!path.exists());
    }

    #[test]
    fn the_socket_of_a_killed_process_is_replaced() {
        let folder = folder();
        let path = folder.path().join("m.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let listening = Listening::at(&Address::Path(path.clone()), Access::Any, "m").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o666);
        drop(listening);
        fs::write(&path, "no socket").unwrap();
        let refused = Listening::at(&Address::Path(path.clone()), Access::Own, "m").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unfit);
        assert!(path.exists());
    }

    #[test]
    fn directories_in_which_others_write_are_refused() {
        let folder = folder();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let address = Address::Path(folder.path().join("m.sock"));
        assert_eq!(Listening::at(&address, Access::Own, "m").unwrap_err().kind(), ErrorKind::Denied);
    }

    #[test]
    fn names_without_a_file_serve_too() {
        let address = Address::Abstract(format!("ringway-memif-test-{}", std::process::id()));
        let listening = Listening::at(&address, Access::Own, "m").unwrap();
        assert!(connect_to(&address).unwrap().is_some() && listening.accept().is_some());
        assert_eq!(Listening::at(&address, Access::Own, "m").unwrap_err().kind(), ErrorKind::Busy);
    }
}
