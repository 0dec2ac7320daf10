//! What programs are linked against is what docs/api/ringway-c.txt lists: functions with their versions, structs and constants.
//!
//! A change of a line breaks programs that were built before. A new function goes into a new version of ringway.map. To write the list
//! again: `RINGWAY_WRITE_ABI=1 cargo test -p ringway-c --test library abi`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;

use super::support::{compile, home, library, must, run};

fn header() -> String {
    std::fs::read_to_string(home().join("include/ringway.h")).unwrap()
}

/// Names of functions that the library exports, with their versions.
fn exported() -> BTreeSet<String> {
    let text = must(Command::new("nm").args(["-D", "--defined-only"]).arg(library()));
    let last = text.lines().filter_map(|line| line.split_whitespace().last());
    last.filter(|name| name.contains('@')).map(str::to_owned).collect()
}

/// Words that begin with `rw_` and stand before a bracket, on lines that are no code: declarations of functions.
fn declared() -> BTreeSet<String> {
    let header = header();
    let lines = header.lines().filter(|line| line.ends_with(");") && !line.starts_with(['\t', ' ']));
    lines.map(|line| line.split('(').next().unwrap().rsplit([' ', '*']).next().unwrap().to_owned()).collect()
}

/// The structs of the header with their members.
fn structs() -> Vec<(String, Vec<String>)> {
    let header = header();
    let mut all = Vec::new();
    let mut lines = header.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("struct ").and_then(|rest| rest.strip_suffix(" {")) else {
            continue;
        };
        let body = lines.by_ref().take_while(|line| !line.starts_with('}'));
        let member = |line: &str| {
            let before = line.split([';', '[']).next().unwrap().to_owned();
            before.rsplit([' ', '*']).next().unwrap().to_owned()
        };
        all.push((name.to_owned(), body.filter(|line| line.contains(';')).map(member).collect()));
    }
    all
}

/// Constants of the header: members of its enums, and macros that are numbers.
fn constants() -> Vec<String> {
    let word = |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_owned();
    let header = header();
    let macros =
        header.lines().filter_map(|line| line.strip_prefix("#define RW_")).filter(|rest| !rest.contains('{'));
    let enums = header.split("enum ").skip(1).filter_map(|rest| rest.split_once('{'));
    let enums = enums.filter(|(name, _)| name.trim().chars().all(|c| c.is_alphanumeric() || c == '_'));
    let members = enums.flat_map(|(_, rest)| rest.split('}').next().unwrap().split(['\n', ',', ' ', '\t']));
    let members = members.filter_map(|part| part.strip_prefix("RW_")).filter(|name| !name.is_empty());
    let mut all: Vec<_> = macros.chain(members).map(|rest| format!("RW_{}", word(rest))).collect();
    all.sort();
    all.dedup();
    all
}

/// A program that prints what the C compiler makes of the header.
fn printer() -> String {
    let mut body = String::new();
    for (name, members) in structs() {
        let size = format!("printf(\"struct {name}: %zu bytes\\n\", sizeof(struct {name}));");
        writeln!(body, "{size}").unwrap();
        for member in members {
            let place = format!("offsetof(struct {name}, {member}), sizeof(((struct {name} *)0)->{member})");
            writeln!(body, "printf(\"struct {name}.{member}: at %zu, %zu bytes\\n\", {place});").unwrap();
        }
    }
    for name in constants() {
        writeln!(body, "printf(\"{name} = %d\\n\", (int){name});").unwrap();
    }
    format!("#include <stdio.h>\n#include <ringway.h>\nint main(void)\n{{\n{body}return 0;\n}}\n")
}

fn listing() -> String {
    let source = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("layout.c");
    std::fs::write(&source, printer()).unwrap();
    let functions: String = exported().iter().map(|name| format!("{name}\n")).collect();
    functions + &run(&compile(&source), &[])
}

#[test]
fn abi_is_as_listed() {
    let path = home().join("../../docs/api/ringway-c.txt");
    let now = listing();
    if std::env::var_os("RINGWAY_WRITE_ABI").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let listed = std::fs::read_to_string(&path).unwrap_or_default();
    let all = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (now, listed) = (all(&now), all(&listed));
    let gone: Vec<_> = listed.difference(&now).collect();
    let new: Vec<_> = now.difference(&listed).collect();
    assert!(
        gone.is_empty() && new.is_empty(),
        "the ABI is not what docs/api/ringway-c.txt lists\ngone, which breaks programs: {gone:#?}\nnew: {new:#?}\n\
         to list it as it is: RINGWAY_WRITE_ABI=1 cargo test -p ringway-c --test library abi"
    );
}

#[test]
fn abi_has_what_the_header_declares() {
    let exported: BTreeSet<_> =
        exported().iter().map(|name| name.split('@').next().unwrap().to_owned()).collect();
    assert_eq!(exported, declared());
    assert!(exported.iter().all(|name| name.starts_with("rw_")));
}

#[test]
fn abi_has_a_name() {
    let text = must(Command::new("readelf").arg("-d").arg(library()));
    assert!(text.contains("Library soname: [libringway.so.0]"), "{text}");
}
