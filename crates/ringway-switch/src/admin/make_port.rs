//! Making a port: nobody finds one that is half made.

use std::fs;
use std::sync::atomic::Ordering::Relaxed;

use libbpf_rs::MapHandle;

use super::access::PortAccess;
use super::load::Identity;
use super::parts::Parts;
use super::switch::Switch;
use crate::layout::{port as at, state};
use crate::secrets::Ticket;
use crate::{objects, pins};
use ringway_pinned::is_port;
use ringway_sys::dirs;
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::maps;

impl Switch {
    pub(crate) fn make_port(&self, name: &str, access: &PortAccess, flags: u32) -> Result<u32> {
        let on = format!("{}:{name}", self.name);
        // That of a host's side is not one that a port can be opened by.
        let plain = if flags & at::HOST != 0 { name.trim_end_matches('^') } else { name };
        if !is_port(plain) {
            return Err(Error::new(ErrorKind::BadName, on, "not the name of a port")
                .cure("1 to 31 letters, digits, _ or -"));
        }
        let dir = pins::port(&self.dir, name);
        if dir.exists() {
            return Err(self.taken(name, &on));
        }
        if flags & (at::NIC | at::HOST) == 0 {
            access.need_to_give(&on)?;
        }
        let number = self.choose_number().ok_or_else(|| {
            Error::new(ErrorKind::Unfit, &on, "all 254 ports are taken")
                .cure("delete one with `ringway switch port del`")
        })?;
        let of = Identity { ticket: Ticket::new(&on)?, ..self.identity(number) };
        let parts = Parts::make(self, of, &on)?;
        let state = self.make_state(number, &on)?;
        let making = pins::port(&self.dir, &format!("~{name}"));
        // One with this number may have been left half removed.
        self.flush_port(number);
        let pinned = parts.pin(self, &making, access, flags & at::NIC == 0, &on);
        let shown = pinned.and_then(|()| parts.show_to_programs(self, number, Some(&state), &on));
        let placed = shown.and_then(|()| {
            self.record_access(number, access);
            self.set_identity(number, of.epoch, of.ticket);
            // Listed before it can be opened: of a process that is killed between the two no port stays that nobody lists.
            self.add_to_list(number, name, flags);
            fs::rename(&making, &dir).map_err(|e| Error::io(&on, "pinning failed", e))
        });
        if let Err(e) = placed {
            self.forget_port(number);
            let _ = dirs::remove_tree(&making); // the next one tries again
            return Err(e);
        }
        Ok(number)
    }

    /// The refusal of a name that another port has.
    fn taken(&self, name: &str, on: &str) -> Error {
        let refuse = |what: &str| Error::new(ErrorKind::Busy, on, what);
        match self.find_port(name) {
            Ok(p) if p.gone => {
                refuse("there is a port of that name, whose interface was deleted").cure(format!(
                    "`ringway switch port del {on}` removes that port, then add the interface that has its name now"
                ))
            }
            Ok(p) if p.nic.is_some() => refuse("the interface of that name is a port already")
                .cure(format!("`ringway switch port del {on}` frees the name, `ringway switch port set` changes the port")),
            _ => refuse("there is a port of that name")
                .cure("choose another name, or change that one with `ringway switch port set`"),
        }
    }

    /// Makes the state of a port.
    fn make_state(&self, number: u32, on: &str) -> Result<MapHandle> {
        let state = maps::mapped_array("vale_state", self.shape.state(), 1, on)?;
        objects::map_values(&state, self.shape.state(), true, on)?.u32(state::PORT).store(number, Relaxed);
        Ok(state)
    }
}
