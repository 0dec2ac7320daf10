//! `ringway switch del`.

use ringway::ErrorKind;
use ringway::pinned::is_router;
use ringway::switch::Switch;
use ringway_traffic::units::many;
use serde_json::json;

use super::names::SwitchName;
use super::port::stays_promiscuous;
use crate::console::Console;
use crate::failure::Failure;
use crate::router::del as router;

/// Remove a switch and its ports
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nothing is removed while a process has a port of it open. `ringway switch port del` removes a single port. What a killed command \
left of the switch goes too.

Examples:
  ringway switch del vale0")]
pub(super) struct Del {
    #[command(flatten)]
    name: SwitchName,
}

impl Del {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        let name = &self.name.switch;
        if is_router(name) {
            return router::remove(name, console);
        }
        let switch = match Switch::open(name) {
            Err(e) if e.kind() == ErrorKind::NotFound && router::clear(name)? => {
                return router::told_cleared(name, console);
            }
            switch => switch?,
        };
        let ports = switch.ports().len();
        let stay = switch.nics_out_of_reach();
        switch.delete()?;
        let text = format!("{name}: removed, with {}", many(ports as u64, "port"));
        console.result(&text, &json!({ "name": name, "ports": ports }))?;
        stay.iter().for_each(|nic| stays_promiscuous(name, nic));
        Ok(())
    }
}
