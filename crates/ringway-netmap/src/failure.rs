//! What the library says where `errno` says too little.

use std::error::Error as _;
use std::io;

use ringway_sys::error::{Error, ErrorKind};

use crate::memory::Errno;

/// The `errno` of an error of Ringway, which goes to stderr with its cure.
pub(crate) fn told(e: &Error) -> Errno {
    let text = e.to_string();
    eprintln!("ringway: netmap: {}", text.strip_prefix("netmap: ").unwrap_or(&text));
    quiet(e)
}

/// The same without a word.
pub(crate) fn quiet(e: &Error) -> Errno {
    Errno(match e.kind() {
        ErrorKind::NotFound | ErrorKind::Gone | ErrorKind::LinkDown => libc::ENXIO,
        ErrorKind::Denied => libc::EPERM,
        ErrorKind::Busy => libc::EBUSY,
        ErrorKind::Invalid | ErrorKind::BadName => libc::EINVAL,
        ErrorKind::Unsupported => libc::EOPNOTSUPP,
        _ => of_kernel(e).unwrap_or(libc::EIO),
    })
}

/// That something ran out, as the kernel or [`out_of_memory`] said.
fn of_kernel(e: &Error) -> Option<i32> {
    let code = e.source()?.downcast_ref::<io::Error>()?.raw_os_error()?;
    [libc::ENOMEM, libc::EMFILE, libc::ENFILE, libc::ENOSPC].contains(&code).then_some(code)
}

/// A region has no room: the program gets `ENOMEM`.
pub(crate) fn out_of_memory(on: &str, what: String) -> Error {
    Error::io(on, what, io::Error::from_raw_os_error(libc::ENOMEM))
        .cure("close other ports, or set RINGWAY_NETMAP_MEMORY (MiB) before the first program starts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_out_is_told() {
        assert_eq!(quiet(&out_of_memory("eth0", "no room".into())), Errno(libc::ENOMEM));
        let other = Error::io("eth0", "it broke", io::Error::from_raw_os_error(libc::EPIPE));
        assert_eq!(quiet(&other), Errno(libc::EIO));
        assert_eq!(quiet(&Error::new(ErrorKind::Busy, "eth0", "in use")), Errno(libc::EBUSY));
    }
}
