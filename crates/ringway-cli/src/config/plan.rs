//! What is to be done: lines for people, and steps for the machine.

use std::fmt;

use ringway::switch::{PortAccess, PortConf, SwitchSpec};
use serde_json::{Map, Value, json};

use super::keys::Keys;
use super::state::{Member, Router};
use crate::switch::station::Station;

/// All that is to be done with one switch or router. It is done as a whole, or not at all.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) lines: Vec<Line>,
    pub(super) steps: Vec<Step>,
    /// Why it can't be done. Then nothing of it is.
    pub(super) obstacle: Option<String>,
}

/// The port of an address; `None`: frames to it are dropped.
pub(super) type Place = Option<String>;

/// One change of a switch or router, in the order in which they can be made.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    MakeSwitch(SwitchSpec),
    /// A member whose interface was deleted.
    DropGone(String),
    AddMember(String, Member),
    AddPort(String, PortAccess),
    SetConf {
        port: String,
        was: PortConf,
        conf: PortConf,
    },
    SetAccess {
        port: String,
        was: PortAccess,
        access: PortAccess,
    },
    /// Joins a port to a memif socket.
    Serve {
        port: String,
        memif: String,
        access: PortAccess,
    },
    SetAddress {
        station: Station,
        was: Option<Place>,
        to: Place,
    },
    ForgetAddress(Station),
    /// `force`: also while a process has it open.
    RemovePort {
        port: String,
        force: bool,
    },
    RemoveSwitch,
    MakeRouter(Router),
    /// Starts the process of a router that has none.
    StartProcess(Router),
    Join(String),
    Leave(String),
    RemoveRouter,
}

/// A line of the difference.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) change: Change,
    /// `switch`, `port`, `member`, `address` or `router`.
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) was: Keys,
    pub(super) to: Keys,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Add,
    Alter,
    Remove,
}

impl Change {
    fn sign(self) -> char {
        match self {
            Self::Add => '+',
            Self::Alter => '~',
            Self::Remove => '-',
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Alter => "change",
            Self::Remove => "remove",
        }
    }
}

impl Line {
    /// The same as keys of JSON.
    pub(super) fn object(&self) -> Value {
        let keys = |keys: &Keys| -> Map<String, Value> {
            keys.iter().map(|(key, value)| ((*key).to_owned(), value.as_str().into())).collect()
        };
        json!({
            "change": self.change.word(),
            "kind": self.kind,
            "name": self.name,
            "was": keys(&self.was),
            "to": keys(&self.to),
        })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.change.sign(), self.kind, self.name)?;
        let mut on_the_line =
            |keys: &Keys| keys.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"));
        match self.change {
            Change::Add => on_the_line(&self.to),
            Change::Remove => on_the_line(&self.was),
            Change::Alter => {
                let sides = [('-', &self.was), ('+', &self.to)];
                let mut all = sides.iter().flat_map(|(sign, keys)| keys.iter().map(move |key| (sign, key)));
                all.try_for_each(|(sign, (key, value))| write!(f, "\n{sign}   {key}={value}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_a_diff() {
        let line = |change, was: &[(&'static str, &str)], to: &[(&'static str, &str)]| {
            let keys =
                |keys: &[(&'static str, &str)]| keys.iter().map(|(k, v)| (*k, (*v).to_owned())).collect();
            Line { change, kind: "port", name: "vale0:p1".into(), was: keys(was), to: keys(to) }.to_string()
        };
        assert_eq!(line(Change::Add, &[], &[("mode", "\"660\"")]), "+ port vale0:p1 mode=\"660\"");
        assert_eq!(
            line(Change::Alter, &[("isolated", "false")], &[("isolated", "true")]),
            "~ port vale0:p1\n-   isolated=false\n+   isolated=true"
        );
        assert_eq!(line(Change::Remove, &[], &[]), "- port vale0:p1");
        assert_eq!(line(Change::Remove, &[("netns", "\"a\"")], &[]), "- port vale0:p1 netns=\"a\"");
    }
}
