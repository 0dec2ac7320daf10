//! Who may open a port of a switch.

use ringway_sys::capability::{Cap, need};
use ringway_sys::error::Result;
use ringway_sys::{effective_group, effective_user};

/// Who may open a port.
///
/// A user who may read and write the port's files may send, receive and poll. The mode is a file's: `0o660` for owner and group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortAccess {
    /// Owner; `None`: the user who made the port.
    pub uid: Option<u32>,
    /// Group; `None`: of the user who made the port.
    pub gid: Option<u32>,
    /// Permission bits; the bits to execute mean nothing.
    pub mode: u32,
}

impl Default for PortAccess {
    fn default() -> Self {
        Self { uid: None, gid: None, mode: 0o600 }
    }
}

impl PortAccess {
    /// For root alone.
    pub(super) fn of_root() -> Self {
        Self { uid: Some(0), gid: Some(0), mode: 0o600 }
    }

    /// User and group; the caller's where none is named.
    pub(super) fn owner(&self) -> (u32, u32) {
        (self.uid.unwrap_or_else(effective_user), self.gid.unwrap_or_else(effective_group))
    }

    /// Bits to read and write of a port's files.
    pub(super) fn file_mode(&self) -> u32 {
        self.mode & 0o666
    }

    /// Bits to read and search a directory, for users who may read the port's files.
    pub(super) fn search_mode(&self) -> u32 {
        let readers = self.mode & 0o444;
        readers | readers >> 2
    }

    /// Whether the files of the port are another user's or group's than the process'.
    pub(super) fn is_of_others(&self) -> bool {
        self.owner() != (effective_user(), effective_group())
    }

    /// Fails where the process may not give the port's files away.
    pub(super) fn need_to_give(&self, on: &str) -> Result<()> {
        if self.is_of_others() {
            need(&[Cap::Bpf, Cap::Chown], "giving a port to others", on)
        } else {
            Ok(())
        }
    }
}
