//! What a suite leaves behind: nothing.

use std::process;

use ringway::switch::switches;
use ringway_lab::labs;
use ringway_lab::program::children;

/// No switch, namespace or process of this one is left.
pub(crate) fn nothing_is_left() {
    let us = process::id().to_string();
    assert!(!switches().iter().any(|name| name.contains(&us)), "{:?}", switches());
    assert!(!labs().iter().any(|name| name.contains(&us)), "{:?}", labs());
    assert_eq!(children(process::id()), [] as [(u32, String); 0]);
}
