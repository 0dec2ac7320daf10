//! Who may open a port of a switch.

use crate::sys::{effective_group, effective_user};

/// Who may open a port.
///
/// Whoever may read and write its files may send, receive and poll; the mode is that of a file: `0o660` for owner and group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortAccess {
    /// Owner; `None`: who made the port.
    pub uid: Option<u32>,
    /// Group; `None`: of who made the port.
    pub gid: Option<u32>,
    /// Permission bits; those to execute are of no meaning.
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

    /// User and group, those that are not named being the caller's.
    pub(super) fn owner(&self) -> (u32, u32) {
        (self.uid.unwrap_or_else(effective_user), self.gid.unwrap_or_else(effective_group))
    }

    /// Bits to read and write of a port's files.
    pub(super) fn file_mode(&self) -> u32 {
        self.mode & 0o666
    }

    /// Bits to read and search of a directory: for those who may read the port's files.
    pub(super) fn search_mode(&self) -> u32 {
        let readers = self.mode & 0o444;
        readers | readers >> 2
    }
}
