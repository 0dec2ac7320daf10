//! Failures as runtimes read them: a number, and words.

use ringway::ErrorKind;
use serde_json::{Value, json};

/// The numbers of the specification. From 100 on they are the plugin's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    Version = 1,
    Unsupported = 2,
    NoContainer = 3,
    Environment = 4,
    Io = 5,
    Decode = 6,
    Config = 7,
    TryAgain = 11,
    NotAvailable = 50,
    /// The kernel or the switch refused.
    Refused = 100,
    /// Something that ADD made is missing, or was changed.
    Changed = 101,
}

/// A failure of the plugin, or of the one that it asked for addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Error {
    pub(super) code: u64,
    pub(super) message: String,
    pub(super) details: String,
}

pub(super) type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code: code as u64, message: message.into(), details: String::new() }
    }

    /// The object for standard output.
    pub(super) fn object(&self, version: &str) -> Value {
        json!({ "cniVersion": version, "code": self.code, "msg": self.message, "details": self.details })
    }
}

impl From<ringway::Error> for Error {
    fn from(e: ringway::Error) -> Self {
        let code = match e.kind() {
            // A busy machine takes its time to bring a link up.
            ErrorKind::LinkDown => Code::TryAgain,
            ErrorKind::BadName | ErrorKind::Invalid => Code::Config,
            _ => Code::Refused,
        };
        Self::new(code, e.to_string())
    }
}
