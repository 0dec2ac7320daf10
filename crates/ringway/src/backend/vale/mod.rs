//! `vale0:p1`: a port of a switch. The sender's sync runs the switch program; the receiver's sync reads how far senders came.
//!
//! | file | what |
//! | --- | --- |
//! | `claim` | the right to use the port |
//! | `core` | what the rings share |
//! | `assemble` | the rings, from where the last user stopped |
//! | `tx`, `rx` | the two sides of a ring |
//! | `share`, `shared` | the port handed to other processes, and the port that another one opened |
//! | `nics` | what a sender does for NICs in the switch |
//! | `port`, `counters` | the port as a whole, and what the switch counted for it |

mod assemble;
mod claim;
mod core;
mod counters;
#[cfg(test)]
mod header_tests;
mod nics;
mod port;
mod rx;
mod share;
mod shared;
#[cfg(test)]
mod tests;
mod tx;

use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use self::core::{Core, FROZEN};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{Alloc, Backing, Region};
use crate::port::name::{PortName, parse};
use crate::port::{BUF_SIZE, Kind, Made, Open, OpenOptions, one_pair, refuse_send_only, wrong_kind};
use crate::sys::bpf::Bell;
use assemble::assemble;
use claim::claim_or_create_port;
pub(crate) use counters::add_port_counters;
use ringway_switch::{self as switch, Look, View, objects, pins};
pub(crate) use shared::import;

/// Ports of switches, called `valeX:PORT`.
pub(crate) const KIND: Kind = Kind {
    scheme: "vale",
    goes_on: true,
    parse: parse::vale,
    refuses: refuse_send_only,
    open: Open::Alone {
        region: |_, options| Ok(one_pair(options).region(BUF_SIZE)),
        foreign_region: true,
        open: |name, options| match name {
            PortName::Vale { switch, port } => open(switch, port, options),
            other => Err(wrong_kind(other)),
        },
    },
};

/// Opens the port, making it when the switch has none of that name and the caller may.
pub(crate) fn open(switch: &str, port: &str, options: &OpenOptions) -> Result<Made> {
    let name = PortName::Vale { switch: switch.into(), port: port.into() }.to_string();
    refuse_options(&name, options)?;
    let root = switch::find(switch)?;
    let dir = pins::port(&root, port);
    let claim = claim_or_create_port(&name, switch, port, &dir)?;
    let shape = switch::read_shape(&root, switch)?;
    let region = objects::open_pin(&dir.join("region"), true, &name)?;
    let region =
        Region::over(region, shape.region(), Backing::BpfArray, Alloc::none()).map_err(|e| e.cure(FROZEN))?;
    let view = Arc::new(View::open(&dir, &name)?);
    let now: Vec<Look> = (0..shape.rings).map(|r| view.look(r, &name)).collect::<Result<_>>()?;
    let Some(&Look { port: number, ticket, nic, .. }) = now.first().filter(|look| look.port != 0) else {
        return Err(switch::port_gone(&name));
    };
    if nic {
        return Err(Error::new(ErrorKind::Busy, name, "the port is an interface")
            .cure("open a port of another name: what it sends there leaves by the interface"));
    }
    let program = Mutex::new(Arc::new(objects::open_pin(&pins::send(&dir), true, &name)?));
    let bell = |r| map_bell(objects::open_pin(&dir.join(format!("bell{r}")), true, &name)?, &name);
    let bells = (0..shape.rings).map(bell).collect::<Result<_>>()?;
    let looked_ns = AtomicU64::new(0);
    let core =
        Arc::new(Core { name, dir, shape, region, view, number, ticket, program, bells, looked_ns, claim });
    assemble(&core, &now, options)
}

fn map_bell(fd: OwnedFd, name: &str) -> Result<Arc<Bell>> {
    let bell = Bell::new(fd).map_err(|e| Error::io(name, "mapping a doorbell failed", e).cure(FROZEN))?;
    Ok(Arc::new(bell))
}

/// All ports of a switch have the shape that it was made with, and a region of their own.
fn refuse_options(name: &str, options: &OpenOptions) -> Result<()> {
    let bad = |what: &str, cure: &str| Err(Error::new(ErrorKind::Unsupported, name, what).cure(cure));
    if options.slots.is_some() {
        return bad(
            "the rings of a switch are as it was made",
            "open it without `slots`, or make the switch with --slots",
        );
    }
    if options.extra_bufs > 0 {
        return bad("the region of a switch port has no extra buffers", "open it without them");
    }
    Ok(())
}
