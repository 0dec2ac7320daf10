//! What the library says where `errno` says too little.

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
        _ => libc::EIO,
    })
}
