//! Options out of a file.
//!
//! A line is `name = value`, with the names of the command line's options; those without a value take `true` or `false`. What is
//! behind a `#` at the start of a line is a remark. All lines are checked before anything is done, each by the parser of the
//! command line.

use std::fs;
use std::path::Path;

use clap::{Args as _, Command, FromArgMatches};

use super::args::Args;
use crate::errors;
use crate::failure::Failure;

/// Options that make no sense in a file.
const NOT_HERE: [&str; 3] = ["config", "help", "version"];

/// The options of a file as words of a command line.
pub(super) fn words(path: &Path) -> Result<Vec<String>, Failure> {
    let text = fs::read_to_string(path).map_err(|e| {
        Failure::Other(errors::files::UNREADABLE, format!("--config {}: {e}", path.display()))
    })?;
    parse(&text)
        .map_err(|wrong| Failure::Usage(errors::files::WRONG_CONTENT, format!("{}: {wrong}", path.display())))
}

/// The words, or all that is wrong, each with its line.
fn parse(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut wrong, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match word(line) {
            Ok((name, _)) if seen.contains(&name) => {
                wrong.push(format!("line {number}: {name} is given twice"))
            }
            Ok((name, word)) => {
                seen.push(name);
                words.extend(word);
            }
            Err(why) => wrong.push(format!("line {number}: {why}")),
        }
    }
    if wrong.is_empty() { Ok(words) } else { Err(wrong.join("; ")) }
}

/// The name, and the word of the command line; none for an option that is off.
fn word(line: &str) -> Result<(String, Option<String>), String> {
    let (name, value) = line.split_once('=').ok_or("accepted: NAME = VALUE")?;
    let (name, value) = (name.trim(), value.trim());
    let command = Args::augment_args(Command::new("rfc2544"));
    let known = command.get_arguments().find(|a| a.get_long() == Some(name) && !NOT_HERE.contains(&name));
    let known = known.ok_or_else(|| format!("there is no option '{name}'"))?;
    let word = match (known.get_action().takes_values(), value) {
        (true, _) => Some(format!("--{name}={value}")),
        (false, "true") => Some(format!("--{name}")),
        (false, "false") => None,
        (false, _) => return Err(format!("{name} is true or false, not '{value}'")),
    };
    // Ports need each other, and are looked at when all is known; each is just a word.
    if let Some(word) = word.as_ref().filter(|_| !["tx", "rx"].contains(&name)) {
        command.try_get_matches_from(["rfc2544", word]).map_err(|e| first_line(&e))?;
    }
    Ok((name.to_owned(), word))
}

/// The options of the command line, and the options of a file that the command line does not give.
pub(super) fn merged(file: Vec<String>, given: impl Iterator<Item = String>) -> Result<Args, String> {
    let given: Vec<String> = given.collect();
    let name = |word: &str| word.split_once('=').map_or(word, |(name, _)| name).to_owned();
    let again = |word: &String| given.iter().any(|other| name(other) == name(word));
    let file = file.into_iter().filter(|word| !again(word));
    let words: Vec<String> =
        std::iter::once("rfc2544".to_owned()).chain(file).chain(given.iter().cloned()).collect();
    let matches = Args::augment_args(Command::new("rfc2544"))
        .try_get_matches_from(words)
        .map_err(|e| first_line(&e))?;
    Args::from_arg_matches(&matches).map_err(|e| first_line(&e))
}

fn first_line(e: &clap::Error) -> String {
    let text = e.to_string();
    let lines = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_wrong_is_told_with_its_line() {
        let text = "# a laboratory\nlink = 10G\n\nsizes = 12\nspeed = 9\nipv6 = maybe\nlink = 1G\nnonsense\n";
        let wrong = parse(text).unwrap_err();
        for part in [
            "line 4: invalid value '12' for '--sizes <LIST>': size 12 is not between 64",
            "line 5: there is no option 'speed'",
            "line 6: ipv6 is true or false, not 'maybe'",
            "line 7: link is given twice",
            "line 8: accepted: NAME = VALUE",
        ] {
            assert!(wrong.contains(part), "{part}\n{wrong}");
        }
        assert_eq!(wrong.lines().count(), 1);
        assert!(parse("config = x").is_err());
    }

    #[test]
    fn the_command_line_counts_more() {
        let file = parse("tx = ebpf:a\nrx = ebpf:b\nlink=10G\nipv6 = true\nbidir = false\nseconds = 3\nreset-command = echo a = b\nvlan = 9").unwrap();
        let args = merged(file, ["--link".to_owned(), "1G".into(), "--vlan=3,4".into()].into_iter()).unwrap();
        assert_eq!(
            (args.shared.link, args.shared.seconds, args.ipv6, args.bidir),
            (Some(1_000_000_000), Some(3.0), true, false)
        );
        assert_eq!((args.tx.as_deref(), args.vlan), (Some("ebpf:a"), vec![3, 4]));
        assert_eq!(args.reset_command.as_deref(), Some("echo a = b"));
        assert!(merged(vec!["--tx=a".into()], std::iter::empty()).unwrap_err().contains("--rx"));
    }
}
