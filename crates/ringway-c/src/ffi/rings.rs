//! Rings: called once for many frames.

use std::ffi::c_int;
use std::time::Duration;

use ringway::{Result, Waiter};

use super::{check, exclusive, give, invalid, several, shared, status, store};
use crate::ring::{self, Ring};

#[unsafe(no_mangle)]
extern "C" fn rw_sync(at: *mut Ring) -> c_int {
    status(|| Ok(exclusive(at, "the ring")?.sync()? as c_int))
}

#[unsafe(no_mangle)]
extern "C" fn rw_arm(at: *mut Ring) -> c_int {
    status(|| Ok(exclusive(at, "the ring")?.arm()?.into()))
}

#[unsafe(no_mangle)]
extern "C" fn rw_ring_fd(at: *const Ring) -> c_int {
    status(|| Ok(shared(at, "the ring")?.fd()))
}

#[unsafe(no_mangle)]
extern "C" fn rw_forward(rx: *mut Ring, tx: *mut Ring, max: u32) -> c_int {
    status(|| {
        if std::ptr::eq(rx, tx) {
            return Err(invalid("both rings are one".into(), "pass rw_rx() first, then rw_tx()"));
        }
        let moved = ring::forward(exclusive(rx, "the rx ring")?, exclusive(tx, "the tx ring")?, max)?;
        Ok(moved as c_int)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_drain(tx: *mut Ring, timeout_ms: c_int) -> c_int {
    status(|| Ok(ring::drain(exclusive(tx, "the ring")?, timeout(timeout_ms))? as c_int))
}

#[unsafe(no_mangle)]
extern "C" fn rw_wait(rings: *const *mut Ring, n: usize, timeout_ms: c_int) -> c_int {
    status(|| Ok(ring::wait(&mut all(rings, n)?, None, timeout(timeout_ms))?.into()))
}

#[unsafe(no_mangle)]
extern "C" fn rw_waiter_new(spin_us: u32, waiter: *mut *mut Waiter) -> c_int {
    status(|| {
        check(waiter, "the place for the waiter")?;
        store(waiter, give(Waiter::new(Duration::from_micros(spin_us.into()))?));
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_waiter_wait(
    waiter: *mut Waiter,
    rings: *const *mut Ring,
    n: usize,
    timeout_ms: c_int,
) -> c_int {
    status(|| {
        let waiter = exclusive(waiter, "the waiter")?;
        Ok(ring::wait(&mut all(rings, n)?, Some(waiter), timeout(timeout_ms))?.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_waiter_free(waiter: *mut Waiter) {
    super::free(waiter);
}

/// The rings to wait for, each of which is named once.
fn all<'a>(rings: *const *mut Ring, n: usize) -> Result<Vec<&'a mut Ring>> {
    let rings = several(rings, n, "the array of rings")?;
    let mut sorted = rings.to_vec();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| std::ptr::eq(pair[0], pair[1])) {
        return Err(invalid("a ring is named twice".into(), "pass each ring once"));
    }
    rings.iter().map(|&ring| exclusive(ring, "a ring")).collect()
}

/// A negative time has no limit that anybody would see.
fn timeout(ms: c_int) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(i32::MAX as u64))
}
