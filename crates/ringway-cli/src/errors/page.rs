//! docs/errors.md has all errors, as `ringway explain` does.

use std::fmt::Write;
use std::path::Path;

use super::{Code, INDEX};

const HEAD: &str = "\
<!-- Written by `RINGWAY_GOLDEN=write cargo test -p ringway-cli page`. -->

# Errors

Each error of the command ends with its number: `ringway: eth7: there is no such interface [E0102]`.
A number stands for a kind of error. The text of an error says more about the case, and often has
the cure already. `ringway explain E0102` prints the entry of this page.
";

/// Columns of a line of prose.
const COLUMNS: usize = 100;

fn page() -> String {
    let mut page = HEAD.to_owned();
    for area in INDEX {
        let _ = write!(page, "\n## {}\n", area.title);
        area.codes.iter().for_each(|code| page.push_str(&entry(*code)));
    }
    page
}

fn entry(code: Code) -> String {
    let cause = wrapped(code.cause);
    let cure = wrapped(&format!("**Cure:** {}", code.cure));
    format!("\n### {code}: {}\n\n{cause}\n\n{cure}\n", code.title)
}

/// The text on lines of at most so many columns; a span of code stays on one line.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    let mut word = String::new();
    for piece in text.split(' ') {
        word += piece;
        if word.matches('`').count() % 2 == 1 {
            word.push(' ');
            continue;
        }
        let line = lines.last_mut().unwrap();
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            lines.push(std::mem::take(&mut word));
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(&std::mem::take(&mut word));
        }
    }
    lines.join("\n")
}

#[test]
fn the_page_of_errors_is_the_index() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
    if std::env::var_os("RINGWAY_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page(), "docs/errors.md is not the index: run this test with RINGWAY_GOLDEN=write");
}
