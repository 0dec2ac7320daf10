//! A port: what `struct rw_port *` points to. Its rings are beside it, where the program finds them.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, RawFd};

use ringway::{CounterWatch, Filter, Gso, OpenOptions, Port, Region, Result};

use crate::last_error::c_text;
use crate::ring::Ring;
use crate::types::{Options, PortCounters, PortInfo};

/// A port without its rings.
#[derive(Debug)]
pub(crate) struct PortHandle {
    port: Port,
    watch: CounterWatch,
    name: CString,
    backend: CString,
}

/// The rings of a port.
pub(crate) struct Rings {
    pub(crate) rx: Vec<Ring>,
    pub(crate) tx: Vec<Ring>,
}

impl PortHandle {
    /// Takes a port and its rings apart.
    pub(crate) fn new(mut port: Port) -> (Self, Rings) {
        let rx = (0..).zip(std::mem::take(&mut port.rx)).map(|(i, ring)| Ring::rx(i, ring)).collect();
        let tx = (0..).zip(std::mem::take(&mut port.tx)).map(|(i, ring)| Ring::tx(i, ring)).collect();
        let (name, backend) = (c_text(&port.info().name), c_text(&port.info().backend));
        (Self { watch: port.watch(), port, name, backend }, Rings { rx, tx })
    }

    pub(crate) fn info(&self) -> PortInfo {
        let info = self.port.info();
        PortInfo {
            name: self.name.as_ptr(),
            backend: self.backend.as_ptr(),
            tx_rings: info.shape.tx_rings,
            rx_rings: info.shape.rx_rings,
            slots: info.shape.slots,
            buf_size: info.buf_size,
            max_frame: info.max_frame,
            host: info.shape.host.into(),
            memory: info.memory as u64,
        }
    }

    pub(crate) fn counters(&self) -> PortCounters {
        PortCounters::from(&self.watch.counters())
    }

    pub(crate) fn link_up(&self) -> Result<bool> {
        self.port.link_up()
    }

    pub(crate) fn ended(&self) -> bool {
        self.port.ended()
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.port.as_fd().as_raw_fd()
    }

    pub(crate) fn region(&self) -> &Region {
        self.port.region()
    }
}

/// Options of the library, from the program's struct and what its pointers lead to.
pub(crate) fn options(from: &Options, take: Option<&str>, region: Option<&Region>) -> Result<OpenOptions> {
    let mut options = OpenOptions::new()
        .extra_bufs(from.extra_bufs)
        .gso(if from.gso == 0 { Gso::Segment } else { Gso::Carry })
        .copy(from.copy != 0)
        .send_only(from.send_only != 0)
        .raw(from.raw != 0);
    if from.slots != 0 {
        options = options.slots(from.slots);
    }
    if from.promiscuous != 0 {
        options = options.promiscuous(from.promiscuous > 0);
    }
    if let Some(filter) = take {
        options = options.take(Filter::compile(filter)?);
    }
    if let Some(region) = region {
        options = options.region(region);
    }
    Ok(options)
}
