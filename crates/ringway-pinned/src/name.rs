//! What switches and routers may be called.

use crate::plain::{is_router, is_switch};
use ringway_sys::error::{Error, ErrorKind, Result};

/// Checks that a switch may be called so: `vale` and up to 11 letters, digits, `_` or `-`.
///
/// # Errors
/// [`ErrorKind::BadName`].
///
/// ```
/// assert!(ringway_pinned::check_name("vale0").is_ok());
/// assert!(ringway_pinned::check_name("../vale0").is_err());
/// ```
pub fn check_name(name: &str) -> Result<()> {
    if is_switch(name) {
        return Ok(());
    }
    let cure = match name.split_once(':') {
        Some((switch, _)) if is_switch(switch) => format!("name the switch without a port: {switch}"),
        _ => "vale and up to 11 letters, digits, _ or -, e.g. vale0".to_owned(),
    };
    Err(Error::new(ErrorKind::BadName, name, "not the name of a switch").cure(cure))
}

/// Checks that a router may be called so: a letter, then letters, digits, `_` or `-`, 15 in all at most. `lock` is taken.
///
/// # Errors
/// [`ErrorKind::BadName`].
///
/// ```
/// assert!(ringway_pinned::check_router_name("r0").is_ok());
/// assert!(ringway_pinned::check_router_name("../r0").is_err());
/// ```
pub fn check_router_name(name: &str) -> Result<()> {
    match is_router(name) {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::BadName, name, "not the name of a router")
            .cure("a letter and up to 14 letters, digits, _ or -, e.g. r0; lock is taken")),
    }
}
