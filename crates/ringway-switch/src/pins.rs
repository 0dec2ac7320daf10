//! Where the objects of a switch are pinned, in its folder (module `pinned`).
//!
//! ```text
//! <root>/vale0/
//!     lock/                   root alone; locked while ports come and go
//!     passing/                root alone; there is one as long as the switch is to go away with its last port
//!     info                    shape and generation; everybody may read it
//!     ports fdb vlans regions states bells       root alone
//!     send                    root alone; the program of all ports, unless a user's module decides
//!     module/object map/...   a user's module: its file, and the maps that it declares
//!     port/p1/                root's, as all directories but `use`
//!         region send look bell0...              owner and mode of the port
//!         nics/4 ...          programs that send what waits for the NIC with port number 4; owner and mode of the port
//!         use/                owner of the port; locked by the process that has it open
//!     nics devs all_devs out/ and more in the directories of ports, when NICs are members: nic/mod.rs
//! ```
//!
//! Only root writes to these directories, so root put there what lies under a name. The one exception is `use`: its owner
//! may fill it, and nobody looks at what lies in it. Ringway locks and removes it, nothing else.

use std::path::{Path, PathBuf};

/// The directories of all ports of a switch.
pub(super) fn ports(switch_dir: &Path) -> PathBuf {
    switch_dir.join("port")
}

/// The directory that says by its presence that the switch is to go away with its last port.
pub(super) fn passing(switch_dir: &Path) -> PathBuf {
    switch_dir.join("passing")
}

/// The directory of a port.
#[must_use]
pub fn port(switch_dir: &Path, port: &str) -> PathBuf {
    ports(switch_dir).join(port)
}

/// What the process that has a port open locks: a directory in that of the port.
#[must_use]
pub fn in_use(port_dir: &Path) -> PathBuf {
    port_dir.join("use")
}

/// The program that takes what users send: of a port in its directory, of all in that of the switch.
#[must_use]
pub fn send(dir: &Path) -> PathBuf {
    dir.join("send")
}

/// The directory of the programs that a port runs to have NICs send, as `outs` has them for root.
#[must_use]
pub fn nics(port_dir: &Path) -> PathBuf {
    port_dir.join("nics")
}

/// The file of the program that sends what waits for the NIC with this port number. For the host's side of an interface, with
/// its index: the file of the program that brings frames into the stack.
pub(crate) fn out_name(number: u32, host: Option<u32>) -> String {
    host.map_or_else(|| number.to_string(), |index| format!("{number}^{index}"))
}

/// Port and, of a host's side, interface of a program by its file.
#[must_use]
pub fn parse_out(name: &str) -> Option<(u32, Option<u32>)> {
    match name.split_once('^') {
        Some((number, index)) => Some((number.parse().ok()?, Some(index.parse().ok()?))),
        None => Some((name.parse().ok()?, None)),
    }
}

/// The directory of those programs, for root alone.
pub(crate) fn outs(switch_dir: &Path) -> PathBuf {
    switch_dir.join("out")
}
