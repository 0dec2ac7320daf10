//! Where the objects of a switch are pinned.
//!
//! ```text
//! <root>/vale0/               locked while ports come and go
//!     info                    shape and generation; everybody may read it
//!     ports fdb regions states bells       root alone
//!     port/p1/                owner and mode of the port; locked by the process that has it open
//!         region state send bell0...
//!     nics devs all_devs out/ and more in the directories of ports, when NICs are members: nic.rs
//! ```
//!
//! The root is `/sys/fs/bpf/ringway`, or what `RINGWAY_BPFFS` says. A name that starts with `~` is being made or removed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::sys::bpffs;

/// The directory of all switches.
pub(crate) fn root() -> PathBuf {
    std::env::var_os("RINGWAY_BPFFS").map_or_else(|| "/sys/fs/bpf/ringway".into(), PathBuf::from)
}

/// The directory of a switch.
pub(crate) fn switch(name: &str) -> PathBuf {
    root().join(name)
}

/// The directory of a port.
pub(crate) fn port(switch_dir: &Path, port: &str) -> PathBuf {
    switch_dir.join("port").join(port)
}

/// The program that sends what waits for the NIC with this port number.
pub(crate) fn out(switch_dir: &Path, number: u32) -> PathBuf {
    outs(switch_dir).join(number.to_string())
}

/// The directory of those programs.
pub(crate) fn outs(switch_dir: &Path) -> PathBuf {
    switch_dir.join("out")
}

/// Makes the directory of all switches, mounting the BPF file system if it is not.
pub(crate) fn make_root() -> Result<PathBuf> {
    let root = root();
    let on = || root.display().to_string();
    if !root.is_dir() {
        let above = root.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(above).map_err(|e| Error::io(on(), "making the directory above failed", e))?;
        if !bpffs::is_bpffs(above).unwrap_or(false) {
            bpffs::mount(above).map_err(|e| {
                Error::io(on(), format!("mounting the BPF file system at {} failed", above.display()), e)
                    .cure("run as root, or name a mounted one with RINGWAY_BPFFS")
            })?;
        }
        fs::create_dir(&root)
            .map_err(|e| Error::io(on(), "making the directory failed", e).cure("run as root"))?;
    }
    match bpffs::is_bpffs(&root) {
        Ok(true) => Ok(root),
        Ok(false) => Err(Error::new(ErrorKind::Invalid, on(), "it is not in a BPF file system")
            .cure("mount one with `mount -t bpf bpf DIR`, or name another directory with RINGWAY_BPFFS")),
        Err(e) => Err(Error::io(on(), "looking at the file system failed", e)),
    }
}

/// Names of switches: `vale`, then letters, digits, `_` and `-`; 15 characters at most.
pub(crate) fn is_switch(name: &str) -> bool {
    name.starts_with("vale") && name.len() <= 15 && is_plain(name)
}

/// Names of ports: 1 to 31 letters, digits, `_` and `-`.
pub(crate) fn is_port(name: &str) -> bool {
    (1..=31).contains(&name.len()) && is_plain(name)
}

fn is_plain(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Names of the switches that exist.
pub(crate) fn switches() -> Vec<String> {
    let entries = fs::read_dir(root()).map(|d| d.flatten().collect()).unwrap_or_else(|_| Vec::new());
    let names = entries.into_iter().filter_map(|e| e.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|n| is_switch(n)).collect();
    names.sort();
    names
}
