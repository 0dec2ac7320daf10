//! `struct rw_options`, which may grow.

use ringway::{OpenOptions, Result};

use super::{check, invalid, several, shared, text_or_none};
use crate::port;
use crate::types::Options;

/// The options that a program passes; NULL stands for the defaults. Of a newer program's, what this library does not know must be 0.
pub(super) fn read(at: *const Options) -> Result<OpenOptions> {
    if at.is_null() {
        return Ok(OpenOptions::new());
    }
    check(at, "options")?;
    // The size comes first in every version of the struct.
    let size = *shared(at.cast::<usize>(), "options")?;
    let known = size_of::<Options>();
    if size < known || size > 1 << 16 {
        let what = format!("options.size is {size}, and an options struct has {known} bytes");
        return Err(invalid(what, "begin with RW_OPTIONS_INIT"));
    }
    let bytes = several(at.cast::<u8>(), size, "options")?;
    let options = shared(at, "options")?;
    if bytes[known..].iter().chain(&options.reserved).any(|&byte| byte != 0) {
        let what = "an option is set that this version of the library does not know";
        return Err(invalid(what.into(), "install the version that the program was built with"));
    }
    if options.gso > 1 {
        return Err(invalid(format!("options.gso is {}", options.gso), "pass one of enum rw_gso"));
    }
    let take = text_or_none(options.take, "options.take")?;
    let region =
        if options.region.is_null() { None } else { Some(shared(options.region, "options.region")?) };
    port::options(options, take, region)
}
