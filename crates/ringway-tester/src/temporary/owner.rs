//! Names that tell their owner: prefix, process id and number.

use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// A name of this process: `PREFIXPPPPPPP-N`.
pub fn name(prefix: &str) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed) % 36; // only has to differ from those that live
    format!("{prefix}{:07}-{}", process::id(), char::from_digit(number, 36).unwrap_or('0'))
}

/// Whether there is no such process.
pub(super) fn is_gone(pid: u32) -> bool {
    !Path::new("/proc").join(pid.to_string()).exists()
}

/// The process id in a name.
pub(super) fn owner(name: &str, prefix: &str) -> Option<u32> {
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
        assert!(!is_gone(process::id()) && is_gone(4_194_305)); // above the largest process id
    }
}
