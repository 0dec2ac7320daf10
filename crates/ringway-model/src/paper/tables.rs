//! The numbers of the tables.

use crate::model::{Costs, Link};

/// Cycles a second of the paper's core.
pub const FREQUENCY_HZ: f64 = 3.3e9;

/// The paper's link.
pub const LINK: Link = Link { bits: 10e9 };

/// The groups in the order of the columns.
pub const GROUPS: [&str; 8] = ["RX", "alloc", "prerouting", "routing", "postrouting", "free", "TX", "other"];

/// A row of tables I and II.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeRow {
    /// Bytes of a frame, with FCS.
    pub size: u32,
    /// Maximum rate as printed, in millions a second.
    pub mpps: f64,
    /// Load of the core as printed, 0 to 1.
    pub load: f64,
    /// Cycles a packet by group, in the order of [`GROUPS`].
    pub groups: [f64; 8],
    /// The printed total.
    pub total: f64,
}

impl SizeRow {
    /// The groups as costs.
    #[must_use]
    pub fn costs(&self) -> Costs {
        Costs::new(GROUPS.into_iter().zip(self.groups))
    }
}

/// Tables I and II: frame sizes.
pub const SIZES: [SizeRow; 4] = [
    SizeRow {
        size: 64,
        mpps: 1.67,
        load: 1.0,
        groups: [408.0, 144.0, 187.0, 200.0, 195.0, 231.0, 288.0, 325.0],
        total: 1979.0,
    },
    SizeRow {
        size: 512,
        mpps: 1.67,
        load: 1.0,
        groups: [412.0, 135.0, 181.0, 192.0, 214.0, 229.0, 275.0, 327.0],
        total: 1969.0,
    },
    SizeRow {
        size: 1024,
        mpps: 1.20,
        load: 0.75,
        groups: [433.0, 130.0, 161.0, 226.0, 206.0, 245.0, 267.0, 389.0],
        total: 2056.0,
    },
    SizeRow {
        size: 1500,
        mpps: 0.82,
        load: 0.55,
        groups: [443.0, 146.0, 187.0, 208.0, 205.0, 194.0, 286.0, 532.0],
        total: 2203.0,
    },
];

/// A row of tables IV and V: as many routes as flows, frames of 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowRow {
    /// Flows, and routes.
    pub flows: u32,
    /// The printed total.
    pub total: f64,
    /// Cycles of the group routing.
    pub routing: f64,
    /// Cycles of functions, where table V has them: `fib_table_lookup`, `check_leaf`, `skb_release_data`.
    pub functions: Option<[f64; 3]>,
}

/// Tables IV and V: flows.
pub const FLOWS: [FlowRow; 4] = [
    FlowRow { flows: 1, total: 1979.0, routing: 200.0, functions: Some([116.0, 45.0, 133.0]) },
    FlowRow { flows: 256, total: 2048.0, routing: 350.0, functions: Some([238.0, 89.0, 37.0]) },
    FlowRow { flows: 16_384, total: 2093.0, routing: 406.0, functions: None },
    FlowRow { flows: 1_048_576, total: 2420.0, routing: 720.0, functions: Some([423.0, 361.0, 35.0]) },
];
