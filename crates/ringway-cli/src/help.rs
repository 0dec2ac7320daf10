//! Help texts, wrapped at the width of the terminal: paragraphs as a whole, the text of lists below its first word, and examples
//! not at all.

use std::io::{IsTerminal, Write, stderr, stdout};

use clap::{Command, Error};
use rustix::termios::tcgetwinsize;

/// Stands for a space at which no line is broken, until the text is printed.
const KEPT: char = '\u{a0}';

/// Columns where there is no terminal.
const COLUMNS: usize = 100;

/// Columns that the text of a list needs, or else it goes on further left than it began.
const LEAST: usize = 24;

/// The command and all below it, with texts that are wrapped as they are meant.
pub(crate) fn prepare(command: Command) -> Command {
    prepared(command, width())
}

fn prepared(command: Command, width: usize) -> Command {
    let text = command.get_after_help().map(|text| flow(&text.to_string(), width));
    let command = command.term_width(width).mut_subcommands(|c| prepared(c, width));
    match text {
        Some(text) => command.after_help(text),
        None => command,
    }
}

/// Columns of the terminal, or what COLUMNS says.
fn width() -> usize {
    let size = tcgetwinsize(stdout()).or_else(|_| tcgetwinsize(stderr()));
    let columns = size.map(|size| size.ws_col.into()).ok().filter(|&columns| columns > 0);
    let named = || std::env::var("COLUMNS").ok()?.parse().ok();
    columns.or_else(named).unwrap_or(COLUMNS)
}

/// Each paragraph on a line of its own, for clap to wrap; items of lists wrapped; lines of examples without a space to break
/// them at.
fn flow(text: &str, width: usize) -> String {
    let mut out = String::new();
    let (mut examples, mut goes_on) = (false, false);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let plain = !line.is_empty() && !line.starts_with(' ');
        if plain {
            examples = line == "Examples:" || examples && line.ends_with(':');
        }
        if !out.is_empty() {
            out.push(if plain && goes_on && !examples { ' ' } else { '\n' });
        }
        match examples && !plain {
            true => out.extend(line.chars().map(|c| if c == ' ' { KEPT } else { c })),
            false if plain || line.is_empty() => out += line,
            false => {
                let mut item = Item::of(line);
                while let Some(more) = lines.next_if(|line| item.goes_on_in(line)) {
                    item.go_on(more);
                }
                out += &item.wrapped(width);
            }
        }
        goes_on = plain && !line.ends_with(':');
    }
    out
}

/// One thing of a list: its name, blanks, and text, which goes on in the column where it began.
pub(crate) struct Item {
    pub(crate) head: String,
    pub(crate) text: String,
    /// Whether there is a name.
    pub(crate) named: bool,
}

impl Item {
    pub(crate) fn of(line: &str) -> Self {
        let indent = blanks(line);
        let gap = line[indent..].find("  ").map(|at| indent + at);
        let text = gap.map_or(indent, |at| at + blanks(&line[at..]));
        Self { head: line[..text].to_owned(), text: line[text..].to_owned(), named: gap.is_some() }
    }

    pub(crate) fn goes_on_in(&self, line: &str) -> bool {
        self.named && !line.is_empty() && blanks(line) == self.head.chars().count()
    }

    pub(crate) fn go_on(&mut self, line: &str) {
        self.text = format!("{} {}", self.text, line.trim_start());
    }

    /// The item on lines of at most so many columns, as far as its words allow.
    fn wrapped(&self, width: usize) -> String {
        let start = self.head.chars().count();
        let hang = if self.named && start + LEAST <= width { start } else { blanks(&self.head) + 2 };
        let (mut out, mut at) = (self.head.clone(), start);
        for (n, word) in self.text.split(' ').enumerate() {
            let long = word.chars().count();
            if n > 0 && at + 1 + long > width {
                out = format!("{out}\n{:hang$}", "");
                at = hang;
            } else if n > 0 {
                out.push(' ');
                at += 1;
            }
            out += word;
            at += long;
        }
        out
    }
}

fn blanks(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Prints what clap has to say: help to standard output, what is wrong to standard error.
pub(crate) fn print(e: &Error) {
    let terminal = if e.use_stderr() { stderr().is_terminal() } else { stdout().is_terminal() };
    let text = e.render();
    let styled = terminal && std::env::var_os("NO_COLOR").is_none();
    let text = if styled { text.ansi().to_string() } else { text.to_string() };
    let text = without_trailing(&text.replace(KEPT, " "));
    // Where that is closed, nobody wants to know.
    let _ = if e.use_stderr() {
        stderr().write_all(text.as_bytes())
    } else {
        stdout().write_all(text.as_bytes())
    };
}

/// The text without blanks at the ends of lines, which clap leaves where a line is empty.
fn without_trailing(text: &str) -> String {
    text.split('\n').map(|line| line.trim_end_matches(' ')).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_flow_and_examples_stay() {
        let text = "One two\nthree.\n\nKeys:\n  a  of\n     b\nMore\ntext\nExamples:\n  ringway top  # x\nIn f:\n  a\n\nEnd";
        let kept = "\u{a0}\u{a0}ringway\u{a0}top\u{a0}\u{a0}#\u{a0}x\nIn f:\n\u{a0}\u{a0}a";
        let expected = format!("One two three.\n\nKeys:\n  a  of b\nMore text\nExamples:\n{kept}\n\nEnd");
        assert_eq!(flow(text, 80), expected);
        assert_eq!(without_trailing("a \n  \n\n b\n"), "a\n\n\n b\n");
        assert_eq!((flow("", 80), flow("one", 80)), (String::new(), "one".to_owned()));
    }

    #[test]
    fn lists_hang_below_their_first_word() {
        for (text, width, wrapped) in [
            ("  name  one two three four", 26, "  name  one two three four"),
            ("  a, b   one two three four\n         five", 33, "  a, b   one two three four five"),
            (
                "  a    one two three four five six seven",
                32,
                "  a    one two three four five\n       six seven",
            ),
            ("  a    one two three four", 20, "  a    one two three\n    four"),
            ("  no name here at all", 12, "  no name\n    here at\n    all"),
            ("  list[]\n    key  of it", 80, "  list[]\n    key  of it"),
        ] {
            assert_eq!(flow(text, width), wrapped);
        }
    }
}
