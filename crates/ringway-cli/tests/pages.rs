//! The commands of README, docs and of the help: the command line takes each of them, as it is shown. `--help` behind the options of a command
//! keeps the command from running.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::{run, subcommands};

/// A page that a program writes has no commands of its own.
const GENERATED: &str = "support.md";

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = |dir: PathBuf| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = files(root.clone())
        .chain(files(root.join("docs")))
        .chain(files(root.join("docs/cookbook")))
        .chain(files(root.join("docs/design")))
        .chain(files(root.join("crates")).map(|dir| dir.join("README.md")))
        .filter(|file| file.extension().is_some_and(|ending| ending == "md") && file.is_file())
        .filter(|file| file.file_name().is_some_and(|name| name != GENERATED && name != "CHANGELOG.md"))
        .collect();
    pages.sort();
    pages
}

/// The commands of a page: lines of blocks, and spans of code in the text.
fn commands(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, part) in page.split("```").enumerate() {
        if number % 2 == 1 {
            found.extend(part.lines().map(|line| line.trim_start_matches(['$', '#', ' ']).to_owned()));
        } else {
            let part = part.replace('\n', " ");
            found.extend(part.split('`').skip(1).step_by(2).map(full));
        }
    }
    found.into_iter().filter_map(|line| ringway(&line)).collect()
}

/// The text says `switch add` for `ringway switch add`.
fn full(span: &str) -> String {
    let short =
        ["switch ", "router ", "vale ", "route ", "bridge "].iter().any(|name| span.starts_with(name));
    if short { format!("ringway {span}") } else { span.to_owned() }
}

/// The command of Ringway in a line of a shell, without comments, pipes and redirections. `None` for output of a command, and for a form
/// with places to fill in.
fn ringway(line: &str) -> Option<String> {
    let line = line.strip_prefix("sudo ").unwrap_or(line);
    let start = if line.starts_with("ringway ") { 0 } else { line.find("&& ringway ")? + 3 };
    let ends = [" #", " |", " >", " &"].iter().filter_map(|end| line[start..].find(end));
    let command = &line[start..ends.min().map_or(line.len(), |at| start + at)];
    let command = command.trim();
    let form = ["...", "[", "COMMAND", "  "].iter().any(|part| command.contains(part));
    (!form).then(|| command.to_owned())
}

/// The words of a command, with `--help` before the program that it runs, or at its end.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in command.chars() {
        match c {
            '\'' | '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.insert(end, "--help".to_owned());
    words.split_off(1)
}

/// A build may leave benchmarks and the demonstration out.
#[test]
fn the_command_line_takes_each_command_of_the_pages() {
    let measures = run(&["bench", "io", "--help"]).code == Some(0);
    let mut tried = 0;
    let mut refused = Vec::new();
    for page in pages() {
        for command in commands(&fs::read_to_string(&page).unwrap()) {
            let words = words(&command);
            if !measures && words.iter().any(|word| word == "bench" || word == "demo") {
                continue;
            }
            let ended = run(&words.iter().map(String::as_str).collect::<Vec<_>>());
            tried += 1;
            if ended.code != Some(0) || !ended.stdout.contains("Usage: ringway") {
                refused.push(format!("{}: {command}: {}", page.display(), ended.stderr.trim()));
            }
        }
    }
    assert!(tried > 100, "only {tried} commands found");
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// The words of all commands that the help names, from the one of these words on.
fn tree(words: &[String]) -> Vec<Vec<String>> {
    let below = subcommands(&help_of(words));
    let below = below.into_iter().flat_map(|name| tree(&[words, &[name]].concat()));
    std::iter::once(words.to_vec()).chain(below).collect()
}

/// Examples with users and groups that every machine has, and with one port instead of bash's list of several.
fn here(examples: &str) -> String {
    let users = [(" alice", " nobody"), (" bob", " nobody"), (" netops", " root"), ("p{4..99}", "p4")];
    users.iter().fold(examples.to_owned(), |text, (shown, here)| text.replace(shown, here))
}

fn help_of(words: &[String]) -> String {
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
    run(&words).stdout
}

#[test]
fn every_command_has_an_example_and_takes_all_of_them() {
    let all = tree(&[]);
    assert!(all.len() > 50, "only {} commands found", all.len());
    let mut wrong = Vec::new();
    for words in all {
        let name = [&["ringway".to_owned()], &words[..]].concat().join(" ");
        let help = help_of(&words);
        let examples = help.split("\nExamples:\n").nth(1).unwrap_or_default();
        if !examples.contains(&name) {
            wrong.push(format!("{name}: no example of it"));
        }
        let lines = here(&examples.replace("\\\n", " "));
        for line in lines.lines().flat_map(|line| line.split(" & ")) {
            let Some(example) = ringway(line.trim()) else { continue };
            let words = self::words(&example);
            let ended = run(&words.iter().map(String::as_str).collect::<Vec<_>>());
            if ended.code != Some(0) || !ended.stdout.contains("Usage: ringway") {
                wrong.push(format!("{name}: {example}: {}", ended.stderr.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commands_are_found_in_blocks_and_in_text() {
    let page = "Use `ringway stats\n--check`, not `ringway COMMAND`.\n```\n# ringway run -- tcpdump -i 'a b' # one\n$ ls\n```\n";
    assert_eq!(commands(page), ["ringway stats --check", "ringway run -- tcpdump -i 'a b'"]);
    assert_eq!(words("ringway run -v -- tcpdump 'a b'"), ["run", "-v", "--help", "--", "tcpdump", "a b"]);
}
