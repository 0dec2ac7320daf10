//! One finding.

use std::borrow::Cow;

/// What to do about a failure that nobody thought of.
const UNEXPECTED: &str = "report this, with what `ringway doctor --json` prints";

/// How a finding turned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// It works.
    Ok,
    /// It works, but costs or limits something.
    Warn,
    /// It is not there, or not for this process.
    Missing,
    /// It could not be tried.
    Unknown,
}

impl Status {
    /// `ok`, `warn`, `missing` or `unknown`.
    ///
    /// ```
    /// assert_eq!(ringway_probe::Status::Missing.name(), "missing");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Missing => "missing",
            Self::Unknown => "unknown",
        }
    }
}

/// One thing that was looked at: plain data.
///
/// ```
/// use ringway_probe::{Check, Status};
/// let check = Check::new("memfd", "anonymous shared memory").missing("refused", "use Linux 3.17 or later");
/// assert_eq!(check.status, Status::Missing);
/// assert_eq!(check.to_string(), "anonymous shared memory: refused");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// Stable name, for programs; see the [table](crate).
    pub id: &'static str,
    /// What was looked at, for people.
    pub what: &'static str,
    /// How it turned out.
    pub status: Status,
    /// What was found, or why it is not there. May be empty when all is well.
    pub detail: Cow<'static, str>,
    /// What the user can do, an imperative. Each finding that is not [`Status::Ok`] has one.
    pub cure: Option<Cow<'static, str>>,
}

impl Check {
    /// A finding that is well so far.
    #[must_use]
    pub fn new(id: &'static str, what: &'static str) -> Self {
        Self { id, what, status: Status::Ok, detail: Cow::Borrowed(""), cure: None }
    }

    /// All is well.
    #[must_use]
    pub fn ok(self, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { status: Status::Ok, detail: detail.into(), cure: None, ..self }
    }

    /// It works with a drawback.
    #[must_use]
    pub fn warn(self, detail: impl Into<Cow<'static, str>>, cure: impl Into<Cow<'static, str>>) -> Self {
        self.bad(Status::Warn, detail, cure)
    }

    /// It is not there.
    #[must_use]
    pub fn missing(self, detail: impl Into<Cow<'static, str>>, cure: impl Into<Cow<'static, str>>) -> Self {
        self.bad(Status::Missing, detail, cure)
    }

    /// It could not be tried.
    #[must_use]
    pub fn unknown(self, detail: impl Into<Cow<'static, str>>, cure: impl Into<Cow<'static, str>>) -> Self {
        self.bad(Status::Unknown, detail, cure)
    }

    /// All is well, or it is not there for the reason of this error.
    ///
    /// ```
    /// use ringway_probe::{Check, Status};
    /// let error = ringway_sys::Error::new(ringway_sys::ErrorKind::Io, "vale0", "no memory").cure("free some");
    /// let check = Check::new("switch", "switch").judge(Err(error));
    /// assert_eq!((check.status, check.detail.as_ref(), check.cure.as_deref()), (Status::Missing, "no memory", Some("free some")));
    /// ```
    #[must_use]
    pub fn judge(self, tried: ringway_sys::Result<()>) -> Self {
        match tried {
            Ok(()) => self.ok(""),
            Err(e) => self.missing(e.brief(), e.remedy().unwrap_or(UNEXPECTED).to_owned()),
        }
    }

    fn bad(
        self,
        status: Status,
        detail: impl Into<Cow<'static, str>>,
        cure: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { status, detail: detail.into(), cure: Some(cure.into()), ..self }
    }
}

impl std::fmt::Display for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.detail.as_ref() {
            "" => f.write_str(self.what),
            detail => write!(f, "{}: {detail}", self.what),
        }
    }
}
