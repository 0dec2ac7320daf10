//! What the process may do: capabilities, resource limits.

use std::io;

use super::fd::check;

/// `_LINUX_CAPABILITY_VERSION_3` of linux/capability.h: two words of 32 capabilities.
const VERSION: u32 = 0x2008_0522;

/// The effective capabilities, bit `n` for number `n` (capget(2)).
pub fn capabilities() -> io::Result<u64> {
    // struct __user_cap_header_struct: version and thread, 0 for the calling one.
    let mut header = [VERSION, 0];
    // struct __user_cap_data_struct, twice: effective, permitted, inheritable.
    let mut data = [0u32; 6];
    // SAFETY: both arrays have the size that the version asks for and live across the call.
    let ret = unsafe { libc::syscall(libc::SYS_capget, header.as_mut_ptr(), data.as_mut_ptr()) };
    check(ret as i32)?;
    Ok(u64::from(data[0]) | u64::from(data[3]) << 32)
}

/// Limits of the process; `None` is no limit.
pub fn locked_memory() -> Option<u64> {
    limit(libc::RLIMIT_MEMLOCK)
}

/// The same for open descriptors.
pub fn open_files() -> Option<u64> {
    limit(libc::RLIMIT_NOFILE)
}

fn limit(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut l = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `l` lives across the call.
    let known = unsafe { libc::getrlimit(resource, &mut l) } == 0;
    (known && l.rlim_cur != libc::RLIM_INFINITY).then_some(l.rlim_cur)
}
