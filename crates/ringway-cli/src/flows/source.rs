//! The file of stories that a command works on.

use std::io::{IsTerminal, stderr};
use std::path::Path;
use std::{fs, io};

use ringway_flows::code::Bundle;
use ringway_flows::compile::{Options, Source, compile};
use ringway_flows::lang::Diagnostics;
use ringway_flows::run::stories;
use ringway_flows::transport::Settings;

use crate::console::note;
use crate::errors;
use crate::failure::Failure;

/// A file of stories, and what the command line sets in it.
#[derive(Debug, clap::Args)]
pub(crate) struct Story {
    /// A file of stories, or the name of one that ships (ringway flows stories)
    #[arg(value_name = "FILE")]
    pub(super) file: String,

    /// Give a `define` of the file, or a parameter of its flows, another value: size=64KiB, or web.reqs=3 for one flow
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = definition)]
    define: Vec<(String, String)>,

    /// Allow pools outside the ranges that are set aside for laboratories; TEXT says whose network it is
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    lab_ack: Option<String>,
}

/// The seed of a run.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Seed {
    /// Draw everything from this number, not from the seed of the file
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Seed {
    /// Sets the seed of a bundle.
    pub(super) fn apply(self, bundle: &mut Bundle) {
        bundle.seed = self.seed.unwrap_or(bundle.seed);
    }
}

/// How many half-open connections servers have.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Backlog {
    /// Most half-open connections of servers: a further one takes the place of the oldest one. 0: any number. Without it: half of the ends of
    /// connections that there is room for
    #[arg(long, value_name = "N")]
    backlog: Option<u32>,
}

impl Backlog {
    /// The settings of a run that has nothing else to choose.
    pub(super) fn settings(self) -> Settings {
        Settings { backlog: self.backlog, ..Settings::default() }
    }
}

fn definition(word: &str) -> Result<(String, String), String> {
    match word.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("accepted: NAME=VALUE, such as size=64KiB".to_owned()),
    }
}

impl Story {
    /// Compiles the file. Errors of its text go to standard error, each with its place.
    pub(super) fn compile(&self) -> Result<Bundle, Failure> {
        let options = Options { defines: self.define.clone(), lab: self.lab_ack.clone().unwrap_or_default() };
        let compiled = match stories::find(&self.file) {
            Some(story) => {
                compile(&Source { name: story.name, text: story.text, read: &stories::read }, &options)
            }
            None => {
                let text = self.read()?;
                compile(&Source { name: &self.file, text: &text, read: &read }, &options)
            }
        };
        compiled.map_err(|errors| self.refused(&errors))
    }

    fn read(&self) -> Result<String, Failure> {
        fs::read_to_string(&self.file).map_err(|why| {
            let cure = match why.kind() {
                io::ErrorKind::NotFound if !self.file.contains(['/', '.']) => {
                    "; no story that ships has this name either: `ringway flows stories` lists them"
                }
                io::ErrorKind::InvalidData => "; a file of stories is text in UTF-8",
                _ => "",
            };
            Failure::Other(errors::files::UNREADABLE, format!("{}: it can't be read: {why}{cure}", self.file))
        })
    }

    /// Shows what is wrong with the text.
    fn refused(&self, errors: &Diagnostics) -> Failure {
        let colours = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        note(if colours { errors.coloured() } else { errors.to_string() }.trim_end());
        let (count, file) = (errors.list.len(), &self.file);
        Failure::Other(
            errors::flows::STORY,
            format!("{file}: {}", ringway_traffic::units::many(count as u64, "error")),
        )
    }
}

/// Reads a file that a story names.
fn read(name: &str) -> Result<Vec<u8>, String> {
    fs::read(Path::new(name)).map_err(|why| why.to_string())
}

/// The number of a flow by its name, with or without its arguments. Without a name: the only flow.
pub(super) fn flow(bundle: &Bundle, wanted: Option<&str>) -> Result<usize, Failure> {
    let names: Vec<&str> = bundle.flows.iter().map(|flow| bundle.name(flow.name)).collect();
    let Some(wanted) = wanted else {
        return match names[..] {
            [_] => Ok(0),
            _ => Err(Failure::Usage(
                errors::command::MISSING,
                format!("--flow is needed; flows: {}", names.join(", ")),
            )),
        };
    };
    let story = |name: &str| name.split_once('(').map_or(name, |(story, _)| story) == wanted;
    let found = names.iter().position(|name| *name == wanted).or_else(|| names.iter().position(|n| story(n)));
    found.ok_or_else(|| {
        Failure::Usage(
            errors::command::BAD_VALUE,
            format!("--flow {wanted}: no such flow; flows: {}", names.join(", ")),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::definition;

    #[test]
    fn a_definition_has_a_name_and_a_value() {
        assert_eq!(definition("size=64KiB"), Ok(("size".into(), "64KiB".into())));
        assert_eq!(definition("name=a=b"), Ok(("name".into(), "a=b".into())));
        for wrong in ["size", "=1", "size=", ""] {
            assert!(definition(wrong).is_err(), "{wrong}");
        }
    }
}
