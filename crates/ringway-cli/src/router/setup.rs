//! How a router was made, and making one alike without a command line of its own.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::Parser;
use serde_json::json;

use super::add::{Add, Options};
use super::background;
use crate::failure::Failure;
use crate::options::{Bpffs, Json};

/// The words behind `router add`.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Words {
    #[command(flatten)]
    add: Add,

    #[command(flatten)]
    _json: Json,

    #[command(flatten)]
    _bpffs: Bpffs,

    #[arg(long)]
    _netns: Option<String>,
}

/// The options with which a router was made; `None` where they are not known.
pub(crate) fn options(name: &str) -> Option<Options> {
    let (words, _) = background::kept(name).ok()?;
    of_words(&words)
}

fn of_words(words: &[OsString]) -> Option<Options> {
    let at =
        words.windows(2).position(|pair| (pair[0] == "router" || pair[0] == "route") && pair[1] == "add")?;
    Some(Words::try_parse_from(&words[at + 2..]).ok()?.add.options)
}

/// Makes a router of these members, with a process in the background.
pub(crate) fn start(
    name: &str,
    members: &BTreeSet<String>,
    options: &Options,
    netns: Option<&str>,
) -> Result<(), Failure> {
    let setup = json!({ "bpffs": ringway::pinned::root(), "directory": "/" });
    background::warn(&background::spawn(name, &words(name, members, options, netns), &setup)?);
    Ok(())
}

/// Starts the process of a router that has none, as it was started the time before, if that is known.
pub(crate) fn start_again(
    name: &str,
    members: &BTreeSet<String>,
    options: &Options,
    netns: Option<&str>,
) -> Result<(), Failure> {
    if background::kept(name).is_ok() {
        return background::again(name);
    }
    start(name, members, options, netns)
}

/// The command line that makes it.
fn words(name: &str, members: &BTreeSet<String>, options: &Options, netns: Option<&str>) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        netns.into_iter().flat_map(|netns| ["--netns".into(), netns.into()]).collect();
    words.extend(["router", "add", name].map(Into::into));
    words.extend(members.iter().map(Into::into));
    let plain = Options::default().keys();
    for (key, text) in options.keys().into_iter().filter(|key| !plain.contains(key)) {
        words.extend([format!("--{key}").into(), text.into()]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_is_made_with_the_options_that_are_read_of_it() {
        let mut options = Options::default();
        for (key, text) in [
            ("path", "tc"),
            ("rpf6", "strict"),
            ("tables", "2"),
            ("groups", "64"),
            ("budget", "plain=5:6,costly=7:8"),
            ("bypass", "netfilter,tc"),
            ("check", "0.5"),
        ] {
            options.set(key, text).unwrap();
            assert!(options.keys().contains(&(key, text.to_owned())), "{key}");
        }
        let members = BTreeSet::from(["eth0".to_owned(), "eth1".to_owned()]);
        for options in [options, Options::default()] {
            let words = words("r0", &members, &options, Some("blue"));
            assert_eq!(of_words(&words), Some(options));
        }
        assert_eq!(of_words(&["vale", "add", "vale0"].map(Into::into)), None);
    }
}
