//! Interfaces and lasting ports as ports of a switch.

use ringway_switch::{NicOptions, PortAccess, Switch};
use ringway_sys::error::ErrorKind;
use ringway_sys::net;

use super::lasting::LastingPort;
use super::made::on_switch;
use super::{refused, switch_and_port};
use crate::body::{Register, put_port_index};
use crate::failure::told;
use crate::memory::Errno;
use crate::numbers::Mode;
use crate::space::Space;

/// Offset of a port's number in the answer to an attachment.
const ATTACHED: usize = 56;

/// Makes an interface, or a lasting port, a port of the switch; of an interface also its host's side, in that mode.
///
/// # Errors
/// `EINVAL` for another mode, and for a name that is no port of a switch. `ENXIO` when there is no such interface or port. `EBUSY` when it
/// is in a switch, or in use.
pub(crate) fn attach(name: &[u8], body: &mut [u8]) -> Result<(), Errno> {
    let (switch, port) = switch_and_port(name)?;
    let host = match Mode::of(Register::of(body).mode) {
        Some(Mode::AllNic) => false,
        Some(Mode::NicAndHost) => true,
        _ => return Err(Errno(libc::EINVAL)),
    };
    let space = Space::enter().map_err(|e| told(&e))?;
    let number = match LastingPort::find(&space, &port).map_err(|e| told(&e))? {
        Some(lasting) => attach_lasting(&space, lasting, &switch)?,
        None if net::exists(&port) => {
            let options = NicOptions { host, ..NicOptions::default() };
            on_switch(&switch, || Switch::open(&switch)?.attach_nic(&port, &options))
                .map_err(|e| refused(&e))?
        }
        None => return Err(Errno(libc::ENXIO)),
    };
    put_port_index(body, ATTACHED, number);
    Ok(())
}

fn attach_lasting(space: &Space, mut lasting: LastingPort, switch: &str) -> Result<u32, Errno> {
    if lasting.switch_now().is_some() || lasting.is_bound(space) {
        return Err(Errno(libc::EBUSY));
    }
    let attach = || Switch::open(switch)?.attach_port(&lasting.name, &PortAccess::default());
    let number = on_switch(switch, attach).map_err(|e| refused(&e))?;
    lasting.switch = Some(switch.to_owned());
    if let Err(e) = lasting.save(space) {
        // It is not known as one that is in the switch: nobody could bind it there by its own name.
        let _ = Switch::open(switch).and_then(|s| s.del_port(&lasting.name, true));
        return Err(told(&e));
    }
    Ok(number)
}

/// Takes a port out of the switch.
///
/// # Errors
/// `EINVAL` for a name that is no port of a switch. `ENXIO` when there is no such port. `EBUSY` when somebody has it open.
pub(crate) fn detach(name: &[u8], body: &mut [u8]) -> Result<(), Errno> {
    let (switch, port) = switch_and_port(name)?;
    let space = Space::enter().map_err(|e| told(&e))?;
    let number = detach_from(&switch, &port).map_err(|e| match e.kind() {
        ErrorKind::NotFound => Errno(libc::ENXIO),
        _ => refused(&e),
    })?;
    let lasting = LastingPort::find(&space, &port).map_err(|e| told(&e))?;
    if let Some(mut lasting) = lasting.filter(|l| l.switch.as_deref() == Some(&switch)) {
        lasting.switch = None;
        lasting.save(&space).map_err(|e| told(&e))?;
    }
    put_port_index(body, 0, number);
    Ok(())
}

fn detach_from(switch: &str, port: &str) -> ringway_sys::error::Result<u32> {
    let switch = Switch::open(switch)?;
    let number = switch.find_port(port)?.number;
    switch.del_port(port, false)?;
    Ok(number)
}
