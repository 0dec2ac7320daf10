//! `ringway man-pages`: the man page of each command, with the text of its help. `make` runs it; users do not see it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};

use crate::errors;
use crate::failure::Failure;
use crate::help::Item;

/// Pages that do not belong to one command.
const PAGES: [&str; 4] =
    ["ringway-configuration(5)", "ringway-ports(7)", "ringway-switch(7)", "ringway-router(7)"];

/// Write the man pages of all commands
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory that gets them
    directory: PathBuf,
}

impl Args {
    pub(crate) fn run(&self, mut command: Command) -> Result<(), Failure> {
        command = command.disable_help_subcommand(true);
        command.build();
        let source = format!("Ringway {}", command.get_version().unwrap_or_default());
        pages(&command, None, &source, &self.directory).map_err(|e| {
            Failure::Other(
                errors::files::UNWRITABLE,
                format!("{}: man pages can't be written: {e}", self.directory.display()),
            )
        })
    }
}

/// The pages of a command and of all below it that users see.
fn pages(command: &Command, above: Option<&str>, source: &str, to: &Path) -> io::Result<()> {
    let man = Man::new(command.clone()).source(source).manual("Ringway");
    let mut file = BufWriter::new(File::create(to.join(man.get_filename()))?);
    page(command, &man, above, &mut file)?;
    file.flush()?;
    let name = man.get_filename();
    let name = name.trim_end_matches(".1");
    command.get_subcommands().filter(|c| !c.is_hide_set()).try_for_each(|c| pages(c, Some(name), source, to))
}

fn page(command: &Command, man: &Man, above: Option<&str>, to: &mut impl Write) -> io::Result<()> {
    man.render_title(to)?;
    man.render_name_section(to)?;
    man.render_synopsis_section(to)?;
    man.render_description_section(to)?;
    man.render_options_section(to)?;
    if command.get_subcommands().any(|c| !c.is_hide_set()) {
        man.render_subcommands_section(to)?;
    }
    let mut roff = Roff::new();
    if let Some(text) = command.get_after_help() {
        after(&text.to_string(), &mut roff);
    }
    let mut see: Vec<String> = above.map(|name| format!("{name}(1)")).into_iter().collect();
    see.extend(PAGES.map(str::to_owned));
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman(see.join(", "))]);
    roff.to_writer(to)
}

/// The text below the options: paragraphs, lists, and examples as they are.
fn after(text: &str, roff: &mut Roff) {
    let mut lines = text.lines().peekable();
    if lines.peek().is_some_and(|line| *line != "Examples:") {
        roff.control("SH", ["NOTES"]);
    }
    let (mut examples, mut listing) = (false, false);
    while let Some(line) = lines.next() {
        let plain = !line.starts_with(' ');
        if plain && std::mem::take(&mut listing) && !line.is_empty() {
            roff.control("PP", []);
        }
        if line == "Examples:" {
            examples = true;
            roff.control("SH", ["EXAMPLES"]);
        } else if line.is_empty() {
            roff.control("PP", []);
        } else if plain {
            examples &= line.ends_with(':');
            roff.text([roman(line)]);
        } else if examples {
            roff.control("EX", []);
            verbatim(line, roff);
            while let Some(more) = lines.next_if(|line| line.starts_with(' ')) {
                verbatim(more, roff);
            }
            roff.control("EE", []);
        } else {
            let mut item = Item::of(line);
            while let Some(more) = lines.next_if(|line| item.goes_on_in(line)) {
                item.go_on(more);
            }
            list(&item, roff);
            listing = true;
        }
    }
}

/// A line of an example, without the blanks before it.
fn verbatim(line: &str, roff: &mut Roff) {
    roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
}

/// A thing of a list; deeper ones stand further right.
fn list(item: &Item, roff: &mut Roff) {
    let head = item.head.trim_end();
    let depth = (head.len() - head.trim_start().len()).saturating_sub(2);
    let head = format!("{}{}", "\u{a0}".repeat(depth), head.trim_start());
    roff.control("TP", []);
    match item.named {
        true => roff.text([bold(head)]).text([roman(&item.text)]),
        false => roff.text([bold(format!("{head}{}", item.text))]).text([] as [Inline; 0]),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_their_names_and_examples_their_lines() {
        let mut roff = Roff::new();
        after(
            "One\ntwo.\n\nKeys:\n  a  of\n     b\nMore\n\nExamples:\n  ringway top  # x\n  ringway",
            &mut roff,
        );
        let said = roff.render();
        for part in [
            ".SH NOTES\nOne\ntwo.\n.PP\nKeys:\n.TP\n\\fBa\\fR\nof b\n.PP\nMore\n",
            ".SH EXAMPLES\n.EX\nringway top  # x\nringway\n.EE\n",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
}
