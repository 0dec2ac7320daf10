//! Variables of the environment. A process that has more rights than its user believes none of them.

use std::ffi::OsString;

/// The value of a variable of the environment; `None` when it is not set, and in a process that is setuid,
/// setgid, or has capabilities by its file. Such a process would open files and load libraries, with its own
/// rights, that the user named.
///
/// All variables that Ringway reads for itself (`RINGWAY_...`, `XDG_RUNTIME_DIR`) go through here.
///
/// ```
/// assert!(ringway_sys::environment::environment("RINGWAY_NO_SUCH_VARIABLE").is_none());
/// assert!(ringway_sys::environment::environment("PATH").is_some());
/// ```
#[must_use]
pub fn environment(name: &str) -> Option<OsString> {
    believed(name, super::is_secure())
}

fn believed(name: &str, secure: bool) -> Option<OsString> {
    (!secure).then(|| std::env::var_os(name)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_more_rights_than_its_user_believes_nothing() {
        assert_eq!(believed("PATH", false), std::env::var_os("PATH"));
        assert!(believed("PATH", false).is_some());
        assert_eq!(believed("PATH", true), None);
    }
}
