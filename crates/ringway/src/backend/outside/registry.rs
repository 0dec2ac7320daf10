//! Which backends this process has registered.

use std::sync::{Arc, PoisonError, RwLock};

use super::Backend;
use crate::error::{Error, ErrorKind, Result};

static ALL: RwLock<Vec<(String, Arc<dyn Backend>)>> = RwLock::new(Vec::new());

/// Notes a backend for good.
pub(crate) fn add(scheme: &str, backend: Arc<dyn Backend>) -> Result<()> {
    let good = (1..=15).contains(&scheme.len())
        && scheme.starts_with(|c: char| c.is_ascii_lowercase())
        && scheme.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c));
    if !good {
        return Err(Error::new(ErrorKind::BadName, scheme, "not a scheme of port names")
            .cure("a scheme has 1 to 15 small letters, digits, _ or -, and begins with a letter"));
    }
    let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
    if all.iter().any(|(other, _)| other == scheme) {
        return Err(Error::new(ErrorKind::Busy, scheme, "the scheme is registered already")
            .cure("register a backend once, or under another scheme"));
    }
    all.push((scheme.to_owned(), backend));
    Ok(())
}

/// The backend of a scheme.
pub(super) fn find(scheme: &str) -> Option<Arc<dyn Backend>> {
    let all = ALL.read().unwrap_or_else(PoisonError::into_inner);
    all.iter().find(|(name, _)| name == scheme).map(|(_, backend)| backend.clone())
}

/// All schemes, in the order in which they were registered.
pub(crate) fn schemes() -> Vec<String> {
    ALL.read().unwrap_or_else(PoisonError::into_inner).iter().map(|(scheme, _)| scheme.clone()).collect()
}
