//! The program of docs/library.md is an example, which the compiler has seen.
#![allow(clippy::unwrap_used, reason = "a test")]

/// The first program of a page.
fn program(page: &str) -> &str {
    let (_, rest) = page.split_once("```rust\n").unwrap();
    rest.split_once("```\n").unwrap().0
}

#[test]
fn the_program_of_the_library_page_compiles_as_pasted() {
    let page = include_str!("../../../docs/library.md");
    let example = include_str!("../examples/count.rs");
    assert_eq!(program(page), example, "docs/library.md and examples/count.rs differ");
}
