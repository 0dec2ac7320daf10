//! Regions: shared memory cut into rings and equal-sized buffers, laid out as in netmap.
//!
//! ```text
//!  0          control blocks, 128 bytes a ring: cursors and wake-up wishes exchanged with the other side
//!  if_ofs     interface descriptors, 1024 bytes each
//!  ring_ofs   rings: 256-byte header and 16-byte slots each
//!  buf_ofs    buffers; indexes 0 and 1 are reserved
//! ```
//!
//! All parts start on a page, the buffers 256 bytes behind one: AF_XDP puts received frames there. A region lives in a
//! mapped eBPF array, so that programs in the kernel reach the same bytes, or in a memfd or file shared by processes.
//!
//! Ownership: a [`Region`] is a handle; the memory goes away with the last handle. Buffers belong to slots of
//! rings; what is left over is given out as [`Buf`] tokens. Thread-safety: handles and tokens may be used from
//! any thread; allocation takes a lock, the data path never allocates.

mod alloc;
mod bpf_array;
mod buf;
mod claims;
mod free_objects;
mod join;
mod layout;
mod region;
mod token;

pub use crate::abi::RegionSpec;
pub(crate) use crate::abi::{CTL_SIZE, Layout};
pub(crate) use alloc::Alloc;
pub(crate) use bpf_array::bpf_array;
pub use buf::Buf;
pub(crate) use claims::Claims;
#[doc(hidden)]
pub use free_objects::FreeObjects;
pub(crate) use layout::layout_of;
pub use region::{Backing, Region};
#[doc(hidden)]
pub use token::BufToken;
