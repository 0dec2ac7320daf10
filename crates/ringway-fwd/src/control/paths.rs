//! What routes share: each path once, however many routes have it, as the kernel does.

use std::collections::HashMap;
use std::sync::Arc;

use super::attributes::hash;
use super::event::Path;

/// Number of a path.
pub(super) type PathId = u32;

#[derive(Debug, Default)]
pub(super) struct Paths {
    numbers: HashMap<Arc<Path>, PathId>,
    held: Vec<Held>,
    free: Vec<PathId>,
}

#[derive(Debug)]
struct Held {
    path: Arc<Path>,
    hash: u64,
    /// Routes that have it; 0 for a free number.
    uses: u32,
}

impl Paths {
    /// The number of a path, which one more route has now.
    pub(super) fn take(&mut self, path: Path) -> PathId {
        let id = match self.numbers.get(&path) {
            Some(&id) => id,
            None => self.add(path),
        };
        self.held[id as usize].uses += 1;
        id
    }

    /// One more route has it.
    pub(super) fn keep(&mut self, id: PathId) {
        self.held[id as usize].uses += 1;
    }

    /// One route less has it.
    pub(super) fn give(&mut self, id: PathId) {
        let held = &mut self.held[id as usize];
        held.uses -= 1;
        if held.uses == 0 {
            self.numbers.remove(&held.path);
            self.free.push(id);
        }
    }

    /// The number of a path that some route has.
    pub(super) fn find(&self, path: &Path) -> Option<PathId> {
        self.numbers.get(path).copied()
    }

    pub(super) fn get(&self, id: PathId) -> &Arc<Path> {
        &self.held[id as usize].path
    }

    /// The same in all states for equal paths.
    pub(super) fn hash(&self, id: PathId) -> u64 {
        self.held[id as usize].hash
    }

    /// All paths that some route has.
    pub(super) fn all(&self) -> impl Iterator<Item = (PathId, &Path)> {
        let used = |(id, held): (PathId, _)| {
            let held: &Held = held;
            (held.uses > 0).then_some((id, &*held.path))
        };
        (0..).zip(&self.held).filter_map(used)
    }

    fn add(&mut self, path: Path) -> PathId {
        let path = Arc::new(path);
        let held = Held { hash: hash(&path), path: path.clone(), uses: 0 };
        let id = match self.free.pop() {
            Some(id) => {
                self.held[id as usize] = held;
                id
            }
            None => {
                self.held.push(held);
                (self.held.len() - 1) as PathId
            }
        };
        self.numbers.insert(path, id);
        id
    }
}
