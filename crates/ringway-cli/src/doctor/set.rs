//! `--fix`: settings that stand in the way are set.

use std::thread::sleep;
use std::time::{Duration, Instant};

use ringway::probe::{self, Fix, Interface};
use serde_json::{Value, json};

use crate::errors;
use crate::failure::Failure;

/// How long a link gets to come back: drivers reset the device for most settings.
const LINK: Duration = Duration::from_secs(5);

/// A setting, and what came of it.
#[derive(Debug)]
pub(super) struct Set {
    fix: Fix,
    refused: Option<String>,
}

impl Set {
    pub(super) fn line(&self) -> String {
        match &self.refused {
            None => format!("did `{}`; `{}` restores", self.fix.command, self.fix.restore),
            Some(why) => format!("not done: {why}"),
        }
    }

    pub(super) fn object(&self) -> Value {
        let Fix { check, command, restore, .. } = &self.fix;
        json!({ "check": check, "command": command, "restore": restore, "refused": self.refused })
    }

    pub(super) fn is_refused(&self) -> bool {
        self.refused.is_some()
    }
}

/// Sets all that stands in the way of an interface, and waits until its link is back.
pub(super) fn all(interface: &Interface) -> Result<Vec<Set>, Failure> {
    if let Some((port, pid)) = interface.ports.first() {
        let what = format!("--fix would change {} under pid {pid}, which has {port} open", interface.name);
        return Err(Failure::Other(errors::ports::IN_USE, format!("{what}; end process {pid} first")));
    }
    let set = |fix: Fix| Set { refused: fix.apply().err().map(|e| e.to_string()), fix };
    let done: Vec<Set> = interface.fixes().into_iter().map(set).collect();
    let start = Instant::now();
    while (interface.running || !interface.up) && !done.is_empty() && start.elapsed() < LINK {
        if probe::interface(&interface.name)?.running {
            break;
        }
        sleep(Duration::from_millis(50));
    }
    Ok(done)
}
