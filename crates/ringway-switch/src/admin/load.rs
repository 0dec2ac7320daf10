//! Loading the programs of a switch: the object that fits, its constants and its maps.

use std::os::fd::{AsFd, OwnedFd};

use libbpf_rs::{ObjectBuilder, OpenObject};
use ringway_bpf::layout::switch::config;
use ringway_bpf::{Builds, Record, SWITCH, SWITCH_LOOK};

use super::code::Code;
use super::maps::Maps;
use crate::client::LOOK_PROGRAM;
use crate::secrets::Ticket;
use crate::shape::Shape;
use ringway_sys::bpf;
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::libbpf::{self, quiet, refused};
use ringway_sys::program;

/// The program that takes what users of ports send.
const PROGRAM: &str = "vale_send";
/// The map that a program with a module has for itself.
const MODULE_RUNS: &str = "module_runs";
/// All maps that are not a module's.
pub(crate) const OWN: [&str; 21] = [
    "info",
    "ports",
    "vlans",
    "fdb",
    "regions",
    "states",
    "bells",
    MODULE_RUNS,
    "nics",
    "devs",
    "all_devs",
    "tc_devs",
    "nic_ports",
    "counting",
    "edge_devs",
    "edge_1",
    "edge_2",
    "edge_8",
    "wire_runs",
    "wire_asks",
    "cuttings",
];

/// Which port a program is for, and which of all that have had its number.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Identity {
    pub(crate) port: u32,
    pub(crate) epoch: u32,
    /// Of the switch.
    pub(crate) generation: u32,
    /// What shows that a request is of the port's user.
    pub(crate) ticket: Ticket,
}

impl Identity {
    /// Of a program that serves all ports.
    pub(super) fn of_all(generation: u32) -> Self {
        Self { generation, ..Self::default() }
    }
}

/// Loads the program that takes what users of ports send; with a user's module that of one port.
pub(super) fn load_send(maps: &Maps, code: &Code, shape: Shape, of: Identity, on: &str) -> Result<OwnedFd> {
    program_in(&load_send_object(maps, code, shape, of, on)?, PROGRAM, on)
}

/// Loads that of a user's module, to see whether the kernel takes it, and notes the maps of the module.
pub(super) fn try_module(maps: &Maps, code: &mut Code, shape: Shape, on: &str) -> Result<()> {
    let loaded = load_send_object(maps, code, shape, Identity::default(), on)?;
    match code {
        Code::Bridge | Code::Hub => Ok(()),
        Code::Custom(c) => {
            c.note_maps(&loaded, &OWN).map_err(|e| refused(on, "keeping the maps of the module", &e))
        }
    }
}

/// Loads the program by which the user of a port looks at its state.
pub(super) fn load_look(maps: &Maps, shape: Shape, of: Identity, on: &str) -> Result<OwnedFd> {
    quiet();
    let open = ObjectBuilder::default().name("vale").and_then(|b| b.open_memory(&SWITCH_LOOK.unpack()));
    let mut open = open.map_err(|e| refused(on, "reading the eBPF object", &e))?;
    put_maps(&mut open, maps, shape, of, on)?;
    program_in(&program::load(open, "the program of the port", on)?, LOOK_PROGRAM, on)
}

fn program_in(loaded: &libbpf_rs::Object, name: &str, on: &str) -> Result<OwnedFd> {
    let program = loaded.progs().find(|p| p.name() == name).ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, on, "the eBPF object lacks a program").cure("rebuild Ringway")
    })?;
    program.as_fd().try_clone_to_owned().map_err(|e| Error::io(on, "dup failed", e))
}

fn load_send_object(
    maps: &Maps,
    code: &Code,
    shape: Shape,
    of: Identity,
    on: &str,
) -> Result<libbpf_rs::Object> {
    quiet();
    let mut open = open_object(code, &SWITCH, on)?;
    for mut p in open.progs_mut() {
        let autoload = p.name() == PROGRAM;
        p.set_autoload(autoload);
    }
    put_maps(&mut open, maps, shape, of, on)?;
    if let Code::Custom(c) = code {
        c.share_maps(&mut open, &OWN).map_err(|e| refused(on, "preparing the switch program", &e))?;
    }
    load_code(open, code, on)
}

