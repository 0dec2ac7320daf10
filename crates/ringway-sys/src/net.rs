//! What the kernel says about network interfaces, and private network namespaces.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::fd::check;

/// Index of the interface `name` in the current network namespace.
pub fn index(name: &str) -> io::Result<u32> {
    let c = CString::new(name)?;
    // SAFETY: a NUL-terminated name.
    match unsafe { libc::if_nametoindex(c.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        i => Ok(i),
    }
}

/// Name of the interface with this index in the current network namespace.
pub fn name(index: u32) -> io::Result<String> {
    let mut name = [0u8; libc::IF_NAMESIZE];
    // SAFETY: the buffer has the size that the call asks for and lives across it.
    if unsafe { libc::if_indextoname(index, name.as_mut_ptr().cast()) }.is_null() {
        return Err(io::Error::last_os_error());
    }
    let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}

/// Whether an interface of that name exists.
pub fn exists(name: &str) -> bool {
    index(name).is_ok()
}

/// Inode number that names the current thread's network namespace.
pub fn netns_inode() -> io::Result<u32> {
    Ok(std::fs::metadata("/proc/thread-self/ns/net")?.ino() as u32)
}

/// Moves the calling thread to another network namespace.
pub fn enter(netns: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: a descriptor that its owner keeps open; no memory is involved.
    check(unsafe { libc::setns(netns.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Runs `f` in a new network namespace of which only its loopback interface, index 1, exists. The namespace lives as
/// long as the returned descriptor, so it goes away with the process, however it ends.
pub fn in_private_netns<T: Send>(f: impl FnOnce() -> io::Result<T> + Send) -> io::Result<(OwnedFd, T)> {
    let run = || {
        // SAFETY: changes only this thread, which ends right after.
        check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
        let netns = File::open("/proc/thread-self/ns/net")?;
        Ok((netns.into(), f()?))
    };
    on_a_thread(run)
}

/// Runs `f` in another network namespace.
pub fn in_netns<T: Send>(netns: &File, f: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    on_a_thread(|| enter(netns).and_then(|()| f()))
}

/// Runs `run` on a thread of its own, so that what it changes of itself ends with it.
pub(super) fn on_a_thread<T: Send>(run: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|s| s.spawn(run).join())
        .unwrap_or_else(|_| Err(io::Error::other("helper thread panicked")))
}

/// The network namespace with this inode number, if it is the present one, that of a process, or mounted, as `ip netns add` does
/// in /run/netns. The kernel has no way to find one that only a descriptor keeps.
pub fn find_netns(inode: u32) -> Option<File> {
    let open = |path: &Path| {
        File::open(path).ok().filter(|f| f.metadata().is_ok_and(|m| m.ino() == u64::from(inode)))
    };
    let mounts = std::fs::read_to_string("/proc/thread-self/mountinfo").unwrap_or_default();
    let mut all = mounted_at(&mounts, inode);
    all.insert(0, "/proc/thread-self/ns/net".into());
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter(|e| e.file_name().as_bytes()[0].is_ascii_digit());
    all.iter()
        .find_map(|path| open(path))
        .or_else(|| processes.map(|e| e.path().join("ns/net")).find_map(|path| open(&path)))
}

/// Where the text of /proc/PID/mountinfo has a network namespace mounted.
fn mounted_at(mountinfo: &str, inode: u32) -> Vec<PathBuf> {
    let root = format!("net:[{inode}]");
    let fields = mountinfo.lines().map(|l| l.split(' ').collect::<Vec<_>>());
    fields.filter(|f| f.len() > 4 && f[3] == root).map(|f| f[4].into()).collect()
}

/// Asks about one interface, by index, in the namespace in which it was made.
#[derive(Debug)]
pub struct Interface {
    socket: OwnedFd,
    index: u32,
    netns: u32,
}

/// Opens the network namespace of a socket (linux/sockios.h).
const SIOCGSKNS: libc::Ioctl = 0x894c;

/// How long an interface may be without a name.
const RENAMED_MS: u32 = 200;

const ETHTOOL_GDRVINFO: u32 = 0x3;
const ETHTOOL_GTSO: u32 = 0x1e;

impl Interface {
    /// The interface with this index, in the network namespace of the thread.
    pub fn new(index: u32) -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
        // SAFETY: the call just made this descriptor.
        Ok(Self { socket: unsafe { OwnedFd::from_raw_fd(fd) }, index, netns: netns_inode()? })
    }

    /// A descriptor by which another process [asks](Self::inherit) about the interface, whatever its own namespace.
    pub fn share(&self) -> io::Result<OwnedFd> {
        self.socket.try_clone()
    }

    /// The interface with this index in the namespace of the socket, whose inode number is `netns`.
    pub fn inherit(socket: OwnedFd, index: u32, netns: u32) -> Self {
        Self { socket, index, netns }
    }

    /// Runs `f` in the interface's network namespace, wherever the calling thread is: an index means another
    /// interface, or none, in another namespace.
    pub fn inside<T>(&self, f: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if netns_inode()? == self.netns {
            return f();
        }
        let here = File::open("/proc/thread-self/ns/net")?;
        // SAFETY: no pointers are passed.
        let there = check(unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCGSKNS) })?;
        // SAFETY: the call just made this descriptor.
        enter(&unsafe { OwnedFd::from_raw_fd(there) })?;
        let result = f();
        enter(&here)?;
        result
    }

    fn request(&self) -> libc::ifreq {
        // SAFETY: ifreq is plain data; zero is a valid value for each field.
        unsafe { std::mem::zeroed() }
    }

    /// Asks `request` of the interface by its present name; ENODEV when it is gone. `fill` completes the question.
    fn ask(&self, request: libc::Ioctl, fill: impl Fn(&mut libc::ifreq)) -> io::Result<libc::ifreq> {
        let mut tries = 0;
        loop {
            let mut r = self.request();
            r.ifr_ifru.ifru_ifindex = self.index as i32;
            // SAFETY: `r` lives across the call, which fills in the name for the index.
            check(unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCGIFNAME, &mut r) })?;
            fill(&mut r);
            // SAFETY: `r` holds a name and lives across the call, as does what `fill` made it point to.
            match check(unsafe { libc::ioctl(self.socket.as_raw_fd(), request, &mut r) }) {
                Ok(_) => return Ok(r),
                // While it is renamed, an interface that has an index goes by no name at all.
                Err(e) if e.raw_os_error() == Some(libc::ENODEV) && tries < RENAMED_MS => {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// Whether the link is up and running.
    pub fn link_up(&self) -> io::Result<bool> {
        let r = self.ask(libc::SIOCGIFFLAGS, |_| ())?;
        // SAFETY: the call succeeded, so this is the field it wrote.
        let flags = i32::from(unsafe { r.ifr_ifru.ifru_flags });
        Ok(flags & libc::IFF_UP != 0 && flags & libc::IFF_RUNNING != 0)
    }

    /// Has the interface take frames to all addresses, or its own only; whether that changed anything.
    pub fn set_promiscuous(&self, on: bool) -> io::Result<bool> {
        let r = self.ask(libc::SIOCGIFFLAGS, |_| ())?;
        // SAFETY: the call succeeded, so this is the field it wrote.
        let flags = unsafe { r.ifr_ifru.ifru_flags };
        let bit = libc::IFF_PROMISC as libc::c_short;
        let wanted = if on { flags | bit } else { flags & !bit };
        if wanted != flags {
            self.ask(libc::SIOCSIFFLAGS, |r| r.ifr_ifru.ifru_flags = wanted)?;
        }
        Ok(wanted != flags)
    }

    /// Largest payload of a frame.
    pub fn mtu(&self) -> io::Result<u32> {
        let r = self.ask(libc::SIOCGIFMTU, |_| ())?;
        // SAFETY: the call succeeded, so this is the field it wrote.
        Ok(unsafe { r.ifr_ifru.ifru_mtu } as u32)
    }

    /// Sets that.
    pub fn set_mtu(&self, mtu: u32) -> io::Result<()> {
        self.ask(libc::SIOCSIFMTU, |r| r.ifr_ifru.ifru_mtu = mtu as i32).map(drop)
    }

    /// Brings the interface up.
    pub fn set_up(&self) -> io::Result<()> {
        let r = self.ask(libc::SIOCGIFFLAGS, |_| ())?;
        // SAFETY: the call succeeded, so this is the field it wrote.
        let flags = unsafe { r.ifr_ifru.ifru_flags } | libc::IFF_UP as libc::c_short;
        self.ask(libc::SIOCSIFFLAGS, |r| r.ifr_ifru.ifru_flags = flags).map(drop)
    }

    /// Kind of link (`ARPHRD_` of linux/if_arp.h).
    pub fn link_type(&self) -> io::Result<u16> {
        let r = self.ask(libc::SIOCGIFHWADDR, |_| ())?;
        // SAFETY: the call succeeded, so this is the field it wrote.
        Ok(unsafe { r.ifr_ifru.ifru_hwaddr }.sa_family)
    }

    /// An ethtool request whose first word is its number.
    fn ethtool<const N: usize>(&self, cmd: u32) -> io::Result<[u32; N]> {
        let mut words = [0u32; N];
        words[0] = cmd;
        self.request_words(&mut words)?;
        Ok(words)
    }

    /// An ethtool request in place of which the answer is put.
    pub(super) fn request_words(&self, words: &mut [u32]) -> io::Result<()> {
        let data = words.as_mut_ptr();
        // The answer to the request is as large as `words` (callers), which outlive the call.
        self.ask(libc::SIOCETHTOOL, |r| r.ifr_ifru.ifru_data = data.cast()).map(drop)
    }

    /// Name of the driver, empty when it does not tell.
    pub fn driver(&self) -> String {
        // struct ethtool_drvinfo: 196 bytes, the name after the first word.
        let Ok(words) = self.ethtool::<49>(ETHTOOL_GDRVINFO) else { return String::new() };
        let bytes: Vec<u8> =
            words[1..9].iter().flat_map(|w| w.to_ne_bytes()).take_while(|&b| b != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Receive and transmit queues in use; one each when the driver does not tell.
    pub fn queues(&self) -> (u32, u32) {
        let Some(([rx, tx, both], _)) = self.channels() else { return (1, 1) };
        ((rx + both).max(1), (tx + both).max(1))
    }

    /// Whether TCP segmentation is left to the interface.
    pub fn tso(&self) -> bool {
        self.ethtool::<2>(ETHTOOL_GTSO).is_ok_and(|w| w[1] != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounted_namespaces_are_found_by_inode() {
        let text = "24 1 0:4 net:[4026532001] /run/netns/a rw shared:3 - nsfs nsfs rw\n\
                    25 1 0:4 net:[402653200] /run/netns/b rw - nsfs nsfs rw\n26 1 8:1 / / rw - ext4 /dev/sda rw\n";
        assert_eq!(mounted_at(text, 4_026_532_001), [Path::new("/run/netns/a")]);
        assert!(mounted_at(text, 40_265_320).is_empty());
    }
}
