//! Memory of the program at an address that it gave, which may lead nowhere.

use std::io::IoSliceMut;

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

/// Copies bytes from an address; false when they can't be read.
pub(crate) fn read(from: u64, out: &mut [u8]) -> bool {
    let Ok(base) = usize::try_from(from) else { return false };
    let remote = [RemoteIoVec { base, len: out.len() }];
    let len = out.len();
    process_vm_readv(Pid::this(), &mut [IoSliceMut::new(out)], &remote) == Ok(len)
}
