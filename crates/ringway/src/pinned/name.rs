//! What switches and routers may be called.

use crate::error::{Error, ErrorKind, Result};
use crate::port::name::is_switch;

/// Checks that a switch or a router may be called so: `vale` and up to 11 letters, digits, `_` or `-`.
///
/// # Errors
/// [`ErrorKind::BadName`].
///
/// ```
/// assert!(ringway::pinned::check_name("vale0").is_ok());
/// assert!(ringway::pinned::check_name("../vale0").is_err());
/// ```
pub fn check_name(name: &str) -> Result<()> {
    if is_switch(name) {
        return Ok(());
    }
    let cure = match name.split_once(':') {
        Some((switch, _)) if is_switch(switch) => format!("name the switch without a port: {switch}"),
        _ => "vale and up to 11 letters, digits, _ or -, e.g. vale0".to_owned(),
    };
    Err(Error::new(ErrorKind::BadName, name, "not the name of a switch or router").cure(cure))
}
