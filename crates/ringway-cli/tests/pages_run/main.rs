//! The commands of README.md and docs, run as the pages show them, in network namespaces with the interfaces of which the pages speak. A
//! command that runs until Ctrl-C gets it when it has said what it is to say, or has moved frames. What a page shows below a command is
//! compared, but for its numbers. Needs root; says so without. Commands that can't be run here stand in lists, with the reason.
//! docs/containers.md has a test of its own, `containers_page`.
#![allow(clippy::unwrap_used, reason = "tests")]

mod guide;
mod help;
mod how;
mod page;
mod pages;
mod stage;
#[path = "../support/mod.rs"]
mod support;
mod traffic;

use std::time::Instant;

use how::{How, Special};
use page::{Shown, commands, printed, root};
use stage::Stage;
use support::Running;

/// Runs commands that the text of a page names, each of which has to stand there. The text says `switch list` for `ringway switch list`.
fn perform_named(stage: &Stage, page: &str, named: &[Special]) {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for special in named {
        let short = special.command.trim_start_matches("ringway ");
        let there = [special.command, short].iter().any(|command| text.contains(&format!("`{command}`")));
        assert!(there, "{page} does not name {}", special.command);
        let shown = Shown { command: special.command.to_owned(), output: Vec::new() };
        prepare(stage, page, special.before);
        timed(page, &shown, || one(stage, page, &shown, special.how));
    }
}

/// Does what the user did before.
fn prepare(stage: &Stage, page: &str, script: &str) {
    let prepared = stage.run(&format!("set -e\n{script}"));
    assert_eq!(prepared.code, Some(0), "{page}: {script}: {}{}", prepared.stdout, prepared.stderr);
}

/// Says how long a command took, so that the slow ones are known.
fn timed(page: &str, shown: &Shown, job: impl FnOnce()) {
    let begun = Instant::now();
    job();
    println!("{page}: {} ({:.1?})", shown.command, begun.elapsed());
}

/// Runs all commands of a page in order. Each of `special` has to be on the page, in the same order. Commands beside the others end by
/// themselves, unless the page kills them.
fn perform(stage: &Stage, page: &str, special: &[Special]) {
    let mut special = special.iter().peekable();
    let mut beside: Vec<(Shown, Running)> = Vec::new();
    for shown in commands(page) {
        let this = special.next_if(|special| special.command == shown.command);
        if let Some(missing) = this.and_then(|this| missing(this.needs)) {
            eprintln!("SKIP: {page}: {}: {missing} is not installed", shown.command);
            continue;
        }
        prepare(stage, page, this.map_or("", |this| this.before));
        timed(page, &shown, || match this.and_then(|this| this.how) {
            Some(How::Beside { command, says }) => {
                let running = stage.start(command);
                running.wait_said(says, 1);
                beside.push((shown.clone(), running));
            }
            Some(How::Kills) => {
                let (shown, running) = beside.pop().unwrap();
                running.signal(libc::SIGTERM);
                judge(page, &shown, running.end());
            }
            how => one(stage, page, &shown, how),
        });
    }
    for (shown, running) in beside {
        judge(page, &shown, running.end());
    }
    let left: Vec<_> = special.map(|special| special.command).collect();
    assert!(left.is_empty(), "{page} does not show, or not in this order: {left:#?}");
}

/// Runs a command to its end.
fn one(stage: &Stage, page: &str, shown: &Shown, how: Option<How>) {
    let command = &shown.command;
    let ended = match how {
        None | Some(How::Beside { .. } | How::Kills) => stage.run(command),
        Some(How::With(options)) => stage.run(&format!("{command} {options}")),
        Some(How::As(other)) => stage.run(other),
        Some(How::Says(text)) => {
            let running = stage.start(command);
            running.wait_said(text, 1);
            running.interrupt()
        }
        Some(How::Moves(text)) => {
            let mut running = stage.start(command);
            running.wait_said(text, 1);
            stage.wait_moved(&mut running);
            running.interrupt()
        }
        Some(How::Skipped(reason)) => return println!("{page}: {command}: not run: {reason}"),
    };
    judge(page, shown, ended);
}

/// A command succeeded, and printed what the page shows.
fn judge(page: &str, shown: &Shown, ended: support::Ended) {
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.code, Some(0), "{page}: {}: {said}", shown.command);
    if let Err(line) = printed(&said, &shown.output) {
        panic!("{page}: {}: the page shows\n{line}\nbut it said\n{said}", shown.command);
    }
}

/// The first of these programs that is not installed.
fn missing(programs: &[&'static str]) -> Option<&'static str> {
    let dirs = std::env::var("PATH").unwrap_or_default();
    let there = |program: &str| std::env::split_paths(&dirs).any(|dir| dir.join(program).is_file());
    programs.iter().copied().find(|program| !there(program))
}
