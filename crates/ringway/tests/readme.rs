//! The program of README is an example, which the compiler has seen.
#![allow(clippy::unwrap_used, reason = "a test")]

#[test]
fn the_first_program_of_readme_compiles_as_pasted() {
    let readme = include_str!("../../../README.md");
    let (_, rest) = readme.split_once("```rust\n").unwrap();
    let (program, _) = rest.split_once("```\n").unwrap();
    assert_eq!(program, include_str!("../examples/readme.rs"), "README.md and examples/readme.rs differ");
}
