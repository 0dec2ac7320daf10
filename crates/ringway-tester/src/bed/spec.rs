//! How trials use two ports.

use crate::trial::format::Format;
use crate::trial::pollers::Cpus;

/// Ports and what is sent over them.
#[derive(Clone, Debug)]
pub struct TestBedSpec {
    /// Port that sends, and the one that receives; the same name for `loop:`.
    pub ports: [String; 2],
    /// Frames.
    pub format: Format,
    /// Both directions at once.
    pub bidirectional: bool,
    /// Slots of each ring; `None` for the backend's default.
    pub slots: Option<u32>,
    /// CPUs of the polling threads.
    pub cpus: Cpus,
    /// Lock step under a virtual clock: results do not depend on the machine, and tell nothing of speed.
    pub virtual_time: bool,
}
