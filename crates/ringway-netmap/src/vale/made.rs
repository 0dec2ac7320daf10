//! Switches made at first use, as netmap makes them. One that was made so goes away with its last port; one that root made stays.

use ringway_switch::{Switch, SwitchSpec, switches};
use ringway_sys::error::{ErrorKind, Result};

/// How often something is tried at a switch whose last port goes away meanwhile.
const TRIES: u32 = 50;

/// Does something that needs the switch, which is made before if there is none.
///
/// # Errors
/// What `act` fails with. When the caller may make no switch, that, with what to run.
pub(crate) fn on_switch<T>(name: &str, act: impl Fn() -> Result<T>) -> Result<T> {
    let exists = || switches().iter().any(|switch| switch == name);
    for _ in 1..TRIES {
        if !exists() {
            make(name)?;
        }
        match act() {
            Err(e) if e.kind() == ErrorKind::NotFound && !exists() => {}
            Err(e) => {
                Switch::remove_passing(name); // if this was to be its first port
                return Err(e);
            }
            done => return done,
        }
    }
    act()
}

fn make(name: &str) -> Result<()> {
    match Switch::create_passing(name, &SwitchSpec::default()) {
        Err(e) if e.kind() == ErrorKind::Busy => Ok(()), // another process made it
        Err(e) => Err(e.cure_if_denied(format!("have root make it: `ringway switch add {name}`"))),
        Ok(_) => Ok(()),
    }
}
