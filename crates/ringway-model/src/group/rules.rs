//! Files of rules: ordered regular expressions for names of functions, the first that fits counts.

use std::fmt;

use regex::{RegexSet, RegexSetBuilder};

use super::{FOREIGN, IDLE, OTHER};
use crate::symbol::{Frame, Kind};

/// Groups with their rules.
///
/// ```
/// use ringway_model::group::Groups;
/// let groups = Groups::parse("name mine\npath ^main_loop$\n# a comment\nRX ^receive\nfree ^(put|drop)_buffer$\n").unwrap();
/// assert_eq!(groups.columns().collect::<Vec<_>>(), ["RX", "free", "other"]);
/// ```
#[derive(Debug, Clone)]
pub struct Groups {
    name: String,
    about: String,
    /// Columns of tables, in their order; the last is `other`.
    columns: Vec<String>,
    rules: RegexSet,
    /// What each rule gives.
    gives: Vec<Gives>,
    path: Option<RegexSet>,
}

/// What a rule says of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gives {
    /// It has a group, by its column.
    Column(u8),
    /// It is no part of the path: idle, or foreign.
    Idle,
    /// As above.
    Foreign,
    /// It is a helper: the caller counts.
    Nothing,
}

/// Why a file has no groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// The line, from 1 on; 0 is the whole file.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.what),
            line => write!(f, "line {line}: {}", self.what),
        }
    }
}

impl std::error::Error for RuleError {}

/// A file has at most so many rules, so many groups, and patterns of so many bytes in all.
const MOST_RULES: usize = 1000;
const MOST_GROUPS: usize = 32;
const MOST_BYTES: usize = 256 << 10;

/// The order of columns in tables, whatever the order of rules. Other groups follow.
const ORDER: [&str; 9] =
    ["RX", "alloc", "prerouting", "routing", "switch", "postrouting", "free", "TX", "sched"];

impl Groups {
    /// Reads a file of rules.
    ///
    /// # Errors
    /// The line that is wrong, and how.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        if text.len() > MOST_BYTES {
            return Err(RuleError { line: 0, what: format!("it has more than {MOST_BYTES} bytes") });
        }
        let mut file = File::default();
        for (n, line) in text.lines().enumerate() {
            file.line(line.trim()).map_err(|what| RuleError { line: n + 1, what })?;
        }
        file.done()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is for, in a line.
    #[must_use]
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The groups that make up the cost of a packet, in the order of tables; the last is `other`.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(String::as_str)
    }

    /// What the first fitting rule says of a function; `None` without one. Threads have no rules.
    pub(super) fn of(&self, frame: &Frame) -> Option<Gives> {
        if frame.kind == Kind::Thread {
            return None;
        }
        self.rules.matches(&frame.name).iter().next().map(|rule| self.gives[rule])
    }

    /// Whether a function begins the path. Without a rule for that all is part of it.
    pub(super) fn begins_path(&self, frame: &Frame) -> bool {
        frame.kind != Kind::Thread && self.path.as_ref().is_none_or(|path| path.is_match(&frame.name))
    }

    /// Whether only a part of what runs is the path.
    pub(super) fn has_path(&self) -> bool {
        self.path.is_some()
    }
}

/// A file while it is read.
#[derive(Default)]
struct File {
    name: String,
    about: String,
    path: Vec<String>,
    rules: Vec<(String, String)>,
}

impl File {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (word, rest) = line
            .split_once(char::is_whitespace)
            .ok_or("expected: a group, a blank, and a regular expression")?;
        let rest = rest.trim();
        match word {
            "name" => rest.clone_into(&mut self.name),
            "about" => rest.clone_into(&mut self.about),
            "path" => self.path.push(checked(rest)?),
            group => self.rules.push((named(group)?, checked(rest)?)),
        }
        if self.rules.len() > MOST_RULES {
            return Err(format!("there are more than {MOST_RULES} rules"));
        }
        Ok(())
    }

    fn done(self) -> Result<Groups, RuleError> {
        let whole = |what: String| RuleError { line: 0, what };
        if self.rules.is_empty() {
            return Err(whole("it has no rules".to_owned()));
        }
        let columns = self.columns();
        if columns.len() > MOST_GROUPS {
            return Err(whole(format!("it has more than {MOST_GROUPS} groups")));
        }
        let gives = self.rules.iter().map(|(group, _)| gives(group, &columns)).collect();
        let rules = set(self.rules.iter().map(|(_, pattern)| pattern)).map_err(whole)?;
        let path = (!self.path.is_empty()).then(|| set(self.path.iter())).transpose().map_err(whole)?;
        let name = if self.name.is_empty() { "unnamed".to_owned() } else { self.name };
        Ok(Groups { name, about: self.about, columns, rules, gives, path })
    }

    /// Each group once, in the order of tables.
    fn columns(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for (group, _) in &self.rules {
            if !["-", IDLE, FOREIGN, OTHER].contains(&group.as_str()) && !found.contains(group) {
                found.push(group.clone());
            }
        }
        let place = |group: &String| ORDER.iter().position(|o| o == group).unwrap_or(ORDER.len());
        found.sort_by_key(place);
        found.push(OTHER.to_owned());
        found
    }
}

fn gives(group: &str, columns: &[String]) -> Gives {
    match group {
        "-" => Gives::Nothing,
        IDLE => Gives::Idle,
        FOREIGN => Gives::Foreign,
        group => Gives::Column(columns.iter().position(|c| c == group).unwrap_or(columns.len() - 1) as u8),
    }
}

fn named(group: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match group == "-" || (group.len() <= 20 && group.chars().all(fits)) {
        true => Ok(group.to_owned()),
        false => Err(format!("{group:?} is no name of a group: use at most 20 letters, digits and _")),
    }
}

fn checked(pattern: &str) -> Result<String, String> {
    match regex::Regex::new(pattern) {
        Ok(_) => Ok(pattern.to_owned()),
        Err(e) => Err(format!(
            "the regular expression is wrong: {}",
            e.to_string().lines().last().unwrap_or_default().trim()
        )),
    }
}

fn set<'a>(patterns: impl Iterator<Item = &'a String>) -> Result<RegexSet, String> {
    RegexSetBuilder::new(patterns).build().map_err(|e| format!("its rules are too large together: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str) -> Frame {
        Frame { kind: Kind::Kernel, name: name.into(), file: String::new() }
    }

    #[test]
    fn the_first_rule_that_fits_counts() {
        let groups = Groups::parse("TX ^a$\nzeta ^a\n- ^ab\nRX .\nidle ^never").unwrap();
        assert_eq!(groups.columns().collect::<Vec<_>>(), ["RX", "TX", "zeta", "other"]);
        let of = |name| groups.of(&function(name));
        assert_eq!([of("a"), of("ab"), of("b")], [1, 2, 0].map(|c| Some(Gives::Column(c))));
        assert_eq!(groups.of(&Frame { kind: Kind::Thread, ..function("a") }), None);
        assert!(groups.begins_path(&function("any")));
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, line, words) in [
            ("", 0, "no rules"),
            ("RX ^a\nRX", 2, "expected"),
            ("RX (", 1, "unclosed"),
            ("R/X a", 1, "no name of a group"),
        ] {
            let e = Groups::parse(text).unwrap_err();
            assert!(e.line == line && e.what.contains(words) && !e.to_string().contains('\n'), "{text}: {e}");
        }
        let many: String = (0..2000).map(|n| format!("RX a{n}\n")).collect();
        assert!(Groups::parse(&many).unwrap_err().what.contains("more than 1000"));
    }
}
