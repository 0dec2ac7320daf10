//! Reads the file and all that it includes.

use super::global::Global;
use super::source::beside;
use crate::lang::{Diagnostic, Item, Span, parse_file};

/// Most files inside each other.
const MAX_DEPTH: usize = 16;
/// Most files in all, and most bytes of all their texts.
const MAX_FILES: usize = 64;
const MAX_BYTES: usize = 4 << 20;

/// The items of a file, with the items of the files that it includes where it includes them.
pub(super) fn load(global: &mut Global<'_>, name: &str, text: &str) -> Vec<Item> {
    let mut items = Vec::new();
    load_text(global, name, text, 0, Span::default(), &mut items);
    items
}

/// Parses a text, and reads what it includes.
fn load_text(global: &mut Global<'_>, name: &str, text: &str, depth: usize, from: Span, out: &mut Vec<Item>) {
    let bytes: usize = global.files.iter().map(|(_, text)| text.len()).sum();
    if bytes + text.len() > MAX_BYTES || global.files.len() >= MAX_FILES {
        if global.files.is_empty() {
            global.files.push((name.to_owned(), String::new()));
        }
        let message = "the texts are longer than 4 MiB, or more than 64 files";
        global.error(Diagnostic::new(from, message, format!("`{name}` is too much")));
        return;
    }
    let file = global.files.len() as u16;
    global.files.push((name.to_owned(), text.to_owned()));
    let items = parse_file(file, text, &mut global.errors);
    for item in items {
        let Item::Include(include) = item else {
            out.push(item);
            continue;
        };
        if depth >= MAX_DEPTH {
            global.error(Diagnostic::new(
                include.span,
                "files include each other more than 16 deep",
                "one too many",
            ));
            return;
        }
        let path = beside(name, &include.node);
        if global.files.iter().any(|(known, _)| *known == path) {
            continue;
        }
        match (global.read)(&path).map(String::from_utf8) {
            Ok(Ok(text)) => load_text(global, &path, &text, depth + 1, include.span, out),
            Ok(Err(_)) => global.error(Diagnostic::new(
                include.span,
                "a file is no text",
                format!("`{path}` is not UTF-8"),
            )),
            Err(why) => global.error(Diagnostic::new(include.span, format!("`{path}` cannot be read"), why)),
        }
    }
}
