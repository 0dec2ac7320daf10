//! Help texts: paragraphs are wrapped once, at the width of the terminal, and examples not at all.

use std::io::{IsTerminal, Write, stderr, stdout};

use clap::{Command, Error};

/// Stands for a space at which no line is broken, until the text is printed.
const KEPT: char = '\u{a0}';

/// The command and all below it, with texts that clap wraps as they are meant.
pub(crate) fn prepare(command: Command) -> Command {
    let text = command.get_after_help().map(|text| flow(&text.to_string()));
    let command = command.mut_subcommands(prepare);
    match text {
        Some(text) => command.after_help(text),
        None => command,
    }
}

/// Each paragraph on a line of its own; lines of examples without a space to break them at.
fn flow(text: &str) -> String {
    let mut out = String::new();
    let (mut examples, mut goes_on) = (false, false);
    for line in text.lines() {
        let plain = !line.is_empty() && !line.starts_with(' ');
        if plain {
            examples = line == "Examples:";
        }
        if !out.is_empty() {
            out.push(if plain && goes_on && !examples { ' ' } else { '\n' });
        }
        match examples && !plain {
            true => out.extend(line.chars().map(|c| if c == ' ' { KEPT } else { c })),
            false => out += line,
        }
        goes_on = plain && !line.ends_with(':');
    }
    out
}

/// Prints what clap has to say: help to standard output, what is wrong to standard error.
pub(crate) fn print(e: &Error) {
    let terminal = if e.use_stderr() { stderr().is_terminal() } else { stdout().is_terminal() };
    let text = e.render();
    let styled = terminal && std::env::var_os("NO_COLOR").is_none();
    let text = if styled { text.ansi().to_string() } else { text.to_string() };
    let text = text.replace(KEPT, " ");
    // Where that is closed, nobody wants to know.
    let _ = if e.use_stderr() {
        stderr().write_all(text.as_bytes())
    } else {
        stdout().write_all(text.as_bytes())
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_flow_and_examples_stay() {
        let text =
            "One two\nthree.\n\nKeys:\n  a  of\n     b\nMore\ntext\nExamples:\n  ringway top  # x\n\nEnd";
        let kept = "\u{a0}\u{a0}ringway\u{a0}top\u{a0}\u{a0}#\u{a0}x";
        let expected =
            format!("One two three.\n\nKeys:\n  a  of\n     b\nMore text\nExamples:\n{kept}\n\nEnd");
        assert_eq!(flow(text), expected);
        assert_eq!((flow(""), flow("one")), (String::new(), "one".to_owned()));
    }
}
