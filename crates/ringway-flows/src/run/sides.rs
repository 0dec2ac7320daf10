//! What a run over ports gets: its ports and its options.

use std::time::Duration;

use ringway::Port;

use crate::shard::Gateway;
use crate::transport::Settings;

/// The ports of the sides that run here.
#[derive(Debug)]
pub struct Sides {
    /// Where the clients are.
    pub client: Option<Port>,
    /// Where the servers are.
    pub server: Option<Port>,
}

/// How a run over ports goes.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How TCP behaves.
    pub settings: Settings,
    /// The run ends after this time, in ns.
    pub until_ns: u64,
    /// How long the rings are looked at before a worker sleeps.
    pub spin: Duration,
    /// Workers that share the rings of one pair of ports. Where there are several pairs, each has one worker.
    pub workers: u32,
    /// The routers through which clients reach servers, and servers reach clients.
    pub gateways: [Gateway; 2],
    /// What the thread of each worker does first, such as to choose its processor. It gets the number of the worker, from 0.
    pub begin: fn(usize),
}

impl Default for Options {
    /// One worker, until the plan is over.
    fn default() -> Self {
        let spin = Duration::from_micros(20);
        Self {
            settings: Settings::default(),
            until_ns: u64::MAX,
            spin,
            workers: 1,
            gateways: Default::default(),
            begin: |_| {},
        }
    }
}
