//! What an entry of the index of errors has, and how a file of the index is written.

use std::fmt;

/// A kind of error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code {
    pub(crate) number: u16,
    /// What went wrong, as a heading.
    pub(crate) title: &'static str,
    /// Why it goes wrong.
    pub(crate) cause: &'static str,
    /// What the user can do.
    pub(crate) cure: &'static str,
}

/// `E0102`.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "E{:04}", self.number)
    }
}

/// The kinds of a part of the command, as constants, and all of them as a list.
macro_rules! errors {
    ($($name:ident = $number:literal: $title:literal, $cause:literal, $cure:literal;)*) => {
        $(pub(crate) const $name: Code =
            Code { number: $number, title: $title, cause: $cause, cure: $cure };)*
        pub(super) const ALL: &[Code] = &[$($name),*];
    };
}
pub(super) use errors;
