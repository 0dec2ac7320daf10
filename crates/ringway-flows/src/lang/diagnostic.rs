//! Errors of a story file, shown with file, line, caret and advice.

use std::fmt;

use ariadne::{Cache, Color, Config, IndexType, Label, Report, ReportKind, sources};

use super::Span;

/// Most errors that are shown of one file: the rest often follows from the first ones.
const MOST: usize = 20;
/// Longest line that is shown, in bytes.
const MOST_SHOWN: usize = 1_000;

/// One error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where, and what is to be seen there. The first one is the place of the error.
    pub labels: Vec<(Span, String)>,
    /// What may cure it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub(crate) fn new(span: Span, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self { message: message.into(), labels: vec![(span, label.into())], help: None }
    }

    /// No error: it follows from one that is noted already.
    pub(crate) const fn silent() -> Self {
        Self { message: String::new(), labels: Vec::new(), help: None }
    }

    /// The same with another place that explains it.
    pub(crate) fn and(mut self, span: Span, label: impl Into<String>) -> Self {
        self.labels.push((span, label.into()));
        self
    }

    /// The same with advice.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// All errors of a compilation, with the texts that they point into.
///
/// `Display` writes them without colours. [`Diagnostics::coloured`] is for terminals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    /// Name and text of each file.
    pub(crate) files: Vec<(String, String)>,
    /// The errors, in the order in which they were found.
    pub list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// All errors for a terminal.
    #[must_use]
    pub fn coloured(&self) -> String {
        self.render(true)
    }

    /// All errors as text, at most 20.
    fn render(&self, colour: bool) -> String {
        let mut out = Vec::new();
        let mut cache = sources(self.files.iter().cloned());
        for diagnostic in self.list.iter().take(MOST) {
            self.render_one(diagnostic, &mut cache, colour, &mut out);
        }
        let mut text = String::from_utf8_lossy(&out).into_owned();
        if self.list.len() > MOST {
            text.push_str(&format!("{} more errors are not shown.\n", self.list.len() - MOST));
        }
        // The frame around the source ends some lines with spaces.
        text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// One error.
    fn render_one(
        &self,
        diagnostic: &Diagnostic,
        cache: &mut impl Cache<String>,
        colour: bool,
        out: &mut Vec<u8>,
    ) {
        let place = |span: Span| {
            let (name, text) = &self.files[usize::from(span.file)];
            let end = (span.end as usize).min(text.len());
            (name.clone(), (span.start as usize).min(end)..end)
        };
        let Some((first, _)) = diagnostic.labels.first() else { return };
        if diagnostic.labels.iter().any(|(span, _)| self.is_long(*span)) {
            return self.render_plain(diagnostic, out);
        }
        let config = Config::default().with_color(colour).with_index_type(IndexType::Byte);
        let mut report = Report::build(ReportKind::Error, place(*first)).with_config(config);
        report.set_message(&diagnostic.message);
        // In the order of the text: otherwise a file is shown once for each of them.
        let mut labels: Vec<_> = diagnostic.labels.iter().enumerate().collect();
        labels.sort_by_key(|(_, (span, _))| (span.file != first.file, span.file, span.start));
        for (i, (span, text)) in labels {
            let colour = if i == 0 { Color::Red } else { Color::Cyan };
            report.add_label(Label::new(place(*span)).with_message(text).with_color(colour));
        }
        if let Some(help) = &diagnostic.help {
            report.set_help(help);
        }
        // A writer into memory does not fail.
        let _ = report.finish().write(cache, out);
    }

    /// Whether a place stands on a line that is too long to be shown.
    fn is_long(&self, span: Span) -> bool {
        let text = self.files[usize::from(span.file)].1.as_bytes();
        let (start, end) = ((span.start as usize).min(text.len()), (span.end as usize).min(text.len()));
        let before = text[..start].iter().rev().take(MOST_SHOWN).take_while(|byte| **byte != b'\n').count();
        let behind = text[end..].iter().take(MOST_SHOWN).take_while(|byte| **byte != b'\n').count();
        let longest = text[start..end].split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap_or(0);
        before + longest + behind > MOST_SHOWN
    }

    /// One error without the text around it.
    fn render_plain(&self, diagnostic: &Diagnostic, out: &mut Vec<u8>) {
        let mut text = format!("Error: {}\n", diagnostic.message);
        for (span, label) in &diagnostic.labels {
            let (name, line, column) = self.place(*span);
            text.push_str(&format!("   {name}:{line}:{column}: {label}\n"));
        }
        if let Some(help) = &diagnostic.help {
            text.push_str(&format!("   Help: {help}\n"));
        }
        out.extend(text.into_bytes());
    }

    /// Name of the file, line and column in bytes, both from 1.
    fn place(&self, span: Span) -> (&str, usize, usize) {
        let (name, text) = &self.files[usize::from(span.file)];
        let before = &text.as_bytes()[..(span.start as usize).min(text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count();
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count();
        (name, line + 1, column + 1)
    }

    /// Name of the file, line and column in bytes, both from 1, of the first place of an error.
    #[must_use]
    pub fn position(&self, index: usize) -> Option<(&str, usize, usize)> {
        let (span, _) = self.list.get(index)?.labels.first()?;
        Some(self.place(*span))
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}
