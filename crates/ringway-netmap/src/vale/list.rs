//! Ports of switches, counted through: switches by their places in the order of their names, ports by their numbers.

use ringway_switch::{Switch, switches};

use super::switch_and_port;
use crate::body::{list_place, put_list_place};
use crate::memory::Errno;

/// A switch's place, a port's number, and the name of the port.
type Place = (u16, u32, String);

/// Without a name: finds the next port at or behind the place in the body, and names it. With the name of a port: finds its place.
///
/// # Errors
/// `ENOENT` when there is no such port, or none any more. `EINVAL` for a name that is no port of a switch.
pub(crate) fn list(name: &mut Vec<u8>, body: &mut [u8]) -> Result<(), Errno> {
    let found = match name.as_slice() {
        [] => next(list_place(body)),
        name => {
            let (switch, port) = switch_and_port(name)?;
            let wanted = format!("{switch}:{port}");
            ports(|name| name == switch).find(|(.., name)| *name == wanted)
        }
    };
    let (switch, port, full) = found.ok_or(Errno(libc::ENOENT))?;
    put_list_place(body, (switch, port));
    *name = full.into_bytes();
    Ok(())
}

fn next(from: (u16, u32)) -> Option<Place> {
    ports(|_| true).find(|(switch, port, _)| (*switch, *port) >= from)
}

/// The ports of switches with such names. Switches that the caller may not open don't count, and switches that go away don't.
fn ports(wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = Place> {
    let open: Vec<Switch> = switches().iter().filter_map(|name| Switch::open(name).ok()).collect();
    let chosen = (0u16..).zip(open).filter(move |(_, switch)| wanted(switch.name()));
    chosen.flat_map(|(place, switch)| {
        let full = |name: &str| format!("{}:{name}", switch.name());
        switch.ports().into_iter().map(|port| (place, port.number, full(&port.name))).collect::<Vec<_>>()
    })
}
