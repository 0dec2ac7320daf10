//! What is compiled, and with which options.

/// Reads a file that a story names. The error says why it cannot be read.
pub type Read<'a> = dyn Fn(&str) -> Result<Vec<u8>, String> + 'a;

/// The text of a story, and how to read the files that it names.
pub struct Source<'a> {
    /// Its name in errors. Files that it names are looked for in the folder of this name.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
    /// Reads other files. It gets the name, behind the folder of the file that has it.
    pub read: &'a Read<'a>,
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Values for `define` and for parameters: `size`, or `web.page` for a parameter of one flow.
    pub defines: Vec<(String, String)>,
    /// Why pools may lie outside the ranges that are set aside for laboratories. Empty: they may not.
    pub lab: String,
}

/// A name as the file beside which it stands means it.
pub(super) fn beside(file: &str, name: &str) -> String {
    match file.rsplit_once('/') {
        Some((folder, _)) if !name.starts_with('/') => format!("{folder}/{name}"),
        _ => name.to_owned(),
    }
}
