//! Ports: named endpoints with rings. What names can be, how a port is opened, and what a backend has to make.

mod ctrl_c;
mod exported;
mod interface;
mod kind;
mod made;
pub(crate) mod name;
mod options;
#[expect(clippy::module_inception, reason = "the folder is about ports, the file about the one type")]
mod port;
mod setup;
mod wait;

pub use ctrl_c::CtrlC;
#[doc(hidden)]
pub use exported::Exported;
pub(crate) use exported::{Share, WordReader, Words, check_ranges, not_exported};
pub(crate) use interface::{check_rings, find_interface};
pub(crate) use kind::{Kind, Open, Refusal, refuse_send_only, wrong_kind};
pub(crate) use made::Made;
pub use made::{Control, Plain};
pub use options::OpenOptions;
pub use port::{CounterWatch, Port, PortInfo};
pub(crate) use setup::{BUF_SIZE, SLOTS, Setup, one_pair};
pub use wait::{Waiter, Wakeable};
