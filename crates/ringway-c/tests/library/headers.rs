//! The header by itself: every compiler and standard that it promises, without a warning.

use std::io::Write;
use std::process::{Command, Stdio};

use super::support::{compile, home};

/// Compiles text as a program whose first line is the header; the compiler's warnings.
fn warnings(compiler: &str, language: &str, standard: &str) -> String {
    let mut command = Command::new(compiler);
    command.args(["-x", language, standard, "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion"]);
    command.args(["-O2", "-c", "-o", "/dev/null"]).arg("-I").arg(home().join("include")).arg("-");
    let command = command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("SKIP: there is no {compiler}; scripts/setup --test installs it");
            return String::new();
        }
        started => started.unwrap(),
    };
    let uses = "#include <ringway.h>\n#include <ringway.h>\n\
        uint32_t use(struct rw_ring *, struct rw_frame *);\n\
        uint32_t use(struct rw_ring *ring, struct rw_frame *frame)\n\
        { struct rw_options options = RW_OPTIONS_INIT; return (uint32_t)rw_rx_next(ring, frame) + options.slots; }\n";
    child.stdin.take().unwrap().write_all(uses.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    String::from_utf8(done.stderr).unwrap() + if done.status.success() { "" } else { "it failed" }
}

/// The program in docs/c.md, as a reader would compile it.
#[test]
fn the_guide_has_a_program() {
    let guide = std::fs::read_to_string(home().join("../../docs/c.md")).unwrap();
    let program = guide.split("```c\n").nth(1).unwrap().split("```").next().unwrap();
    let source = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("guide.c");
    std::fs::write(&source, program).unwrap();
    compile(&source);
}

#[test]
fn no_compiler_warns_of_it() {
    for (compiler, language, standards) in [
        ("cc", "c", ["-std=c99", "-std=c11"]),
        ("clang", "c", ["-std=c99", "-std=c17"]),
        ("c++", "c++", ["-std=c++11", "-std=c++17"]),
        ("clang++", "c++", ["-std=c++11", "-std=c++17"]),
    ] {
        for standard in standards {
            assert_eq!(warnings(compiler, language, standard), "", "{compiler} {standard}");
        }
    }
}
