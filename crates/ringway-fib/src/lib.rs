//! Longest-prefix match for IPv4 and IPv6: one writer changes a table, many readers look up meanwhile and never wait.
//!
//! ```
//! use ringway_fib::{Fib4, Limits, NextHop};
//! let mut fib = Fib4::new(Limits::default())?;
//! fib.insert("10.0.0.0/8".parse()?, "7".parse()?)?;
//! let mut reader = fib.reader()?; // one for each thread
//! fib.insert("10.1.0.0/16".parse()?, "300".parse()?)?;
//! let mut next_hops = [0; 2];
//! reader.view().lookup_burst(&[0x0a01_0203, 0x0a02_0304], &mut next_hops);
//! assert_eq!(next_hops, [300, 7]);
//! # Ok::<(), ringway_fib::FibError>(())
//! ```
//!
//! | part | module |
//! | --- | --- |
//! | what programs use: [`Fib`], [`Reader`], [`View`], [`Limits`] | `table`, `reader`, `limits` |
//! | what is stored where ([`Layout`]): root, nodes, buckets, leaves; memory of others | `memory`, `form`, `cells` |
//! | lookups: one, bursts by the instructions there are ([`Isa`]), which of them is fastest | `lookup`, `simd`, `fastest` |
//! | routes, as the control plane keeps them | `routes`, `block` |
//! | from routes to lookup forms, and publishing them | `render`, `bookkeeping`, `notes`, `amend`, `store`, `forms`, `plain`, `space` |
//! | when memory may be used again | `epoch` |
//! | the slow and obvious match ([`Reference`]), tables as text, made-up tables | `reference`, [`text`], [`generate`] |
//!
//! # How a lookup goes
//!
//! The **root** has an entry of 32 bits for each value of the first 16 bits. For IPv4 it is the handle of a node; /16s with the same single next
//! hop share one. For IPv6 it is a leaf.
//!
//! A **node** decides 8 bits. It has 36 bytes, with a bit for each slot at which a run of equal leaves begins, and the leaves behind
//! them. A **bucket** decides 16 bits where there are at most 33 runs. A **leaf** is a next hop, or the handle of a node or bucket. It
//! has 8, 16 or 32 bits, as a form needs. The module `form` has the bits.
//!
//! So IPv4 takes 4 loads up to /24; all but the first are of neighbouring bytes. Longer prefixes take 3 more. IPv6 takes 2 forms for each
//! 16 bits that prefixes reach into.
//!
//! # Readers elsewhere
//!
//! There are indexes and no pointers in the memory ([`Layout`]). So the same bytes can lie in a mapped eBPF array ([`Fib::in_memory`]) for
//! a program in the kernel. The program loads the root entry, then walks as `simd/scalar.rs` does. Each load must be one access
//! (`READ_ONCE`). The form that a handle names stays as it is as long as the writer waits for the reader. For readers that are not registered
//! there is [`Fib::hold`]: the writer reuses nothing that went out of sight before its owner says that they have left.
//!
//! # Changes
//!
//! A change makes new forms aside and publishes them by single stores, of root entries or leaves. Where the runs are there already, leaves are
//! stored in place. A form may keep up to a quarter more runs than it needs, or the runs that 16 single changes left. So a reader finds for each
//! address its next hop from before the change or from after it. Nothing is published when not all fits ([`FibError::Full`]). Memory that went
//! out of sight is used again once all readers that may see it have left.
//!
//! # Bounds
//!
//! [`Limits`] says how large a table can be; its memory is set aside when it is made. There are at most 65,535 next hops, [`READERS`] readers,
//! 2^29 - 1 words, and 2^24 words that buckets start in. A default route touches up to 65,536 root entries, a route of /L up to 2^(16-L), a
//! longer one a single entry. The control plane keeps 1 MiB, about 4 bytes a route, and some 100 bytes for each block of 8 bits (1 KiB more above 32 routes).
#![deny(unsafe_code)]

mod amend;
mod block;
mod bookkeeping;
mod cells;
mod epoch;
#[cfg(test)]
mod epoch_model;
#[cfg(test)]
mod epoch_tests;
mod error;
mod fastest;
mod form;
mod forms;
pub mod generate;
mod limits;
mod lookup;
mod memory;
mod next_hop;
mod notes;
mod plain;
mod prefix;
mod reader;
mod reference;
mod render;
mod routes;
mod simd;
mod space;
mod store;
mod sync;
mod table;
pub mod text;

pub use cells::{Cell, Cells, Foreign};
pub use error::{FibError, Part};
pub use limits::{Limits, Usage};
pub use lookup::Walk;
pub use memory::Layout;
pub use next_hop::NextHop;
pub use prefix::{Address, Prefix, Prefix4, Prefix6};
pub use reader::{Reader, View};
pub use reference::Reference;
pub use simd::Isa;
pub use sync::READERS;
pub use table::{Fib, Fib4, Fib6};

/// Slots of a node: values of 8 bits.
const SLOTS: usize = 256;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
