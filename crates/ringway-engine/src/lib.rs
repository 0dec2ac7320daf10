//! The loops that put traffic on rings. Each owns its rings for as long as it runs, and counts in a
//! [`Progress`] that others may read. It ends soon after [`Signals::stop`], and neither allocates
//! nor makes a virtual call per frame.
//!
//! | type | does |
//! | --- | --- |
//! | [`Sender`] | sends frames of a template at a rate |
//! | [`Receiver`] | takes frames, counts them and checks their sequence |
//! | [`Pinger`], [`Ponger`] | measure round trips, turn frames round |
//! | [`Bridge`] | forwards between two ports, both ways |
//! | [`trip()`] | passes some frames from port to port and compares them |
//!
//! All of them, and loops of other crates, are started, kept on CPUs, made idle, stopped and joined by the same parts:
//!
//! | part | does |
//! | --- | --- |
//! | [`Turns`] | says how much a loop takes at once and how long it looks for frames |
//! | [`Sleeper`] | looks at rings for a while, then sleeps |
//! | [`Signals`] | end loops: by Ctrl-C, by a guard, by a caller |
//! | [`crew()`], [`supervise`], [`beside`], [`Background`] | run loops in named threads, stop them together and join them |
//! | [`affinity`], [`Cpus`] | keep threads on CPUs |
//!
//! ```
//! use ringway::Port;
//! use ringway_engine::{Check, Progress, Receiver, Sender, Signals};
//! use ringway_traffic::template::{FrameSpec, Template};
//!
//! let mut port = Port::open("loop:")?;
//! let (signals, sent, received) = (Signals::new(), Progress::new(), Progress::new());
//! let mut sender = Sender::new(Template::new(&FrameSpec::default())?).with_count(1000);
//! sender.run(&mut port.tx[0], &sent, &signals)?;
//! let mut receiver = Receiver::new(1000).with_check(Check::Always);
//! let counts = receiver.run(&mut port.rx, &received, &signals)?;
//! assert_eq!((received.packets(), counts.unwrap().lost), (1000, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)]

pub mod affinity;
mod alarm;
mod background;
mod bridge;
mod crew;
pub mod engine;
mod ping;
mod pong;
mod progress;
pub mod queue;
mod receiver;
mod sender;
mod signals;
mod sleep;
mod trip;
mod turns;
mod work;

pub use affinity::Cpus;
pub use background::Background;
pub use bridge::{Bridge, Held};
pub use crew::{Crew, Worker, beside, crew, supervise};
pub use engine::{Burst, Counts, Delivery, Engine, Frame, Holder, WhenFull};
pub use ping::{Pinged, Pinger};
pub use pong::Ponger;
pub use progress::Progress;
pub use receiver::{Check, Receiver};
pub use sender::{Sender, Sent};
pub use signals::{Signals, StopGuard};
pub use sleep::Sleeper;
use sleep::{NAP, PENDING_NAP};
pub use trip::{Trip, trip};
pub use turns::Turns;
pub use work::WorkerError;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
