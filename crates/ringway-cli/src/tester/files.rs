//! Files that a report is written to.

use std::fs;
use std::path::Path;

use super::options::SharedArgs;
use crate::errors;
use crate::failure::Failure;

/// Ports by name, and what serves them.
pub(crate) type Served = Vec<(String, String)>;

/// Files that a report is written to.
pub(crate) struct Files<'a> {
    save: Option<&'a Path>,
    page: Option<&'a Path>,
    csv: Option<&'a Path>,
}

impl<'a> Files<'a> {
    /// The files that the options name.
    pub(crate) fn of(args: &'a SharedArgs) -> Self {
        Self { save: args.save.as_deref(), page: args.page.as_deref(), csv: args.csv.as_deref() }
    }

    /// Writes all files that were asked for, also when one of them can't be written.
    pub(crate) fn write<N: AsRef<Path>>(
        &self,
        json: &str,
        page: impl FnOnce() -> String,
        csv: impl FnOnce() -> Vec<(N, String)>,
    ) -> Result<(), Failure> {
        let mut failed = Vec::new();
        let mut put = |path: &Path, text: &str| {
            failed.extend(fs::write(path, text).err().map(|e| format!("{}: {e}", path.display())));
        };
        if let Some(path) = self.save {
            put(path, json);
        }
        if let Some(path) = self.page {
            put(path, &page());
        }
        if let Some(directory) = self.csv {
            // Where that fails, so does each file.
            let _ = fs::create_dir_all(directory);
            for (name, text) in csv() {
                put(&directory.join(name).with_extension("csv"), &text);
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        Err(Failure::Other(
            errors::files::UNWRITABLE,
            format!("{}; the report on standard output has the results", failed.join("; ")),
        ))
    }
}
