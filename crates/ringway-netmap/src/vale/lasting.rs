//! Ports that stay until they are deleted. A file for each says what rings it has, and the switch that it is in.
//!
//! While it is in no switch, nobody fills or empties its rings. In a switch it is the switch's port of its name.

use std::io::Read;

use ringway_switch::Switch;
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::net;

use crate::body::NewPort;
use crate::failure::told;
use crate::ledger::RegionKind;
use crate::memory::Errno;
use crate::served::Settings;
use crate::space::{Space, is_in_use};
use crate::sys::kernel::namespace_cookie;

/// Bytes of a name at most, as of an interface's.
const NAME_MAX: usize = 15;
/// Rings of a direction, and slots of a ring, at most.
const RINGS_MAX: u16 = 16;
const SLOTS_MAX: u32 = 4096;
/// Bytes of a file at most.
const FILE_MAX: u64 = 256;

/// A port that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LastingPort {
    pub(crate) name: String,
    pub(crate) slots: u32,
    /// tx and rx.
    pub(crate) rings: [u32; 2],
    /// The switch that it was put into.
    pub(crate) switch: Option<String>,
}

impl LastingPort {
    /// The port of that name.
    pub(crate) fn find(space: &Space, name: &str) -> Result<Option<Self>> {
        if !is_name(name) {
            return Ok(None);
        }
        let Some(dir) = space.lasting_ports()? else { return Ok(None) };
        let mut text = String::new();
        match dir.open_file(name) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?.take(FILE_MAX).read_to_string(&mut text).map_err(|e| failed(name, e))?,
        };
        let (cookie, port) = Self::parse(name, &text).ok_or_else(|| {
            let at = dir.path().join(name).display().to_string();
            Error::new(ErrorKind::Invalid, at, "the file describes no port").cure("remove it")
        })?;
        // Another namespace may have had the number of this one.
        Ok((cookie == namespace_cookie().map_err(|e| failed(name, e))?).then_some(port))
    }

    fn parse(name: &str, text: &str) -> Option<(u64, Self)> {
        let mut words = text.split_whitespace();
        let cookie = words.next()?.parse().ok()?;
        let slots = words.next()?.parse().ok().filter(|slots| (2..=SLOTS_MAX).contains(slots))?;
        let mut rings = || words.next()?.parse().ok().filter(|rings| (1..=RINGS_MAX.into()).contains(rings));
        let rings = [rings()?, rings()?];
        let switch = words.next().map(str::to_owned);
        Some((cookie, Self { name: name.to_owned(), slots, rings, switch }))
    }

    fn text(&self, cookie: u64) -> String {
        let [tx, rx] = self.rings;
        format!("{cookie} {} {tx} {rx} {}\n", self.slots, self.switch.as_deref().unwrap_or_default())
    }

    /// Writes its file.
    pub(crate) fn save(&self, space: &Space) -> Result<()> {
        let cookie = namespace_cookie().map_err(|e| failed(&self.name, e))?;
        space.make_lasting_ports()?.replace(&self.name, self.text(cookie).as_bytes())
    }

    /// The switch that it is in, unless somebody took it out there.
    pub(crate) fn switch_now(&self) -> Option<String> {
        let switch = self.switch.as_ref()?;
        match Switch::open(switch).and_then(|s| s.find_port(&self.name)) {
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            _ => Some(switch.clone()),
        }
    }

    /// What its region is called while it is bound outside of a switch.
    pub(crate) fn region_key(&self) -> String {
        format!("port {}", self.name)
    }

    /// Whether somebody has it bound outside of a switch.
    pub(crate) fn is_bound(&self, space: &Space) -> bool {
        let key = self.region_key();
        let regions = space.regions();
        let own =
            regions.iter().map(|(_, ledger)| ledger).find(|l| l.kind == RegionKind::Virtual && l.key == key);
        own.is_some_and(is_in_use)
    }
}

fn failed(name: &str, e: std::io::Error) -> Error {
    Error::io(name, "reading or writing the file of the port failed", e)
}

/// Whether a port may be called so. Names of switches begin with `vale`.
fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with("vale")
}

fn checked_name(name: &[u8]) -> std::result::Result<&str, Errno> {
    std::str::from_utf8(name).ok().filter(|name| is_name(name)).ok_or(Errno(libc::EINVAL))
}

/// Makes a port that stays. The answer says what it has; its memory gets a number when it is bound, so that is 0.
///
/// # Errors
/// `EINVAL` for a name that no port has; `EEXIST` when there is such a port, or an interface.
pub(crate) fn new_port(name: &[u8], body: &mut [u8]) -> std::result::Result<(), Errno> {
    let name = checked_name(name)?;
    let wish = NewPort::of(body);
    let space = Space::enter().map_err(|e| told(&e))?;
    if net::exists(name) || LastingPort::find(&space, name).map_err(|e| told(&e))?.is_some() {
        return Err(Errno(libc::EEXIST));
    }
    let slots = match wish.slots[0].max(wish.slots[1]) {
        0 => Settings::read().map_err(|e| told(&e))?.slots,
        wanted => wanted.clamp(2, SLOTS_MAX),
    };
    let rings = wish.rings.map(|rings| rings.clamp(1, RINGS_MAX));
    let port = LastingPort { name: name.to_owned(), slots, rings: rings.map(u32::from), switch: None };
    port.save(&space).map_err(|e| told(&e))?;
    NewPort { slots: [slots; 2], rings, mem_id: 0 }.put(body);
    Ok(())
}

/// Deletes it.
///
/// # Errors
/// `ENXIO` when there is none of that name, `EBUSY` while it is bound or in a switch.
pub(crate) fn delete_port(name: &[u8]) -> std::result::Result<(), Errno> {
    let name = checked_name(name)?;
    let space = Space::enter().map_err(|e| told(&e))?;
    let port = LastingPort::find(&space, name).map_err(|e| told(&e))?.ok_or(Errno(libc::ENXIO))?;
    if port.switch_now().is_some() || port.is_bound(&space) {
        return Err(Errno(libc::EBUSY));
    }
    space.make_lasting_ports().and_then(|dir| dir.remove(name)).map_err(|e| told(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_a_port_is() {
        for switch in [None, Some("vale0".to_owned())] {
            let port = LastingPort { name: "ve0".into(), slots: 64, rings: [2, 1], switch };
            assert_eq!(LastingPort::parse("ve0", &port.text(7)), Some((7, port)));
        }
        for bad in ["", "7", "7 64 1", "7 1 1 1", "7 64 0 1", "7 64 1 17", "x 64 1 1", "7 4097 1 1"] {
            assert_eq!(LastingPort::parse("ve0", bad), None, "{bad}");
        }
    }

    #[test]
    fn names_are_those_of_interfaces() {
        assert!(is_name("ve0") && is_name("a_b-c"));
        for bad in ["", "vale0", "../x", "a.new", "a:b", "sixteen-letters-"] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
