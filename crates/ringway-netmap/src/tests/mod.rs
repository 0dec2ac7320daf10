//! Requests from memory that may have anything at any address.

mod counted;
mod legacy;
mod program;
mod requests;
pub(crate) mod rings;

use crate::memory::Errno;

const EINVAL: Errno = Errno(libc::EINVAL);
const EFAULT: Errno = Errno(libc::EFAULT);
const EMSGSIZE: Errno = Errno(libc::EMSGSIZE);
const EOPNOTSUPP: Errno = Errno(libc::EOPNOTSUPP);
