//! C programs that check the library from inside: they end with status 0 or say which line is wrong.

use super::support::{compile, home, lab, run, run_apart};

fn check(name: &str, args: &[&str]) {
    let said = run(&compile(&home().join("tests/c").join(name)), args);
    assert!(said.ends_with("ok\n"), "{name}: {said}");
}

/// All functions with NULL, with rings of the wrong direction, numbers out of range, twice the same.
#[test]
fn wrong_arguments_are_errors() {
    check("misuse.c", &[]);
}

/// Frames of several slots, exchange of buffers, heads out of range.
#[test]
fn accessors_keep_frames_whole() {
    check("accessors.c", &[&std::process::id().to_string()]);
}

/// An engine: threads that share a port, frames made, wrong lengths and ports.
#[test]
fn threads_share_an_engine() {
    check("engine.c", &[]);
}

/// Rings of one port in two threads, waiting by poll(2), errors of each thread.
#[test]
fn threads_use_rings_apart() {
    check("threads.c", &[]);
}

/// Settings of ports, the table of addresses, and what becomes of frames then. Needs root.
#[test]
fn switches_are_set_up_and_read() {
    if lab().is_some() {
        let said = run_apart(&compile(&home().join("tests/c/switches.c")), &["vale0"]);
        assert!(said.ends_with("ok\n"), "{said}");
    }
}

/// A second thread writes wild words to slots and headers while the accessors run: each address lies in the buffers.
#[test]
fn hostile_words_lead_nowhere() {
    check("hostile.c", &["loop:", &format!("pipe:hostile{}", std::process::id())]);
}
