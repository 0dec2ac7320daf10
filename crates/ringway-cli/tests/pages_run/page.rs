//! The commands of a page: lines of its blocks, each with the lines that the page shows below it.

use std::fs;
use std::path::{Path, PathBuf};

/// A command as a page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) command: String,
    /// What it prints on the page.
    pub(crate) output: Vec<String>,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// README.md, the pages of docs and of the cookbook, and the READMEs of the crates, sorted.
pub(crate) fn pages() -> Vec<String> {
    let names = |dir: &str| fs::read_dir(root().join(dir)).unwrap().map(|entry| entry.unwrap().file_name());
    let docs = ["docs", "docs/cookbook"]
        .into_iter()
        .flat_map(|dir| names(dir).map(move |name| format!("{dir}/{}", name.to_str().unwrap())));
    let crates = names("crates").map(|name| format!("crates/{}/README.md", name.to_str().unwrap()));
    let all = docs.chain(crates).chain(["README.md".to_owned()]);
    let mut pages: Vec<_> = all.filter(|page| page.ends_with(".md") && root().join(page).is_file()).collect();
    pages.sort();
    pages
}

/// The commands of a page, in order.
pub(crate) fn commands(page: &str) -> Vec<Shown> {
    of_text(&fs::read_to_string(root().join(page)).unwrap())
}

/// Blocks of `rust`, `c` and other languages have no commands.
fn of_text(page: &str) -> Vec<Shown> {
    let blocks = page.split("```").skip(1).step_by(2);
    let of_block = |block: &str| {
        let (kind, lines) = block.split_once('\n').unwrap_or_default();
        if matches!(kind, "" | "sh" | "console") { of_lines(lines, kind == "sh") } else { Vec::new() }
    };
    blocks.flat_map(of_block).collect()
}

/// A line is a command behind a prompt, when all lines of its block are, and when it begins as commands of Ringway do.
fn of_lines(lines: &str, all: bool) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let behind_prompt = line.strip_prefix("$ ").or_else(|| line.strip_prefix("# "));
        let bare = all || ["ringway ", "sudo ringway "].iter().any(|start| line.starts_with(start));
        // Two blanks and no comment: a head of columns.
        let output = line.contains("  ") && !line.contains(" # ");
        match behind_prompt.or((bare && (all || !output)).then_some(line)) {
            Some(command) => found.push(Shown { command: bare_command(command), output: Vec::new() }),
            None => found.iter_mut().last().into_iter().for_each(|shown| shown.output.push(line.to_owned())),
        }
    }
    found
}

/// Without its comment and `sudo`: the test is root.
fn bare_command(line: &str) -> String {
    let line = line.split_once(" # ").map_or(line, |(command, _)| command).trim();
    line.strip_prefix("sudo ").unwrap_or(line).to_owned()
}

/// Whether a program printed the lines of a page, in this order, with other numbers. What a line says more depends on the machine, as
/// wake-ups that were not needed.
pub(crate) fn printed(said: &str, page: &[String]) -> Result<(), String> {
    let mut said = said.lines().map(numberless);
    for line in page {
        let wanted = numberless(line);
        if !said.any(|line| line.starts_with(&wanted)) {
            return Err(line.clone());
        }
    }
    Ok(())
}

/// The words of a line, with `N` for each number.
fn numberless(line: &str) -> String {
    let mut short = String::new();
    for c in line.trim().chars() {
        match c {
            '0'..='9' if short.ends_with('N') => {}
            '0'..='9' => short.push('N'),
            c => short.push(c),
        }
    }
    short.replace("N.N", "N").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn commands_are_lines_behind_prompts_and_lines_of_ringway() {
    let page = "Text `ringway x`.\n```\n# ringway add r0   # made\nr0: made, 12.5 MiB\n$ ls\n```\n```rust\nringway f();\n```\n\
        ```\nringway top  5 ports\nringway a 'b  c'  # d\n```\n```sh\nfor x\n```\n";
    let shown = |command: &str, output: &[&str]| Shown {
        command: command.into(),
        output: output.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(
        of_text(page),
        [
            shown("ringway add r0", &["r0: made, 12.5 MiB"]),
            shown("ls", &[]),
            shown("ringway a 'b  c'", &[]),
            shown("for x", &[])
        ]
    );
    let page = ["r0: made, 12.5 MiB".to_owned()];
    assert_eq!(printed("x\nr0: made,  3 MiB; 1 more\n", &page), Ok(()));
    assert_eq!(printed("r0: made, MiB\n", &page), Err(page[0].clone()));
}
