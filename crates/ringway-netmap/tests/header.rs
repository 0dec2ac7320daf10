//! `net/netmap.h` says what netmap's interface is, in C and in C++.

use std::process::Command;

fn compile(compiler: &str, language: &[&str]) {
    let folder = env!("CARGO_MANIFEST_DIR");
    let command = Command::new(compiler)
        .args(language)
        .args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"])
        .arg(format!("{folder}/include"))
        .arg(format!("{folder}/tests/c/layout.c"))
        .output();
    let output = command.unwrap_or_else(|e| panic!("{compiler}: {e}; `make setup` installs it"));
    assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn layout_in_c() {
    compile("cc", &["-std=gnu99"]);
    compile("cc", &["-std=gnu17"]);
}

#[test]
fn layout_in_cpp() {
    compile("c++", &["-x", "c++", "-std=c++17"]);
}
