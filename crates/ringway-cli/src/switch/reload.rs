//! `ringway switch reload`.

use ringway::switch::Switch;
use serde_json::json;

use super::names::SwitchName;
use crate::console::Console;
use crate::failure::Failure;

/// Replace the programs of a switch by the programs of this version, while frames move
#[derive(Debug, clap::Args)]
#[command(after_help = "\
No frame is lost. A sender that gave up its right to open its port is refused at its next sync.

Examples:
  ringway switch reload vale0")]
pub(super) struct Reload {
    #[command(flatten)]
    name: SwitchName,
}

impl Reload {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        let generation = Switch::open(&self.name.switch)?.reload()?;
        let text = format!("{}: runs programs of generation {generation}", self.name.switch);
        console.result(&text, &json!({ "name": self.name.switch, "generation": generation }))?;
        Ok(())
    }
}
