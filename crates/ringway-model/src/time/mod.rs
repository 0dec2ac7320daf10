//! Clocks: what a nanosecond of a thread is in ticks of the TSC, and in cycles of the core.
//!
//! A tick of the TSC is reference time. A core runs faster or slower than that, so ticks are called cycles only with the measured
//! ratio beside them.

mod core;
mod threads;
mod tsc;

use serde::{Deserialize, Serialize};

pub use self::core::core_ratio;
pub use threads::{CpuTime, ThreadTime, cpu_time, process_of, process_threads, thread_time};
pub use tsc::tsc_hz;

/// The rates of a machine's clocks, as measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Ticks of the TSC a second; `None` where there is no steady one.
    pub tsc_hz: Option<f64>,
    /// Cycles of the core for each tick of the TSC; `None` where no known work exists.
    pub core_ratio: Option<f64>,
}

impl Clock {
    /// Measures both rates, in some 50 ms.
    #[must_use]
    pub fn measure() -> Self {
        let tsc_hz = tsc_hz();
        Self { tsc_hz, core_ratio: tsc_hz.and_then(|_| core_ratio()) }
    }

    /// Ticks of the TSC for a nanosecond; without a TSC a tick is a nanosecond.
    #[must_use]
    pub fn ticks_per_ns(&self) -> f64 {
        self.tsc_hz.map_or(1.0, |hz| hz / 1e9)
    }

    /// What numbers in ticks are called: `ticks (TSC 2.00 GHz)`.
    #[must_use]
    pub fn unit(&self) -> String {
        self.tsc_hz.map_or_else(|| "ns".to_owned(), |hz| format!("ticks (TSC {:.2} GHz)", hz / 1e9))
    }
}
