//! Profiles and groups in files.

use std::fs;
use std::path::{Path, PathBuf};

use ringway_model::group::{Groups, names, shipped};
use ringway_model::profile::Profile;

use crate::errors;
use crate::failure::Failure;

/// Which functions make up a group.
#[derive(Debug, clap::Args)]
pub(super) struct GroupsArg {
    /// Groups of functions: linux, router, switch, ports, flows, or a file of your own; default: what the profile was recorded for
    #[arg(long, value_name = "NAME|FILE")]
    groups: Option<String>,
}

impl GroupsArg {
    /// The groups that were asked for, or what a profile was recorded for.
    pub(super) fn of(&self, profile: &Profile) -> Result<Groups, Failure> {
        let name = self.groups.as_deref().or(profile.about.groups.as_deref()).unwrap_or("linux");
        groups(name)
    }
}

/// Groups that ship, by their name, or a file.
pub(super) fn groups(name: &str) -> Result<Groups, Failure> {
    let wrong = |what: &dyn std::fmt::Display| {
        let all: Vec<_> = names().collect();
        Failure::Usage(
            errors::command::BAD_VALUE,
            format!("groups {name}: {what}; accepted: {}, or a file of rules", all.join(", ")),
        )
    };
    match shipped(name) {
        Some(groups) => groups.map_err(|e| wrong(&e)),
        None => Groups::parse(&fs::read_to_string(name).map_err(|e| wrong(&e))?).map_err(|e| wrong(&e)),
    }
}

/// Reads a profile.
pub(super) fn profile(path: &Path) -> Result<Profile, Failure> {
    let failed =
        |code, what: &dyn std::fmt::Display| Failure::Other(code, format!("{}: {what}", path.display()));
    let bytes = fs::read(path).map_err(|e| failed(errors::files::UNREADABLE, &e))?;
    Profile::read(&bytes).map_err(|e| failed(errors::files::WRONG_CONTENT, &e))
}

/// Writes what was made to its file.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text)
        .map_err(|e| Failure::Other(errors::files::UNWRITABLE, format!("{}: {e}", path.display())))
}

/// The option for a page.
#[derive(Debug, clap::Args)]
pub(super) struct Page {
    /// Write a page with the results, which asks nobody for anything
    #[arg(long, value_name = "FILE")]
    pub(super) page: Option<PathBuf>,
}
