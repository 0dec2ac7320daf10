#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod account;
pub mod books;
pub mod exporter;
pub mod history;
pub mod metrics;
pub mod ports;
pub mod rates;
pub mod routers;
pub mod stages;
pub mod switches;

/// Names may come from files of any name: control characters become `?`, so that they do not reach a terminal.
///
/// ```
/// assert_eq!(ringway_watch::printable("a\x1b[2Jb"), "a?[2Jb");
/// ```
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn control_characters_are_hidden() {
        assert_eq!(printable("a\x1b[2Jb\n\u{9b}é"), "a?[2Jb??é");
    }
}
