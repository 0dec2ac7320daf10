//! Switches and routers of our own, for one measurement.
//!
//! Their names hold prefix, process id and number, which no name that a person would choose does. So what
//! killed processes left is known, and deleted when the next one is made.

pub(crate) mod router;
pub(crate) mod switch;

use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// A name of this process: `PREFIXPPPPPPP-N`.
pub(crate) fn name(prefix: &str) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed) % 36; // only has to differ from those that live
    format!("{prefix}{:07}-{}", process::id(), char::from_digit(number, 36).unwrap_or('0'))
}

/// Whether a name is that of a process that is gone.
fn is_orphan(name: &str, prefix: &str) -> bool {
    owner(name, prefix).is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists())
}

/// The process id in a name.
fn owner(name: &str, prefix: &str) -> Option<u32> {
    let (pid, number) = name.strip_prefix(prefix)?.split_once('-')?;
    if pid.len() != 7 || number.len() != 1 {
        return None;
    }
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_read_from_names() {
        assert_eq!(owner("vale_b0000017-a", "vale_b"), Some(17));
        for other in ["vale_b17-a", "vale_b0000017-ab", "vale_bxxxxxxx-a", "vale0", "vale_b0000017"] {
            assert_eq!(owner(other, "vale_b"), None, "{other}");
        }
        assert_eq!(owner(&name("vale_r"), "vale_r"), Some(process::id()));
        assert!(!is_orphan(&name("vale_r"), "vale_r") && is_orphan("vale_r4194305-z", "vale_r"));
    }
}
