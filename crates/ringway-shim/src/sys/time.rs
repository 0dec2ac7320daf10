//! Times as programs give them.

use std::ffi::c_int;
use std::time::Duration;

use libc::{timespec, timeval};

/// A time that the kernel refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadTime;

/// A time in milliseconds; negative for none.
#[must_use]
pub fn of_ms(ms: c_int) -> Option<Duration> {
    u64::try_from(ms).ok().map(Duration::from_millis)
}

/// A time of the program, null for none.
///
/// # Errors
/// Where the kernel refuses it.
///
/// # Safety
/// `t` must be null or valid.
pub unsafe fn of_timespec(t: *const timespec) -> Result<Option<Duration>, BadTime> {
    // SAFETY: by the contract.
    let Some(t) = (unsafe { t.as_ref() }) else { return Ok(None) };
    let nanos = u32::try_from(t.tv_nsec).ok().filter(|n| *n < 1_000_000_000).ok_or(BadTime)?;
    Ok(Some(Duration::new(u64::try_from(t.tv_sec).map_err(|_| BadTime)?, nanos)))
}

/// A time for the kernel.
#[must_use]
pub fn to_timespec(d: Duration) -> timespec {
    timespec { tv_sec: d.as_secs() as _, tv_nsec: d.subsec_nanos().into() }
}

/// As [`of_timespec`]; microseconds may be more than a second.
///
/// # Errors
/// Where the kernel refuses it.
///
/// # Safety
/// `t` must be null or valid.
pub unsafe fn of_timeval(t: *const timeval) -> Result<Option<Duration>, BadTime> {
    // SAFETY: by the contract.
    let Some(t) = (unsafe { t.as_ref() }) else { return Ok(None) };
    let (s, us) =
        (u64::try_from(t.tv_sec).map_err(|_| BadTime)?, u64::try_from(t.tv_usec).map_err(|_| BadTime)?);
    Ok(Duration::from_secs(s).checked_add(Duration::from_micros(us)))
}
