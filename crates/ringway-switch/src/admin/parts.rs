//! What a port consists of, but for its state: region, doorbells and programs. They are made together for the users who may open
//! the port, and made again for others.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use libbpf_rs::{MapCore, MapFlags, MapHandle};

use super::access::PortAccess;
use super::code::Code;
use super::load::{self, Identity};
use super::switch::Switch;
use crate::layout::{RINGS_MAX, ctl, port as at};
use crate::shape::Shape;
use crate::{objects, pins};
use ringway_abi::{FIRST_BUF, Place};
use ringway_sys::error::{Error, Result};
use ringway_sys::libbpf::refused;
use ringway_sys::maps;
use ringway_sys::mmap::Mmap;
use ringway_sys::{bpffs, dirs};

/// New parts of a port, which nobody can find yet.
pub(super) struct Parts {
    region: MapHandle,
    bells: Vec<MapHandle>,
    /// Takes what the user sends.
    send: OwnedFd,
    /// Tells the user how far programs came, and the ticket of the port.
    look: OwnedFd,
}

/// Lays out the region of a port: tx rings first, each slot with a buffer of its own.
fn lay_out(region: &Mmap, shape: Shape, name: &str) {
    let rings: Vec<u32> = (0..2 * shape.rings).collect();
    let place = Place {
        layout: &shape.region(),
        interface: 0,
        rings: &rings,
        tx_rings: shape.rings,
        slots: shape.slots,
        host: false,
    };
    let mut next = FIRST_BUF;
    let take_buf = || {
        next += 1;
        next - 1
    };
    place.lay_out(name, take_buf, |at, bytes| region.write(at, bytes));
}

impl Parts {
    pub(super) fn make(switch: &Switch, of: Identity, on: &str) -> Result<Self> {
        let shape = switch.shape;
        let layout = shape.region();
        let region = maps::mapped_array("vale_region", layout.total, 1, on)?;
        let memory: Arc<Mmap> = objects::map_values(&region, layout.total, true, on)?;
        lay_out(&memory, shape, on);
        let bells = (0..shape.rings).map(|_| maps::bell("vale_bell", on)).collect::<Result<_>>()?;
        let send = switch.sender(of, on)?;
        let look = load::load_look(&switch.maps, shape, of, on)?;
        Ok(Self { region, bells, send, look })
    }

    /// Says how far the user of each rx ring has read: all before these positions.
    pub(super) fn set_read_positions(&self, shape: Shape, read: &[u32], on: &str) -> Result<()> {
        let len = shape.region().ctl(2 * shape.rings);
        let mem = objects::map_values(&self.region, len, true, on)?;
        for (ring, position) in (shape.rings..).zip(read) {
            let head = position & (shape.slots - 1);
            mem.u32(shape.region().ctl(ring) + ctl::HEAD).store(head, Relaxed);
        }
        Ok(())
    }

    /// Pins all in `dir`, which is made, with the rights that `access` gives; `opened`: by clients, and not an interface.
    ///
    /// Users of the port get its files and the directory that they lock. The directory in which these lie stays root's: nobody
    /// else puts anything there.
    pub(super) fn pin(
        &self,
        switch: &Switch,
        dir: &Path,
        access: &PortAccess,
        opened: bool,
        on: &str,
    ) -> Result<()> {
        let io = |e| Error::io(on, format!("pinning in {} failed", dir.display()), e);
        dirs::remove_tree(dir).map_err(io)?;
        dirs::make(dir, 0o755).map_err(io)?;
        let bells = self.bells.iter().enumerate().map(|(r, bell)| (format!("bell{r}"), bell.as_fd()));
        let named = [
            ("region".to_owned(), self.region.as_fd()),
            ("send".to_owned(), self.send.as_fd()),
            ("look".to_owned(), self.look.as_fd()),
        ];
        for (name, object) in named.into_iter().chain(bells) {
            bpffs::pin_for(object, &dir.join(name), access.owner(), access.file_mode()).map_err(io)?;
        }
        if opened {
            pin_out_programs(&switch.dir, dir, access).map_err(io)?;
        }
        let lock = pins::in_use(dir);
        dirs::make(&lock, 0o700).map_err(io)?;
        dirs::give(&lock, access.owner(), access.search_mode()).map_err(io)
    }

    /// Puts the maps where programs look for them. Each call waits for an RCU grace period, so they run side by side.
    pub(super) fn show_to_programs(
        &self,
        switch: &Switch,
        number: u32,
        state: Option<&MapHandle>,
        on: &str,
    ) -> Result<()> {
        let put = |outer: &MapHandle, key: u32, inner: &[&MapHandle]| {
            let keys: Vec<u8> = (key..).take(inner.len()).flat_map(u32::to_ne_bytes).collect();
            let fds: Vec<u8> = inner.iter().flat_map(|m| m.as_fd().as_raw_fd().to_ne_bytes()).collect();
            outer
                .update_batch(&keys, &fds, inner.len() as u32, MapFlags::ANY, MapFlags::ANY)
                .map_err(|e| refused(on, "adding the port to the switch", &e))
        };
        let maps = &switch.maps;
        thread::scope(|s| {
            let bells =
                s.spawn(|| put(&maps.bells, number * RINGS_MAX, &self.bells.iter().collect::<Vec<_>>()));
            let state = s.spawn(|| state.map_or(Ok(()), |state| put(&maps.states, number, &[state])));
            let region = put(&maps.regions, number, &[&self.region]);
            let joined = |t: thread::ScopedJoinHandle<'_, Result<()>>| t.join().expect("it does not panic");
            joined(bells).and(joined(state)).and(region)
        })
    }
}

/// Shows the programs of all NICs to users of the port in `dir`.
fn pin_out_programs(switch_dir: &Path, dir: &Path, access: &PortAccess) -> io::Result<()> {
    dirs::make(&pins::nics(dir), 0o755)?;
    for out in fs::read_dir(pins::outs(switch_dir)).into_iter().flatten().flatten() {
        pin_out_program(
            bpffs::get(&out.path(), true)?.as_fd(),
            dir,
            &out.file_name().to_string_lossy(),
            access,
        )?;
    }
    Ok(())
}

/// Shows the program of a NIC to users of the port in `dir`, instead of one that a killed process left.
pub(crate) fn pin_out_program(
    out: BorrowedFd<'_>,
    dir: &Path,
    name: &str,
    access: &PortAccess,
) -> io::Result<()> {
    let path = pins::nics(dir).join(name);
    remove_pin(&path)?;
    bpffs::pin_for(out, &path, access.owner(), access.file_mode())
}

/// Removes a pin, if there is one.
pub(crate) fn remove_pin(pin: &Path) -> io::Result<()> {
    match fs::remove_file(pin) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

impl Switch {
    /// The program that takes what users send: that of all ports, or with a user's module a new one.
    fn sender(&self, of: Identity, on: &str) -> Result<OwnedFd> {
        match self.code()? {
            Code::Bridge | Code::Hub => objects::open_pin(&pins::send(&self.dir), true, on),
            code @ Code::Custom(_) => load::load_send(&self.maps, &code, self.shape, of, on),
        }
    }

    /// Directory and rights of each port that clients may open.
    pub(crate) fn opened(&self) -> impl Iterator<Item = (PathBuf, PortAccess)> {
        let virtual_ports = self.records().filter(|(.., flags)| flags & at::NIC == 0);
        virtual_ports.map(|(number, name, _)| (pins::port(&self.dir, &name), self.access(number)))
    }
}
