//! The folder of configuration files. Root does what they say, so nobody else may change them.

use std::io::Read;
use std::path::{Path, PathBuf};

use ringway::ErrorKind;
use ringway::dirs::PrivateDir;

use crate::errors;
use crate::failure::Failure;

/// A longer file is no configuration.
const MOST: u64 = 16 << 20;

/// A file that was read.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl File {
    /// What is wrong with the text at this byte, with the file and the line.
    pub(super) fn wrong(&self, at: usize, what: impl std::fmt::Display) -> Failure {
        Failure::Other(
            errors::files::WRONG_CONTENT,
            format!("{}: {}", self.place(at), on_one_line(&what.to_string())),
        )
    }

    /// `FILE:LINE`.
    pub(super) fn place(&self, at: usize) -> String {
        let before = self.text.get(..at).unwrap_or(&self.text);
        format!("{}:{}", self.path.display(), before.matches('\n').count() + 1)
    }
}

/// The text with marks for line breaks and the like, which names in a file may have.
fn on_one_line(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// The files of the folder whose names end in `.toml`, in the order of their names.
pub(super) fn read(folder: &Path) -> Result<Vec<File>, Failure> {
    let dir = PrivateDir::open(folder).map_err(|e| match e.kind() {
        ErrorKind::NotFound => e.cure("make the folder, or name another one with --config"),
        _ => e,
    })?;
    let mut names = dir.names();
    names.retain(|name| name.ends_with(".toml"));
    names.sort();
    if names.is_empty() {
        let at = folder.display();
        let what = format!("{at}: no file in it ends in .toml; `ringway export > {at}/all.toml` writes one");
        return Err(Failure::Other(errors::files::EMPTY, what));
    }
    names.iter().map(|name| one(&dir, name)).collect()
}

fn one(dir: &PrivateDir, name: &str) -> Result<File, Failure> {
    let path = dir.path().join(name);
    let failed =
        |what: &str| Failure::Other(errors::files::UNREADABLE, format!("{}: {what}", path.display()));
    let mut text = String::new();
    let read = dir.read_file(name)?.take(MOST + 1).read_to_string(&mut text);
    read.map_err(|e| failed(&format!("reading it failed: {e}; it has to be a text in UTF-8")))?;
    if text.len() as u64 > MOST {
        return Err(failed("it is longer than 16 MiB; split it"));
    }
    Ok(File { path, text })
}
