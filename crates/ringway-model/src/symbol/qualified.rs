//! Whole names for functions of Rust. Debug data of release builds name an inlined function without its path, and with its types:
//! `push<u8>`. The file that has it gives the path: `alloc::vec::push`.

use std::path::Path;

/// The name of a function with its path. One that has a path already, or that is not from Rust, stays as it is.
pub(super) fn qualified(name: &str, dir: Option<&Path>, file: Option<&str>) -> String {
    let plain = without_types(name);
    let path = || module(&dir.unwrap_or(Path::new("")).join(file?).to_string_lossy());
    match plain.contains("::") || plain.starts_with('<') {
        true => plain.to_owned(),
        false => path().map_or_else(|| plain.to_owned(), |path| format!("{path}::{plain}")),
    }
}

/// A name without the types at its end. That of an implementation begins with its type, which stays.
fn without_types(name: &str) -> &str {
    match name.find('<') {
        Some(at) if at > 0 && name.ends_with('>') && !name[..at].ends_with("::") => &name[..at],
        _ => name,
    }
}

/// The module of a file of Rust: what is before `src` is the crate, what is behind it the path.
fn module(file: &str) -> Option<String> {
    let (above, below) = file.strip_suffix(".rs")?.rsplit_once("/src/")?;
    let folder = above.rsplit('/').next()?;
    // Sources from a registry have their version behind the name.
    let krate = match folder.rsplit_once('-') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => name,
        _ => folder,
    };
    let parts = below.split('/').filter(|part| !matches!(*part, "mod" | "lib" | "main" | "bin"));
    Some(
        std::iter::once(krate.replace('-', "_"))
            .chain(parts.map(str::to_owned))
            .collect::<Vec<_>>()
            .join("::"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_give_paths() {
        for (name, dir, file, whole) in [
            ("word", "/w/crates/ringway/src", "ring/own_view.rs", "ringway::ring::own_view::word"),
            ("push<u8>", "/rustc/5980", "library/alloc/src/vec/mod.rs", "alloc::vec::push"),
            (
                "find<a::B, c::D>",
                "/root/.cargo/registry/src/index-1949/regex-automata-0.4.9/src",
                "dfa.rs",
                "regex_automata::dfa::find",
            ),
            ("ringway_fib::lookup", "/w/crates/ringway-fib/src", "lib.rs", "ringway_fib::lookup"),
            ("<a::B as c::D>::e", "/w/crates/x/src", "lib.rs", "<a::B as c::D>::e"),
            ("{closure#0}<u8>", "/w/crates/ringway-cli/src", "main.rs", "ringway_cli::{closure#0}"),
            ("xsk_ring_prod__submit", "/usr/include/xdp", "xsk.h", "xsk_ring_prod__submit"),
        ] {
            assert_eq!(qualified(name, Some(Path::new(dir)), Some(file)), whole);
        }
        assert_eq!(qualified("main", None, None), "main");
    }
}
