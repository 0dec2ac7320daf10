//! Switches, as requests change and list them.

use crate::memory::Errno;

pub(crate) fn attach(_name: &[u8], _body: &mut [u8]) -> Result<(), Errno> {
    Err(Errno(libc::EOPNOTSUPP))
}

pub(crate) fn detach(_name: &[u8], _body: &mut [u8]) -> Result<(), Errno> {
    Err(Errno(libc::EOPNOTSUPP))
}

pub(crate) fn list(_name: &[u8], _body: &mut [u8]) -> Result<(), Errno> {
    Err(Errno(libc::EOPNOTSUPP))
}

pub(crate) fn new_port(_name: &[u8], _body: &mut [u8]) -> Result<(), Errno> {
    Err(Errno(libc::EOPNOTSUPP))
}

pub(crate) fn delete_port(_name: &[u8]) -> Result<(), Errno> {
    Err(Errno(libc::EOPNOTSUPP))
}
