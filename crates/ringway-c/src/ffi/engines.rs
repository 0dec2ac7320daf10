//! Engines: ports that any number of threads use.

use std::ffi::{c_char, c_int};
use std::time::Duration;

use ringway::Result;
use ringway_engine::Engine;

use super::{check, exclusive, give, invalid, several, shared, status, store, text};
use crate::engine::{self, BurstHandle};
use crate::types::{EngineCounts, EngineOptions};

#[unsafe(no_mangle)]
extern "C" fn rw_engine_open(
    names: *const *const c_char,
    n: usize,
    with: *const EngineOptions,
    place: *mut *mut Engine,
) -> c_int {
    status(|| {
        check(place, "the place for the engine")?;
        let names = several(names, n, "the array of names")?;
        let names: Vec<_> = names.iter().map(|&name| text(name, "a name")).collect::<Result<_>>()?;
        let none = EngineOptions::default();
        let options = if with.is_null() { &none } else { read(with)? };
        let cpus = several(options.io_cpus, options.io_cpu_count, "options.io_cpus")?;
        store(place, give(engine::open(&names, options, cpus)?));
        Ok(0)
    })
}

/// The options of a program, which may be of another version.
fn read<'a>(at: *const EngineOptions) -> Result<&'a EngineOptions> {
    // The size comes first in every version of the struct.
    let size = *shared(at.cast::<usize>(), "options")?;
    let known = size_of::<EngineOptions>();
    if size < known || size > 1 << 16 {
        let what = format!("options.size is {size}, and an options struct has {known} bytes");
        return Err(invalid(what, "begin with RW_ENGINE_OPTIONS_INIT"));
    }
    let bytes = several(at.cast::<u8>(), size, "options")?;
    let options = shared(at, "options")?;
    if bytes[known..].iter().chain(&options.reserved).any(|&byte| byte != 0) {
        let what = "an option is set that this version of the library does not know";
        return Err(invalid(what.into(), "install the version that the program was built with"));
    }
    Ok(options)
}

#[unsafe(no_mangle)]
extern "C" fn rw_engine_close(engine: *mut Engine) {
    super::free(engine);
}

#[unsafe(no_mangle)]
extern "C" fn rw_engine_receive(
    engine: *const Engine,
    burst: *mut *mut BurstHandle,
    timeout_ms: c_int,
) -> c_int {
    status(|| {
        let engine = shared(engine, "the engine")?;
        let count = burst_of(engine, burst)?.receive(engine, time(timeout_ms))?;
        Ok(count as c_int)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_engine_send(
    engine: *const Engine,
    burst: *mut *mut BurstHandle,
    timeout_ms: c_int,
) -> c_int {
    status(|| {
        let engine = shared(engine, "the engine")?;
        let sent = burst_of(engine, burst)?.send(engine, time(timeout_ms))?;
        Ok(sent.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_engine_make(engine: *const Engine, burst: *mut *mut BurstHandle, len: u32) -> c_int {
    status(|| {
        let engine = shared(engine, "the engine")?;
        let place = burst_of(engine, burst)?.make(len as usize)?;
        Ok(place.map_or(RW_NONE, |place| place as c_int))
    })
}

/// What `rw_engine_make` returns when there is no room: no error, and no place.
const RW_NONE: c_int = 64;

/// The thread's burst, which its first call makes.
fn burst_of<'a>(engine: &Engine, place: *mut *mut BurstHandle) -> Result<&'a mut BurstHandle> {
    let burst = *shared(place.cast_const(), "the place for the burst")?;
    if !burst.is_null() {
        return exclusive(burst, "the burst");
    }
    let made = give(BurstHandle::new(engine)?);
    store(place, made);
    exclusive(made, "the burst")
}

#[unsafe(no_mangle)]
extern "C" fn rw_burst_free(burst: *mut BurstHandle) {
    super::free(burst);
}

#[unsafe(no_mangle)]
extern "C" fn rw_engine_ended(engine: *const Engine) -> c_int {
    status(|| Ok(shared(engine, "the engine")?.has_ended().into()))
}

#[unsafe(no_mangle)]
extern "C" fn rw_engine_read_counts(engine: *const Engine, counts: *mut EngineCounts) -> c_int {
    status(|| {
        check(counts, "the place for the counters")?;
        store(counts, engine::counts(shared(engine, "the engine")?));
        Ok(0)
    })
}

fn time(timeout_ms: c_int) -> Duration {
    u64::try_from(timeout_ms).map_or(Duration::MAX, Duration::from_millis)
}
