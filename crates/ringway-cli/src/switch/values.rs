//! Values that files of configuration have in the words of the options, and what they need of ports.

use ringway::PortName;
use ringway::switch::{Mirror, PortAccess};

pub(crate) use super::access::{barrier, group, group_name, implied_mode, mode, user, user_name};
use super::names::PortOf;
pub(crate) use super::settings::{storm, vid, vlan};
pub(crate) use super::words::duration;
use super::{memif, settings};
use crate::errors;
use crate::failure::Failure;

/// The port that gets copies, or none.
pub(crate) fn mirror(text: &str) -> Result<Option<Mirror>, String> {
    settings::mirror(text).map(|copies| copies.0)
}

/// A memif socket with its options, as all commands write it.
pub(crate) fn memif(text: &str) -> Result<String, String> {
    memif::memif(text).map(|name| without_kind(&name))
}

fn without_kind(name: &PortName) -> String {
    let text = name.to_string();
    text.strip_prefix("memif:").unwrap_or(&text).to_owned()
}

/// The socket that a process joins a port to.
pub(crate) fn memif_of(pid: u32, switch: &str, port: &str) -> Option<String> {
    memif::socket_of(pid, switch, port).map(|name| without_kind(&name))
}

/// Refuses what can't be the name of a port.
pub(crate) fn check_port(name: &str) -> Result<(), String> {
    match format!("vale0:{name}").parse() {
        Ok(PortName::Vale { port, .. }) if port == name => Ok(()),
        _ => Err(format!("{name}: not the name of a port; take 1 to 31 letters, digits, _ or -")),
    }
}

/// Has a process in the background join a port to a memif socket, as the owner of the port; returns its number.
pub(crate) fn serve(switch: &str, port: &str, socket: &str, access: &PortAccess) -> Result<u32, Failure> {
    let name = memif::memif(socket).map_err(|e| Failure::Other(errors::command::BAD_VALUE, e))?;
    let of = PortOf { switch: switch.to_owned(), port: port.to_owned() };
    // Nobody but root runs in root's group.
    let gid = access.gid.filter(|gid| *gid != 0 || access.uid == Some(0));
    memif::in_background(&of, &name, &PortAccess { gid, ..*access })
}
