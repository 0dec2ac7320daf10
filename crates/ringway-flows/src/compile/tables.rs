//! The tables of a bundle while it is made: equal things are kept once.

use std::collections::HashMap;
use std::hash::Hash;

use crate::code::{Bundle, Dist, Format, Parser, Piece, Raw, Template};

/// Most bytes of all templates.
const MAX_DATA: usize = 64 << 20;

/// A table in which equal things have one index.
#[derive(Debug)]
struct Unique<T>(HashMap<T, u32>);

impl<T: Eq + Hash + Clone> Unique<T> {
    fn index(&mut self, item: T, list: &mut Vec<T>) -> u32 {
        *self.0.entry(item).or_insert_with_key(|key| {
            list.push(key.clone());
            list.len() as u32 - 1
        })
    }
}

impl<T> Default for Unique<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

/// The bundle that is being made.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) bundle: Bundle,
    names: Unique<String>,
    texts: HashMap<Vec<u8>, u32>,
    constants: Unique<u64>,
    parsers: Unique<Parser>,
    dists: Unique<Dist>,
    formats: HashMap<Vec<Piece>, u32>,
}

impl Tables {
    /// The index of a name.
    pub(super) fn name(&mut self, name: &str) -> u32 {
        self.names.index(name.to_owned(), &mut self.bundle.names)
    }

    /// The index of a constant.
    pub(super) fn constant(&mut self, value: u64) -> u32 {
        self.constants.index(value, &mut self.bundle.constants)
    }

    /// The index of a parser.
    pub(super) fn parser(&mut self, parser: Parser) -> u32 {
        self.parsers.index(parser, &mut self.bundle.parsers)
    }

    /// The index of a template with these bytes. `None` if there is no more room for data.
    pub(super) fn template(&mut self, bytes: &[u8]) -> Option<u32> {
        if let Some(index) = self.texts.get(bytes) {
            return Some(*index);
        }
        if self.bundle.data.len() + bytes.len() > MAX_DATA {
            return None;
        }
        let template = Template { offset: self.bundle.data.len() as u32, len: bytes.len() as u32 };
        self.bundle.data.extend(bytes);
        self.bundle.templates.push(template);
        let index = self.bundle.templates.len() as u32 - 1;
        self.texts.insert(bytes.to_vec(), index);
        Some(index)
    }

    /// The index of a format.
    pub(super) fn format(&mut self, pieces: Vec<Piece>) -> u32 {
        let formats = &mut self.bundle.formats;
        *self.formats.entry(pieces).or_insert_with_key(|pieces| {
            formats.push(Format { pieces: pieces.clone() });
            formats.len() as u32 - 1
        })
    }

    /// The index of a distribution.
    pub(super) fn dist(&mut self, dist: &Dist) -> u32 {
        self.dists.index(dist.clone(), &mut self.bundle.dists)
    }

    /// The index of a raw packet.
    pub(super) fn raw(&mut self, raw: Raw) -> u32 {
        self.bundle.raws.push(raw);
        self.bundle.raws.len() as u32 - 1
    }
}
