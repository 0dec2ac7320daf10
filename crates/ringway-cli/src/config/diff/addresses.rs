//! The difference in the addresses of one switch that stay.

use crate::config::keys::of_address;
use crate::config::notes::Notes;
use crate::config::plan::Step;
use crate::config::state::{ExistingSwitch, Switch};

/// What is to be set.
pub(super) fn changed(notes: &mut Notes, switch: &str, want: &Switch, is: &ExistingSwitch) -> Vec<Step> {
    let mut steps = Vec::new();
    for (station, to) in &want.addresses {
        let (was, name) = (is.state.addresses.get(station), format!("{switch} {station}"));
        match was {
            Some(was) if was == to => continue,
            Some(was) => {
                notes.alter("address", name, of_address(was.as_ref()), of_address(to.as_ref()));
            }
            None => notes.add("address", name, of_address(to.as_ref())),
        }
        steps.push(Step::SetAddress { station: *station, was: was.cloned(), to: to.clone() });
    }
    steps
}

/// Addresses that no file names.
pub(super) fn pruned(notes: &mut Notes, switch: &str, want: &Switch, is: &ExistingSwitch) {
    for (station, place) in &is.state.addresses {
        if !want.addresses.contains_key(station) {
            notes.remove("address", format!("{switch} {station}"), of_address(place.as_ref()));
            notes.step(Step::ForgetAddress(*station));
        }
    }
}
