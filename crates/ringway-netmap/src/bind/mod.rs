//! Binding: from the name in a request to rings.
//!
//! | file | what |
//! | --- | --- |
//! | `choice` | which rings of a port a mode and flags mean |
//! | `found` | the rings of a port before some of them are chosen |
//! | `interface` | interfaces and their hosts |
//! | `switch` | ports of switches |
//! | `gather` | the one rx ring of a host |
//! | `pipe` | pipes, and rings that stand alone |
//! | `lasting` | ports that stay |
//! | `monitor` | monitors, which have rings of their own |
//! | `make` | regions |
//! | `finish` | the book of the region, the interface descriptor, extra buffers |

mod choice;
mod finish;
mod found;
mod gather;
mod interface;
mod lasting;
mod make;
mod monitor;
mod pipe;
mod switch;

use crate::body::Register;
use crate::bound::Bound;
use crate::memory::Errno;
use crate::name::Target;
use crate::numbers::{Mode, flag};
use crate::space::Space;

pub(crate) use found::Found;
pub(crate) use make::{interfaces_region, known_region};

/// Binds: finds or makes the port that the request names, and writes what it got into the request.
///
/// # Errors
/// The original's: `ENXIO` for an unknown interface, `EINVAL` for a mode that the port does not have, `EBUSY` for rings that somebody has
/// for himself.
pub(crate) fn bind(name: &[u8], wish: &mut Register) -> Result<Bound, Errno> {
    let mode = Mode::of(wish.mode).ok_or(Errno(libc::EINVAL))?;
    if matches!(mode, Mode::Default | Mode::PipeMaster | Mode::PipeSlave) {
        return Err(Errno(libc::EINVAL));
    }
    if mode == Mode::Null {
        return finish::null(wish);
    }
    let target = Target::parse(name)?;
    let monitors = wish.flags & (flag::MONITOR_TX | flag::MONITOR_RX);
    if monitors == 0 && wish.flags & flag::ZCOPY_MON != 0 {
        return Err(Errno(libc::EINVAL));
    }
    let space = Space::enter().map_err(|e| crate::failure::told(&e))?;
    let found = find(&space, &target, mode, wish);
    let bound = found.and_then(|found| match monitors {
        0 => finish::bind(&target.to_string(), found, mode, wish),
        _ => monitor::bind(&space, &target.to_string(), found, mode, wish),
    });
    if bound.is_err() {
        let _ = space.regions(); // removes the folder of a region that was made for this
    }
    bound
}

/// Finds the port that a name stands for, and makes it when there is none.
fn find(space: &Space, target: &Target, mode: Mode, wish: &Register) -> Result<Found, Errno> {
    match target {
        Target::Interface(name) => match lasting::find(space, name, mode)? {
            Some(found) => Ok(found),
            None => interface::find(space, name, mode, wish),
        },
        Target::Switch { switch, port } => switch::find(space, switch, port, mode),
        Target::Pipe { parent, id, end } => pipe::find(space, (parent, id, *end), mode, wish),
    }
}

/// Finds the port that a question is about, as if it were bound to; without a binding it is gone afterwards.
pub(crate) fn ask<T>(name: &[u8], mode: Mode, answer: impl FnOnce(&Found) -> T) -> Result<T, Errno> {
    let target = Target::parse(name)?;
    let space = Space::enter().map_err(|e| crate::failure::told(&e))?;
    let found = find(&space, &target, mode, &Register { mode: mode as u32, ..Register::default() })?;
    let answer = answer(&found);
    finish::forget(&space, found);
    Ok(answer)
}
