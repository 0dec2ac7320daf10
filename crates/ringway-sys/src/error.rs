//! One error type: what failed, on which port, and the cure.

use std::{fmt, io};

/// Result of operations on regions and ports.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of failure this is, for programs that react to it. The text is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A port name does not follow the grammar of names.
    BadName,
    /// The named interface, file or pipe does not exist.
    NotFound,
    /// Somebody else holds what was asked for.
    Busy,
    /// The process lacks a privilege.
    Denied,
    /// The kernel or the driver lacks a feature.
    Unsupported,
    /// The interface went away while the port was open.
    Gone,
    /// The interface is down.
    LinkDown,
    /// A value that the caller gave is outside its documented bound, or does not go with the others.
    Invalid,
    /// What is there can't serve as it is: it is of another kind or version, full, or open to others.
    Unfit,
    /// A system call failed for another reason.
    Io,
}

/// A failure: `port: what: cause; cure`, printed on one line, also by `{:?}`: a `main` that returns it shows the cure.
///
/// ```
/// use ringway_sys::{Error, ErrorKind};
/// let e = Error::new(ErrorKind::NotFound, "eth7", "there is no such interface").cure("list them with `ip link`");
/// assert_eq!(e.to_string(), "eth7: there is no such interface; list them with `ip link`");
/// ```
pub struct Error(Box<Detail>);

struct Detail {
    kind: ErrorKind,
    on: String,
    what: String,
    cure: Option<String>,
    source: Option<io::Error>,
}

impl Error {
    /// A failure of `kind` on `on` (a port name, path or region), in lower case and without a full stop.
    pub fn new(kind: ErrorKind, on: impl Into<String>, what: impl Into<String>) -> Self {
        Self(Box::new(Detail { kind, on: on.into(), what: what.into(), cure: None, source: None }))
    }

    /// A system call that failed; the kind follows from the error number.
    pub fn io(on: impl Into<String>, what: impl Into<String>, source: io::Error) -> Self {
        let kind = match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => ErrorKind::Denied,
            Some(libc::ENODEV | libc::ENXIO) => ErrorKind::Gone,
            Some(libc::ENOENT) => ErrorKind::NotFound,
            Some(libc::EBUSY | libc::EEXIST) => ErrorKind::Busy,
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => ErrorKind::Unsupported,
            Some(libc::ENETDOWN) => ErrorKind::LinkDown,
            _ => ErrorKind::Io,
        };
        let mut e = Self::new(kind, on, what);
        e.0.source = Some(source);
        e
    }

    /// Adds the cure, an imperative the user can follow.
    #[must_use]
    pub fn cure(mut self, cure: impl Into<String>) -> Self {
        self.0.cure = Some(cure.into());
        self
    }

    /// Adds the cure where it is rights that lack: those of root mend nothing else.
    ///
    /// ```
    /// use ringway_sys::Error;
    /// let failed = |code| Error::io("vale0", "making it failed", std::io::Error::from_raw_os_error(code));
    /// let text = |code| failed(code).cure_if_denied("run as root").to_string();
    /// assert!(text(1).ends_with("; run as root"), "EPERM");
    /// assert!(!text(22).contains("root"), "EINVAL");
    /// ```
    #[must_use]
    pub fn cure_if_denied(self, cure: impl Into<String>) -> Self {
        if self.kind() == ErrorKind::Denied { self.cure(cure) } else { self }
    }

    /// Replaces the kind that [`Error::io`] derived.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// What failed and why, without on what and the cure.
    #[must_use]
    pub fn brief(&self) -> String {
        let d = &*self.0;
        d.source.as_ref().map_or_else(|| d.what.clone(), |s| format!("{}: {s}", d.what))
    }

    /// What the user can do, where something helps.
    ///
    /// ```
    /// let e = ringway_sys::Error::new(ringway_sys::ErrorKind::Busy, "ebpf:eth0", "a port is open there").cure("close it");
    /// assert_eq!(e.remedy(), Some("close it"));
    /// ```
    #[must_use]
    pub fn remedy(&self) -> Option<&str> {
        self.0.cure.as_deref()
    }

    /// The kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let d = &*self.0;
        write!(f, "{}: {}", d.on, d.what)?;
        if let Some(s) = &d.source {
            write!(f, ": {s}")?;
        }
        if let Some(c) = &d.cure {
            write!(f, "; {c}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|s| s as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_with_cause_and_cure() {
        let e = Error::io("ebpf:eth0", "attach refused", io::Error::from_raw_os_error(libc::EBUSY))
            .cure("detach the other program");
        assert_eq!(e.kind(), ErrorKind::Busy);
        let text = e.to_string();
        assert!(text.starts_with("ebpf:eth0: attach refused: "), "{text}");
        assert!(text.ends_with("; detach the other program"), "{text}");
        assert!(!text.contains('\n'));
        assert_eq!(format!("{e:?}"), text);
        assert_eq!(format!("{:?}", Box::<dyn std::error::Error>::from(e)), text, "as main prints it");
    }
}
