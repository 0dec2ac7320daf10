//! Opening, asking and closing ports.

use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

use ringway::{Port, Result};

use super::{check, give, options, or, several, shared, status, store, text};
use crate::port::PortHandle;
use crate::ring::Ring;
use crate::types::{Options, PortCounters, PortInfo};

/// What `struct rw_port *` points to: the port, and its rings, each where the program finds it until the port is closed.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) port: PortHandle,
    rx: Vec<*mut Ring>,
    tx: Vec<*mut Ring>,
}

impl Opened {
    fn new(port: Port) -> Self {
        let (port, rings) = PortHandle::new(port);
        let placed = |rings: Vec<Ring>| rings.into_iter().map(give).collect();
        Self { port, rx: placed(rings.rx), tx: placed(rings.tx) }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        for ring in self.rx.drain(..).chain(self.tx.drain(..)) {
            super::free(ring);
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn rw_open(name: *const c_char, with: *const Options, port: *mut *mut Opened) -> c_int {
    status(|| {
        check(port, "the place for the port")?;
        let opened = options::read(with)?.open(text(name, "the name")?)?;
        store(port, give(Opened::new(opened)));
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_open_all(
    names: *const *const c_char,
    n: usize,
    with: *const Options,
    ports: *mut *mut Opened,
) -> c_int {
    status(|| {
        let names = several(names, n, "the array of names")?;
        let places = super::several_mut(ports, n, "the array for the ports")?;
        let names: Vec<_> = names.iter().map(|&name| text(name, "a name")).collect::<Result<_>>()?;
        let opened = options::read(with)?.open_each(&names)?;
        for (place, port) in places.iter_mut().zip(opened) {
            *place = give(Opened::new(port));
        }
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_close(port: *mut Opened) {
    super::free(port);
}

#[unsafe(no_mangle)]
extern "C" fn rw_describe(port: *const Opened, info: *mut PortInfo) -> c_int {
    status(|| {
        check(info, "the place for the info")?;
        store(info, shared(port, "the port")?.port.info());
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_read_counters(port: *const Opened, counters: *mut PortCounters) -> c_int {
    status(|| {
        check(counters, "the place for the counters")?;
        store(counters, shared(port, "the port")?.port.counters());
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_rx(port: *const Opened, i: u32) -> *mut Ring {
    or(null_mut(), || Ok(at(&shared(port, "the port")?.rx, i)))
}

#[unsafe(no_mangle)]
extern "C" fn rw_tx(port: *const Opened, i: u32) -> *mut Ring {
    or(null_mut(), || Ok(at(&shared(port, "the port")?.tx, i)))
}

fn at(rings: &[*mut Ring], i: u32) -> *mut Ring {
    rings.get(i as usize).copied().unwrap_or(null_mut())
}

#[unsafe(no_mangle)]
extern "C" fn rw_link_up(port: *const Opened) -> c_int {
    status(|| Ok(shared(port, "the port")?.port.link_up()?.into()))
}

#[unsafe(no_mangle)]
extern "C" fn rw_ended(port: *const Opened) -> c_int {
    status(|| Ok(shared(port, "the port")?.port.ended().into()))
}

#[unsafe(no_mangle)]
extern "C" fn rw_port_fd(port: *const Opened) -> c_int {
    status(|| Ok(shared(port, "the port")?.port.fd()))
}
