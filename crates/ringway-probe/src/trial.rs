//! How a trial of a driver went: what it says of itself is a hint. A trial changes nothing that stays, but a driver may
//! reset the queue or the whole device for it.

use std::io;

/// How a trial went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trial {
    /// It was not tried, or could not be, for want of rights or because the place is taken.
    #[default]
    Untried,
    /// It works.
    Works,
    /// The driver refused.
    #[non_exhaustive]
    Refused {
        /// The number of the error (errno(3)).
        error: i32,
        /// What the driver said, or what the number means.
        why: String,
    },
}

impl Trial {
    pub(super) fn of(tried: io::Result<()>, words: impl FnOnce() -> Option<String>) -> Self {
        match tried {
            Ok(()) => Self::Works,
            Err(e) => match e.raw_os_error() {
                None | Some(libc::EPERM | libc::EACCES | libc::EBUSY | libc::EEXIST | libc::ENETDOWN) => {
                    Self::Untried
                }
                Some(error) => Self::Refused { error, why: words().unwrap_or_else(|| e.to_string()) },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_from_what_could_not_be_tried() {
        let of = |code| Trial::of(Err(io::Error::from_raw_os_error(code)), || Some("MTU too large".into()));
        for code in [libc::EPERM, libc::EBUSY, libc::EEXIST, libc::ENETDOWN] {
            assert_eq!(of(code), Trial::Untried);
        }
        let why = "MTU too large".to_owned();
        assert_eq!(of(libc::EINVAL), Trial::Refused { error: libc::EINVAL, why });
        assert_eq!(Trial::of(Ok(()), || None), Trial::Works);
    }
}
