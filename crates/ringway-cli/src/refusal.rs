//! What is wrong with a command line, on one line.

use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::errors;
use crate::help;

/// Prints help as it is, and what is wrong with a command line on one line.
pub(crate) fn refuse(e: &clap::Error) -> ExitCode {
    if !e.use_stderr() || e.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        help::print(e);
        return if e.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
    }
    let words: Vec<String> = std::env::args_os().skip(1).map(|w| w.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let also = habit(&words).map_or_else(String::new, |cure| format!("; {cure}"));
    errors::print(errors::command::of(e.kind()), &format!("{}{also}; see --help", one_line(&e.to_string())));
    ExitCode::from(2)
}

/// Clap's words without its usage. Tips follow a semicolon.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut what = String::new();
    for line in
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
    {
        match line.strip_prefix("tip: ") {
            Some(tip) => what += &format!("; {tip}"),
            None if what.is_empty() => what += line.strip_prefix("error: ").unwrap_or(line),
            None => what += &format!(" {line}"),
        }
    }
    what.replace("invalid digit found in string", "accepted: a whole number")
}

/// What users of other switches mean when they name a switch and a port as two words.
fn habit(words: &[&str]) -> Option<String> {
    let ["switch" | "vale", "add" | "add-port" | "add-if" | "addif" | "add-br", switch, port, ..] = words
    else {
        return None;
    };
    let names = !switch.contains(':') && ![switch, port].iter().any(|word| word.starts_with('-'));
    names.then(|| {
        format!(
            "write `ringway switch add {switch}:{port}` for an interface, `ringway switch port add {switch}:{port}` for a port of programs"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{habit, one_line};

    #[test]
    fn tips_follow_what_is_wrong() {
        let text = "error: unrecognized subcommand 'pktgen'\n\n  tip: a similar subcommand exists: 'pkt-gen'\n\n\
                    Usage: ringway <COMMAND>\n\nFor more information, try '--help'.\n";
        assert_eq!(
            one_line(text),
            "unrecognized subcommand 'pktgen'; a similar subcommand exists: 'pkt-gen'"
        );
    }

    #[test]
    fn switch_and_port_in_two_words() {
        for (words, cure) in [
            (&["switch", "add", "vale0", "v0"][..], Some("`ringway switch add vale0:v0`")),
            (&["vale", "add-port", "vale0", "v0"], Some("`ringway switch port add vale0:v0`")),
            (&["vale", "add", "vale0", "--slots"], None),
            (&["vale", "add", "vale0"], None),
            (&["vale", "del", "vale0", "v0"], None),
        ] {
            let found = habit(words);
            assert_eq!(found.is_some(), cure.is_some(), "{words:?}");
            assert!(found.is_none_or(|text| cure.is_some_and(|cure| text.contains(cure))), "{words:?}");
        }
    }
}