/// Puts the constants and the maps of a switch into an object.
fn put_maps(open: &mut OpenObject, maps: &Maps, shape: Shape, of: Identity, on: &str) -> Result<()> {
    let prepare = |e: libbpf_rs::Error| refused(on, "preparing the switch program", &e);
    for mut m in open.maps_mut() {
        let name = m.name().to_string_lossy().into_owned();
        if name.ends_with(".rodata") {
            put_config(&mut m, &config(maps, shape, of));
        } else if name == MODULE_RUNS {
            m.set_max_entries(shape.rings).map_err(prepare)?;
        } else if let Some((_, map)) = maps.named().iter().find(|(n, _)| *n == name) {
            m.reuse_fd(map.as_fd()).map_err(prepare)?;
        }
    }
    Ok(())
}

/// Writes the constants of a program into its object. A module may have some, too; they lie behind.
pub(crate) fn put_config(rodata: &mut libbpf_rs::OpenMapMut<'_>, config: &[u8]) {
    let all = rodata.initial_value_mut().and_then(|v| v.get_mut(..config.len()));
    all.expect("the object has room for its constants").copy_from_slice(config);
}

pub(crate) fn open_object(code: &Code, variants: &[Builds; 3], on: &str) -> Result<OpenObject> {
    let broken = |e: libbpf_rs::Error| refused(on, "reading the eBPF object", &e);
    let open = |bytes: &[u8]| ObjectBuilder::default().name("vale").and_then(|b| b.open_memory(bytes));
    match code {
        Code::Bridge => open(&program::fitting(variants[0]).unpack()).map_err(broken),
        Code::Hub => open(&program::fitting(variants[1]).unpack()).map_err(broken),
        Code::Custom(c) => open(&c.link(&program::fitting(variants[2]).unpack(), on)?).map_err(|_| {
            let what =
                format!("the module {} has no `RINGWAY_MODULE`, or uses what libbpf can't load", c.name);
            Error::new(ErrorKind::Unfit, on, what)
                .cure("see docs/modules.md; RINGWAY_LIBBPF_LOG=1 shows more")
        }),
    }
}

/// Loads programs of a switch. What the verifier says of those with a user's module is for the user.
pub(crate) fn load_code(open: OpenObject, code: &Code, on: &str) -> Result<libbpf_rs::Object> {
    let Code::Custom(c) = code else { return program::load(open, "the programs of the switch", on) };
    bpf::load_object(open).map_err(|e| match e.said() {
        Some((_, log)) => {
            let said = program::last_lines(log);
            let what = format!("the kernel's verifier refuses the module {}: {said}", c.name);
            if program::needs_jit(log) {
                return Error::new(ErrorKind::Unsupported, on, what).cure(libbpf::JIT);
            }
            Error::new(ErrorKind::Unfit, on, what)
                .cure("change the module; RINGWAY_LIBBPF_LOG=1 shows the verifier's whole log")
        }
        None => refused(on, "loading the programs of the switch", &e.error),
    })
}

/// What a program has as constants.
pub(crate) fn config(maps: &Maps, shape: Shape, of: Identity) -> Vec<u8> {
    let l = shape.region();
    let record = Record::new(config::SIZE)
        .with_u32(config::PORT, of.port)
        .with_u32(config::GENERATION, of.generation)
        .with_u32(config::SLOTS, shape.slots)
        .with_u32(config::RINGS, shape.rings)
        .with_u32(config::CTL_OFS, l.ctl(0) as u32)
        .with_u32(config::RINGS_OFS, l.ring(0) as u32)
        .with_u32(config::RING_SIZE, l.ring_size as u32)
        .with_u32(config::BUFS_OFS, l.buf_ofs as u32)
        .with_u32(config::BUF_SIZE, l.buf_size)
        .with_u32(config::BUFS, l.bufs)
        .with_u32(config::EPOCH, of.epoch)
        .with_u64(config::TICKET, of.ticket.word());
    let secrets = maps.secrets.words().into_iter();
    secrets.fold(record, |r, (at, word)| r.with_u64(config::SECRET + at, word)).into_bytes()
}
