//! Network namespaces: opened by the names that files have for them, and named for what exists.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use ringway::{Error, LastingNetns};

use super::plan::Part;
use super::state::{Netns, Wanted};
use crate::errors;
use crate::failure::Failure;

/// The namespaces that files name, held open: members are added in the very one that was looked at. A router's process opens its own by the
/// same name, which root alone can give to another one.
#[derive(Debug)]
pub(super) struct Namespaces {
    /// Number of the namespace in which the command runs.
    here: u32,
    of_files: BTreeMap<String, Result<LastingNetns, Error>>,
    /// Names of `ip netns`, with numbers.
    named: Vec<(String, u32)>,
}

impl Namespaces {
    /// Opens the namespaces that files want. One that can't be opened stands in the way of its switch or router alone.
    pub(super) fn open(wanted: &Wanted) -> Result<Self, Failure> {
        let own = "/proc/thread-self/ns/net";
        let here = std::fs::metadata(own).map_err(|e| {
            Failure::Other(errors::command::SYSTEM, format!("looking at {own} failed: {e}; mount /proc"))
        })?;
        let open = |name: &String| (name.clone(), LastingNetns::open(name));
        let of_files = wanted.netns_at.values().flatten().map(|(name, _)| open(name)).collect();
        Ok(Self { here: here.ino() as u32, of_files, named: LastingNetns::names() })
    }

    /// The words for a namespace: the name that the file has, where the file means it.
    pub(super) fn words(&self, inode: u32, of_file: Option<&Netns>) -> Netns {
        if let Some(Netns::Named(name)) = of_file
            && self.get(name).is_ok_and(|is| is.inode() == inode)
        {
            return Netns::Named(name.clone());
        }
        if inode == self.here {
            return Netns::Here;
        }
        let found = self.named.iter().find(|(_, is)| *is == inode);
        found.map_or(Netns::Nameless, |(name, _)| Netns::Named(name.clone()))
    }

    /// One that a file names.
    pub(super) fn get(&self, name: &str) -> Result<&LastingNetns, Failure> {
        let refused = |why: String| Failure::Other(errors::switches::OBSTACLE, why);
        match self.of_files.get(name) {
            Some(opened) => opened.as_ref().map_err(|e| refused(e.to_string())),
            None => Err(refused(format!("network namespace {name}: no file names it; name it in one"))),
        }
    }

    /// Keeps all that needs a namespace which can't be opened from being done by halves.
    pub(super) fn stop(&self, wanted: &Wanted, parts: &mut [Part]) {
        for part in parts {
            let all = wanted.netns_at.get(&part.name).into_iter().flatten();
            let absent = all.filter_map(|(name, place)| Some(format!("{place}: {}", self.get(name).err()?)));
            part.obstacle = absent.min().or_else(|| part.obstacle.take());
        }
    }
}
