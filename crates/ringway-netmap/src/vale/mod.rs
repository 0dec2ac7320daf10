//! Switches, as requests change and list them. They are Ringway's own, so other programs meet netmap's on them.
//!
//! | file | what |
//! | --- | --- |
//! | `made` | switches made at first use |
//! | `members` | interfaces and lasting ports made ports of a switch, and taken out |
//! | `lasting` | ports that stay, in a switch or in none |
//! | `list` | ports of switches, counted through |

mod lasting;
mod list;
mod made;
mod members;

use ringway_switch::Switch;
use ringway_sys::error::{Error, ErrorKind};

use crate::failure::{quiet, told};
use crate::memory::Errno;
use crate::name::Target;
use crate::space::Space;

pub(crate) use lasting::{LastingPort, delete_port, new_port};
pub(crate) use list::list;
pub(crate) use made::on_switch;
pub(crate) use members::{attach, detach};

/// Switch and port of a name.
///
/// # Errors
/// `EINVAL` for a name that is no port of a switch.
fn switch_and_port(name: &[u8]) -> Result<(String, String), Errno> {
    match Target::parse(name)? {
        Target::Switch { switch, port } => Ok((switch, port)),
        Target::Interface(_) | Target::Pipe { .. } => Err(Errno(libc::EINVAL)),
    }
}

/// What a change of a switch is refused with.
fn refused(e: &Error) -> Errno {
    let errno = told(e);
    if e.kind() == ErrorKind::Unfit { Errno(libc::EINVAL) } else { errno }
}

/// Whether there is a port of a switch of this name, or a lasting one of this name in a switch.
pub(crate) fn is_port_of_switch(name: &[u8]) -> Result<bool, Errno> {
    match Target::parse(name)? {
        Target::Switch { switch, port } => match Switch::open(&switch).and_then(|s| s.find_port(&port)) {
            Ok(_) => Ok(true),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(quiet(&e)),
        },
        Target::Interface(name) => {
            let space = Space::enter().map_err(|e| told(&e))?;
            let lasting = LastingPort::find(&space, &name).map_err(|e| told(&e))?;
            Ok(lasting.is_some_and(|port| port.switch_now().is_some()))
        }
        Target::Pipe { .. } => Ok(false),
    }
}
