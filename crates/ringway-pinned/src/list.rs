//! The switches and routers that exist.

use std::fs;

use super::root::{check_root, root};
use crate::plain::{is_router as is_router_name, is_switch};

/// The file that tells a router from a switch.
const ROUTER: &str = "router";

/// Whether there is a router of that name.
#[must_use]
pub fn is_router(name: &str) -> bool {
    is_router_name(name) && root().join(name).join(ROUTER).exists()
}

/// Names of the switches that exist.
pub fn switches() -> Vec<String> {
    names(|name| is_switch(name) && !is_router(name))
}

/// Names of the routers that exist (crate `ringway-router`).
///
/// ```
/// assert!(ringway_pinned::routers().iter().all(|name| ringway_pinned::is_router(name)));
/// ```
#[must_use]
pub fn routers() -> Vec<String> {
    names(is_router)
}

fn names(wanted: impl Fn(&str) -> bool) -> Vec<String> {
    if check_root().is_err() {
        return Vec::new(); // a process that asks for one of them learns why
    }
    let entries = fs::read_dir(root()).map(|d| d.flatten().collect()).unwrap_or_else(|_| Vec::new());
    let names = entries.into_iter().filter_map(|e| e.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|n| wanted(n)).collect();
    names.sort();
    names
}
