//! Wrong command lines: what each kind of mistake ends with, and what the user reads.
//!
//! Exit code 2 is for what the user has to write in another way: a name, a value, options that do not go together. 1 is for
//! what was written well and failed: no such file, interface, port, switch or program. Each is one line on standard error.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../support/mod.rs"]
mod support;

mod explained;
mod generate;
mod measure;
mod ports;
mod switches;
mod watch;

use support::{is_numbered, run};

/// Words of a command line, the exit code, and a phrase of the message.
type Row<'a> = (&'a str, i32, &'a str);

/// Runs all, and tells all that end in another way.
fn check(rows: &[Row<'_>]) {
    let wrong: Vec<String> = rows.iter().filter_map(fault).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

fn fault(&(words, code, phrase): &Row<'_>) -> Option<String> {
    // '' stands for an empty word
    let args: Vec<&str> = words.split_whitespace().map(|word| word.trim_matches('\'')).collect();
    let ended = run(&args);
    let one_line = ended.stderr.starts_with("ringway: ")
        && ended.stderr.lines().count() == 1
        && is_numbered(&ended.stderr);
    let silent = ended.stdout.is_empty() || code == 1;
    let right = silent && ended.code == Some(code) && one_line && ended.stderr.contains(phrase);
    (!right).then(|| format!("{words}: {:?} instead of {code} {phrase:?}: {}", ended.code, ended.stderr))
}

#[test]
fn groups_of_commands_show_their_help() {
    let groups = [
        &[][..],
        &["switch"],
        &["switch", "port"],
        &["switch", "fdb"],
        &["router"],
        &["router", "port"],
        &["vale"],
        &["route"],
        &["fib"],
        &["flows"],
        &["bench"],
    ];
    // The last one is of the feature `bench`.
    for words in &groups[..groups.len() - usize::from(cfg!(not(feature = "bench")))] {
        let ended = run(words);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{words:?}");
        assert!(ended.stderr.contains("Usage: ringway"), "{words:?}: {}", ended.stderr);
    }
}
