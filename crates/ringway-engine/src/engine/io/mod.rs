//! The I/O threads: each owns some ports, takes frames out of their rx rings into queues, and out of queues into their tx rings.

mod flows;
mod idle;
mod outboxes;
mod receive;
mod stuck;
mod transmit;
mod wait;
mod worker;

pub(super) use worker::Worker;
