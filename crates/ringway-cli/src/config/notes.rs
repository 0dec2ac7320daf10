//! Notes of what is to be done, while two states are compared.

use super::keys::{Keys, beyond};
use super::plan::{Change, Line, Part, Step};

/// Notes of what is to be done with one switch or router.
#[derive(Debug)]
pub(super) struct Notes(Part);

impl Notes {
    pub(super) fn of(name: &str) -> Self {
        Self(Part { name: name.to_owned(), lines: Vec::new(), steps: Vec::new(), obstacle: None })
    }

    pub(super) fn add(&mut self, kind: &'static str, name: String, keys: Keys) {
        self.0.lines.push(Line { change: Change::Add, kind, name, was: Vec::new(), to: keys });
    }

    pub(super) fn alter(&mut self, kind: &'static str, name: String, was: Keys, to: Keys) {
        let (gone, new) = (beyond(was.clone(), &to), beyond(to, &was));
        self.0.lines.push(Line { change: Change::Alter, kind, name, was: gone, to: new });
    }

    /// `keys` say which one it is, where its name does not.
    pub(super) fn remove(&mut self, kind: &'static str, name: String, keys: Keys) {
        self.0.lines.push(Line { change: Change::Remove, kind, name, was: keys, to: Vec::new() });
    }

    pub(super) fn step(&mut self, step: Step) {
        self.0.steps.push(step);
    }

    /// The first obstacle is the one that is said.
    pub(super) fn obstacle(&mut self, why: String) {
        self.0.obstacle.get_or_insert(why);
    }

    pub(super) fn part(self) -> Part {
        self.0
    }
}
