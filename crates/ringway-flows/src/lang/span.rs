//! Places in texts.

/// A stretch of one of the texts of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub struct Span {
    /// Number of the text.
    pub file: u16,
    /// First byte.
    pub start: u32,
    /// The byte behind the last one.
    pub end: u32,
}

impl Span {
    /// The stretch from the start of this one to the end of another one in the same text.
    #[must_use]
    pub fn to(self, end: Self) -> Self {
        Self { end: end.end.max(self.end), ..self }
    }
}

/// Something with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The thing.
    pub node: T,
    /// Where it stands.
    pub span: Span,
}

/// A name with its place.
pub type Ident = Spanned<String>;
