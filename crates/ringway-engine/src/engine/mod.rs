//! Ports that any number of threads use, through three calls: open, receive, send.
//!
//! ```text
//!   rx rings --> I/O thread --> queue --> any thread: receive, look, send --> queue --> I/O thread --> tx rings
//!                    ^                        |                                 (one for each port)        |
//!                    +------- free buffers ---+------------------------------------------------------------+
//! ```
//!
//! I/O threads own the ports. Between them and the program's threads lie [queues](crate::queue) of buffer tokens, in which no
//! stopped thread stops another one. Threads come and go. Each has a [`Burst`], which is its cache as well.
//!
//! ```
//! use ringway_engine::Engine;
//! let engine = Engine::builder().port("loop:").build()?; // or "eth0", or several
//! let mut burst = engine.burst()?; // one for each thread
//! let mut frame = burst.make(60).expect("buffers are free");
//! frame.bytes_mut().fill(0xff);
//! frame.send_to(0);
//! engine.send(&mut burst)?;
//! engine.receive(&mut burst)?; // waits
//! for mut frame in burst.frames() {
//!     assert_eq!(frame.bytes(), [0xff; 60]);
//!     frame.send_to(0); // a frame of which nobody says so ends with the next receive or send
//! }
//! # Ok::<(), ringway::Error>(())
//! ```
//!
//! | choice | by |
//! | --- | --- |
//! | any thread gets any frame, or flows are pinned to threads | [`Builder::delivery`] |
//! | a slow thread or port makes the sender wait, or frames are dropped | [`Builder::slow_receiver`], [`Builder::slow_port`] |
//! | waits, waits for a time, or does not wait | [`Engine::receive`], [`receive_timeout`](Engine::receive_timeout), [`try_receive`](Engine::try_receive), and the same for `send` |
//! | sleeps in a poll of the program's own | [`Engine::readable`], [`Engine::writable`] |
//! | few frames a call | [`Builder::gather`] |
//! | where I/O threads run | [`Builder::io_cpus`] |
//!
//! A thread that panics gives back what it holds. One that never comes back costs its burst and its cache: 64 frames and 128
//! buffers at most. The engine has buffers for that, says who it is ([`Engine::holders`], [`Builder::warn`]), and pins its flows
//! to others. [`Engine::counts`] counts each frame.

mod bell;
mod builder;
mod burst;
mod counts;
mod flow;
mod frame;
mod handle;
mod holders;
mod home;
mod io;
mod lanes;
mod locks;
mod outbox;
mod parts;
mod port;
mod ready;
mod send;
mod shared;
mod spread;
mod start;
mod token;
mod wishes;

pub use builder::Builder;
pub use burst::Burst;
pub use counts::{Counts, PortCounts};
pub use frame::{Frame, LONGEST};
pub use handle::Engine;
pub use holders::Holder;
pub use lanes::Delivery;
pub use ready::Ready;
pub use shared::WhenFull;
