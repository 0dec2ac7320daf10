//! The index of errors: each error of the command has a number, by which `ringway explain` knows its cause and its cure.
//!
//! A number stands for a kind of error, and the text of an error for the case. Numbers stay as they are: a new kind gets a new one.

mod code;
pub(crate) mod command;
pub(crate) mod counts;
pub(crate) mod files;
pub(crate) mod flows;
#[cfg(test)]
mod page;
pub(crate) mod ports;
pub(crate) mod processes;
pub(crate) mod switches;
pub(crate) mod testers;

use crate::console::note;

pub(crate) use code::Code;

/// A part of the command, and its kinds of errors.
pub(crate) struct Area {
    pub(crate) title: &'static str,
    pub(crate) codes: &'static [Code],
}

/// All kinds of errors, by number.
pub(crate) const INDEX: [Area; 8] = [
    Area { title: "The command line", codes: command::ALL },
    Area { title: "Ports and interfaces", codes: ports::ALL },
    Area { title: "Files", codes: files::ALL },
    Area { title: "Programs and processes", codes: processes::ALL },
    Area { title: "Switches, routers and their configuration", codes: switches::ALL },
    Area { title: "Testers and benchmarks", codes: testers::ALL },
    Area { title: "Flows of applications", codes: flows::ALL },
    Area { title: "Counters and profiles", codes: counts::ALL },
];

/// All kinds of errors.
pub(crate) fn all() -> impl Iterator<Item = Code> {
    INDEX.iter().flat_map(|area| area.codes).copied()
}

/// Prints an error on one line, with its number at the end. All errors leave the command here.
pub(crate) fn print(code: Code, text: &str) {
    note(&format!("ringway: {text} [{code}]"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_and_show_their_area() {
        let numbers: Vec<u16> = all().map(|code| code.number).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        for (n, area) in INDEX.iter().enumerate() {
            assert!(area.codes.iter().all(|code| usize::from(code.number) / 100 == n), "{}", area.title);
        }
        assert_eq!(ports::NOT_FOUND.to_string(), "E0102");
    }

    #[test]
    fn texts_are_sentences_behind_a_title() {
        for code in all() {
            assert!(!code.title.ends_with('.') && !code.title.is_empty(), "{code}");
            assert!([code.cause, code.cure].iter().all(|text| text.ends_with('.')), "{code}");
        }
    }
}
