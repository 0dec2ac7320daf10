//! Requests from memory that may have anything at any address.

mod legacy;
mod program;
mod requests;

use crate::memory::Errno;

const EINVAL: Errno = Errno(libc::EINVAL);
const EFAULT: Errno = Errno(libc::EFAULT);
const EMSGSIZE: Errno = Errno(libc::EMSGSIZE);
const EOPNOTSUPP: Errno = Errno(libc::EOPNOTSUPP);
