//! DPDK, by a plugin that is loaded when the first `dpdk:` port opens: `libringway_dpdk.so`, made of crates/ringway-dpdk.
//!
//! | file | what |
//! | --- | --- |
//! | `library` | finds and loads the plugin, starts DPDK |
//! | `abi` | the table of functions that the plugin exports |
//! | `open` | makes a device by its arguments |
//! | `device` | a device: its link, what it counted |
//! | `queue` | frames received and sent |
//!
//! The plugin is trusted once it is loaded, as any code of the process. What it returns is checked all the same, for it hands on what
//! drivers say.

mod abi;
mod device;
mod library;
mod open;
mod queue;

pub use abi::Stats;
pub use device::Device;
pub use open::{Ask, DeviceInfo, Opened, open};
pub use queue::{FRAMES, Part, Receiver, Sender, Unusable};
