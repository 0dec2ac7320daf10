//! `ringway switch port set` and `show`.

use ringway::switch::{Switch, SwitchPort};

use super::access::{AccessOptions, access_keys, barrier, rights};
use super::names::{OnePort, PortOf};
use super::settings::{Settings, add_keys, describe};
use crate::console::{Console, note};
use crate::errors;
use crate::failure::Failure;

/// Change who may open a port, its VLANs, isolation, storm limits and mirror
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What is not named stays as it is, and so do number and counters. Ports are transparent to VLANs until they get some, and \
then exchange frames with transparent ports only.

With --owner, --group or --mode the switch makes all that a user of the port can hold again, also when nothing changes. A process \
that has the port open loses it at its next sync, with what it had not read yet.

Examples:
  ringway switch port set vale0:p1 --owner bob
  ringway switch port set vale0:p1 --group netops --mode 660
  ringway switch port set vale0:p1 --vlan access:10
  ringway switch port set vale0:up --vlan trunk:10-20,99 --native 99
  ringway switch port set vale0:p1 --isolated true --storm broadcast=1000,unknown=500
  ringway switch port set vale0:p1 --mirror monitor        # copies of both directions
  ringway switch port set vale0:p1 --mirror monitor:rx     # of what p1 receives; tx: of what it sends
  ringway switch port set vale0:p1 --vlan transparent --storm none --mirror none")]
pub(super) struct Set {
    #[command(flatten)]
    of: OnePort,

    #[command(flatten)]
    access: AccessOptions,

    #[command(flatten)]
    settings: Settings,
}

/// Show who may open a port, its VLANs, isolation, storm limits and mirror
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ringway switch port show vale0:p1")]
pub(super) struct Show {
    #[command(flatten)]
    of: OnePort,
}

impl Set {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        if !self.access.is_given() && !self.settings.is_given() {
            return Err(Failure::Usage(errors::command::MISSING,
                "nothing to set: name --owner, --group, --mode, --vlan, --native, --isolated, --storm or --mirror".into(),
            ));
        }
        self.run_or_show(console)
    }

    /// The same, but shows the settings where nothing is to be set.
    pub(super) fn run_or_show(&self, console: Console) -> Result<(), Failure> {
        let PortOf { switch, port } = &self.of.port;
        let switch = Switch::open(switch)?;
        let was = switch.conf(port)?;
        let conf = self.settings.changed(&was)?;
        if conf != was {
            switch.set_conf(port, &conf)?;
        }
        if !self.access.is_given() {
            return print(&switch, &self.of.port, Said::Settings, console);
        }
        let mode = find(&switch, &self.of.port)?.access.mode;
        switch.set_access(port, &self.access.access(mode))?;
        let said = if self.settings.is_given() { Said::All } else { Said::Access("changed") };
        print(&switch, &self.of.port, said, console)
    }
}

impl Show {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        print(&Switch::open(&self.of.port.switch)?, &self.of.port, Said::All, console)
    }
}

/// What people read of a port; JSON has all.
#[derive(Debug, Clone, Copy)]
pub(super) enum Said {
    /// Who may open it, and what was done.
    Access(&'static str),
    Settings,
    All,
}

/// The port as the switch has it.
pub(super) fn find(switch: &Switch, of: &PortOf) -> Result<SwitchPort, Failure> {
    Ok(switch.find_port(&of.port)?)
}

/// Prints what a port is now, and warns when its users can't reach it.
pub(super) fn print(switch: &Switch, of: &PortOf, said: Said, console: Console) -> Result<(), Failure> {
    let port = find(switch, of)?;
    // A native VLAN is in the set of a trunk.
    let conf = switch.conf(&of.port)?;
    let mut object = access_keys(&port.access);
    object["switch"] = switch.name().into();
    object["port"] = port.name.as_str().into();
    object["number"] = port.number.into();
    add_keys(&mut object, &conf);
    let (number, rights, settings) = (port.number, rights(&port.access), describe(&conf));
    let text = match said {
        Said::Access(done) => format!("{done}, number {number}, {rights}"),
        Said::Settings => settings,
        Said::All => format!("number {number}, {rights}, {settings}"),
    };
    console.result(&format!("{}:{}: {text}", switch.name(), port.name), &object)?;
    if !matches!(said, Said::Settings)
        && let Some(why) = barrier(&port.access)
    {
        note(&format!("ringway: {}:{}: {why}", switch.name(), port.name));
    }
    Ok(())
}
