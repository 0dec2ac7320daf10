//! Structs of the header from values of Rust.

use std::ffi::CString;
use std::ptr::null;
use std::time::Duration;

use ringway::switch::{FdbEntry as Found, Module, SwitchPortStats};
use ringway::{DropReason, Error, ErrorKind, Result};

use crate::last_error::c_text;
use crate::types::{Counters, FdbEntry, MAX_DROPS, OpenPort, PortCounters, SwitchPort, SwitchSpec};

const _: () = assert!(DropReason::ALL.len() <= MAX_DROPS);

impl From<&ringway::Counters> for Counters {
    fn from(c: &ringway::Counters) -> Self {
        let mut drops = [0; MAX_DROPS];
        for (place, why) in drops.iter_mut().zip(DropReason::ALL) {
            *place = c.drops(why);
        }
        Self {
            frames_in: c.frames_in,
            frames_out: c.frames_out,
            bytes_out: c.bytes_out,
            syncs: c.syncs,
            busy_syncs: c.busy_syncs,
            resets: c.resets,
            wakeups: c.wakeups,
            wakeups_withheld: c.wakeups_withheld,
            drops,
        }
    }
}

impl From<&ringway::PortCounters> for PortCounters {
    fn from(c: &ringway::PortCounters) -> Self {
        Self { rx: (&c.rx).into(), tx: (&c.tx).into() }
    }
}

/// An open port, with its texts: name, backend, interface.
pub(crate) fn open_port(port: &ringway::OpenPort) -> ([Option<CString>; 3], OpenPort) {
    let interface = port.interface().map(|interface| c_text(&interface.name));
    let texts = [Some(c_text(&port.name)), Some(c_text(&port.backend)), interface];
    let shown = OpenPort {
        name: null(),
        backend: null(),
        interface: null(),
        pid: port.pid,
        number: port.number,
        counters: (&port.counters).into(),
    };
    (texts, shown)
}

/// A port of a switch, with its name.
pub(crate) fn switch_port(stats: &SwitchPortStats) -> ([Option<CString>; 1], SwitchPort) {
    let port = &stats.port;
    let flags = [port.open, port.ephemeral, port.host, port.gone];
    let flags = (0..).zip(flags).map(|(bit, on)| u32::from(on) << bit).sum();
    let shown = SwitchPort {
        name: null(),
        number: port.number,
        pid: port.pid.unwrap_or_default(),
        ifindex: port.nic.unwrap_or_default(),
        flags,
        counters: (&stats.counters).into(),
        copies: stats.copies,
        waiting: stats.waiting,
        addresses: stats.addresses,
        reserved: 0,
    };
    ([Some(c_text(&port.name))], shown)
}

/// An address of a switch's table.
pub(crate) fn fdb_entry(found: &Found) -> FdbEntry {
    FdbEntry {
        mac: found.mac.0,
        vlan: found.vlan,
        port: found.port.unwrap_or_default(),
        reserved: 0,
        age_ms: found.age.map_or(-1, |age| age.as_millis() as i64),
    }
}

/// How to make a switch. Zeros are defaults.
pub(crate) fn switch_spec(from: &SwitchSpec, module: Option<&str>) -> Result<ringway::switch::SwitchSpec> {
    let mut spec = ringway::switch::SwitchSpec::default();
    let set = |place: &mut u32, value: u32| {
        if value != 0 {
            *place = value;
        }
    };
    set(&mut spec.slots, from.slots);
    set(&mut spec.rings, from.rings);
    set(&mut spec.buf_size, from.buf_size);
    set(&mut spec.quota, from.quota);
    match from.ageing_ms {
        0 => {}
        -1 => spec.ageing = Duration::ZERO,
        ms => {
            let ms = u64::try_from(ms).map_err(|_| {
                let what = format!("addresses age in {ms} ms");
                Error::new(ErrorKind::Invalid, "switch", what).cure("pass -1 for never")
            })?;
            spec.ageing = Duration::from_millis(ms);
        }
    }
    if let Some(module) = module {
        let Ok(module) = module.parse::<Module>();
        spec.module = module;
    }
    Ok(spec)
}
