//! Completions of shells: the scripts in scripts/completions ask this command, which answers with the names that exist now.
//!
//! The name of an option's value says what it names, so no option has to know of completions. Files complete by themselves.

use std::ffi::OsStr;

use clap::{Arg, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::{Bash, Fish, Shells, Zsh};
use ringway::switch::switches;
use ringway_watch::routers;

use crate::existing_names::{self, interfaces};

/// The variable in which a script names its shell.
const VARIABLE: &str = "RINGWAY_COMPLETE";

/// Beginnings of ports that no list has.
const BEGINNINGS: [&str; 8] = ["ebpf:", "xdp:", "packet:", "pipe:", "pcap:", "dpdk:", "null:", "loop:"];

/// Backends of interfaces, which stand before a name.
const BACKENDS: [&str; 3] = ["ebpf:", "xdp:", "packet:"];

/// Answers a shell, and ends the process; returns when none asks.
pub(crate) fn answer(command: fn() -> Command) {
    CompleteEnv::with_factory(|| prepared(command()))
        .var(VARIABLE)
        .shells(Shells(&[&Bash, &Zsh, &Fish]))
        .complete();
}

/// The command and all below it, with the names that their values may have.
fn prepared(command: Command) -> Command {
    command.mut_args(with_names).mut_subcommands(prepared)
}

fn with_names(arg: Arg) -> Arg {
    let value = arg.get_value_names().and_then(|names| names.first()).map(|name| name.to_string());
    let value = value.unwrap_or_else(|| arg.get_id().as_str().to_uppercase());
    match completer(&value) {
        Some(completer) => arg.add(completer),
        None => arg,
    }
}

/// What completes a value of this name.
fn completer(value: &str) -> Option<ArgValueCompleter> {
    Some(match value {
        "PORT" | "PORTS" => ArgValueCompleter::new(ports),
        "NAME=PORT" | "IF[=PORT[,HOSTPORT]]" => ArgValueCompleter::new(mapping),
        "IF" | "INTERFACE" => listed(interfaces),
        "SWITCH" | "SWITCH[:IF]" => listed(switches),
        "SWITCH:PORT" => listed(switch_ports),
        "ROUTER" => listed(|| routers::readable().into_iter().map(|r| r.name).collect()),
        "ROUTER:IF" => listed(members),
        "NAME|PID|PATH" => listed(namespaces),
        _ => return None,
    })
}

/// Names of a list that begin as the word does.
fn listed(list: fn() -> Vec<String>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |word: &OsStr| matching(list(), word))
}

fn matching(names: Vec<String>, word: &OsStr) -> Vec<CompletionCandidate> {
    let Some(word) = word.to_str() else { return Vec::new() };
    names.into_iter().filter(|name| name.starts_with(word)).map(CompletionCandidate::new).collect()
}

/// Names of ports; the files of `pcap:`.
fn ports(word: &OsStr) -> Vec<CompletionCandidate> {
    if let Some(file) = word.to_str().and_then(|word| word.strip_prefix("pcap:")) {
        let files = PathCompleter::any().complete(OsStr::new(file));
        return files.into_iter().map(|file| file.add_prefix("pcap:")).collect();
    }
    let interfaces = interfaces();
    let of_backends =
        BACKENDS.iter().flat_map(|backend| interfaces.iter().map(move |i| format!("{backend}{i}")));
    let long = word.to_str().is_some_and(|word| word.contains(':'));
    let mut names: Vec<String> = of_backends.filter(|_| long).collect();
    names.extend(interfaces.iter().cloned());
    names.extend(switch_ports());
    names.extend(ringway::open_ports().iter().map(|port| other_end(&port.name)));
    names.extend(BEGINNINGS.map(str::to_owned));
    names.sort();
    names.dedup();
    matching(names, word)
}

/// Of a pipe the end that another program may open; other ports as they are.
fn other_end(port: &str) -> String {
    let swapped = |c| match c {
        '{' => '}',
        '}' => '{',
        c => c,
    };
    if port.starts_with("pipe:") { port.chars().map(swapped).collect() } else { port.to_owned() }
}

/// An interface, and behind `=` a port.
fn mapping(word: &OsStr) -> Vec<CompletionCandidate> {
    match word.to_str().and_then(|word| word.split_once('=')) {
        Some((name, port)) => {
            let prefix = format!("{name}=");
            ports(OsStr::new(port)).into_iter().map(|port| port.add_prefix(prefix.clone())).collect()
        }
        None => matching(interfaces(), word),
    }
}

fn switch_ports() -> Vec<String> {
    existing_names::switch_ports().into_iter().map(|(switch, port)| format!("{switch}:{port}")).collect()
}

fn members() -> Vec<String> {
    let of_router = |r: routers::Reading| {
        r.members.into_iter().map(move |m| format!("{}:{}", r.name, m.member.name)).collect::<Vec<_>>()
    };
    routers::readable().into_iter().flat_map(of_router).collect()
}

/// Network namespaces that `ip netns` has named.
fn namespaces() -> Vec<String> {
    let files = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
    files.filter_map(|file| file.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_end_of_a_pipe_is_free() {
        for (open, free) in [("pipe:x{1", "pipe:x}1"), ("pipe:x}1", "pipe:x{1"), ("vale0:p1", "vale0:p1")] {
            assert_eq!(other_end(open), free);
        }
    }

    #[test]
    fn names_begin_as_the_word_does() {
        let values = |word: &str| {
            let found = matching(vec!["vale0:a".into(), "eth0".into()], OsStr::new(word));
            found.iter().map(|c| c.get_value().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(values("vale0:"), ["vale0:a"]);
        assert_eq!(values(""), ["vale0:a", "eth0"]);
        assert!(values("x").is_empty());
    }
}
