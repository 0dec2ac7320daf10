//! What all reports say of themselves: where they come from, and what keeps them from being whole.

use ringway_lab::Conditions;
use serde::{Deserialize, Serialize};

use ringway_tester::report::page;

/// Whose time a benchmark ran in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeKind {
    /// The real clock.
    Real,
    /// A virtual clock, a modelled device: exact, and nothing to do with speed.
    Virtual,
    /// A virtual clock, real ports in lock step with it: counts are exact, rates are those asked for.
    LockStep,
}

/// What a report comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Version of the program.
    pub version: String,
    /// The command line.
    pub command: String,
    /// Whose time.
    pub time: TimeKind,
    /// What the real clock is read from.
    pub clock_source: String,
    /// What was measured: a modelled device, or what lies between ports.
    pub device: String,
    /// Ports and what serves them.
    pub ports: Vec<(String, String)>,
    /// The machine.
    pub conditions: Conditions,
}

/// What a reader has to know beside the numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caveats {
    /// What keeps it from being a benchmark of its RFC without qualification.
    pub partial: Vec<String>,
    /// What else a reader has to know.
    pub notes: Vec<String>,
    /// The user ended it, or something failed: the rest is missing.
    pub interrupted: bool,
}

impl Origin {
    /// What a report of a benchmark of `rfc` may be called.
    #[must_use]
    pub fn title(&self, rfc: &str, qualified: bool) -> String {
        match (self.time, qualified) {
            (TimeKind::Real, false) => format!("{rfc} benchmark"),
            (TimeKind::Real, true) => format!("Partial benchmark after {rfc}"),
            (_, false) => format!("{rfc} benchmark in virtual time"),
            (_, true) => format!("Partial benchmark after {rfc}, in virtual time"),
        }
    }

    /// What has to be said of its time, with this kind of model.
    fn label(&self, model: &str) -> String {
        match self.time {
            TimeKind::Real => format!("real time, clock {}", self.clock_source),
            TimeKind::Virtual => {
                format!("virtual time and a modelled {model}: exact, and no statement about speed")
            }
            TimeKind::LockStep => {
                "virtual time in lock step with real ports: counts are exact, rates are those asked for"
                    .into()
            }
        }
    }

    /// The beginning of a page, with its header.
    #[must_use]
    pub fn header(&self, title: &str, labels: &[String]) -> String {
        let timed = self.time == TimeKind::Real;
        let head = page::head(title, &self.device, labels);
        head + &page::origin(&self.conditions, &self.command, timed) + "</header>\n"
    }

    /// The beginning of a text for the terminal.
    #[must_use]
    pub fn opening(&self, title: &str, labels: &[String]) -> String {
        let labels: String = labels.iter().map(|label| format!("  {label}\n")).collect();
        format!("{title}: {}\n{labels}", self.device)
    }
}

impl Caveats {
    /// What has to stand next to every number: time, links, what else there is to say, and what keeps it from being whole.
    #[must_use]
    pub fn labels(&self, origin: &Origin, model: &str, links: String, more: Option<String>) -> Vec<String> {
        let early = self.interrupted.then(|| "PARTIAL: it ended early".into());
        let partial = self.partial.iter().map(|why| format!("partial: {why}"));
        [origin.label(model), links].into_iter().chain(early).chain(more).chain(partial).collect()
    }

    /// The section of a page with results that are missing, and notes.
    #[must_use]
    pub fn section(&self, missing: impl Iterator<Item = String>) -> String {
        let all = missing.chain(self.notes.iter().cloned());
        let items: String = all.map(|text| format!("<li>{}</li>\n", page::escape(&text))).collect();
        match items.as_str() {
            "" => items,
            _ => format!("<section>\n<h2>Notes</h2>\n<ul>\n{items}</ul>\n</section>\n"),
        }
    }

    /// The notes for the terminal.
    #[must_use]
    pub fn text(&self) -> String {
        self.notes.iter().map(|note| format!("Note: {note}\n")).collect()
    }
}
