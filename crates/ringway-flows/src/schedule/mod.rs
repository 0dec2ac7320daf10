//! When flows start: load shapes as absolute times.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`profile`] | ramp, hold, drain: a value over time, and its integral |
//! | [`starts`] | starts at a rate, evenly or as independent events; attacks |
//! | [`level`] | starts that keep a number of flows active |
//! | [`volume`] | starts that keep a bit rate |
//! | [`late`] | counts postponed starts of these two |
//! | [`mix`] | which flow starts, by weight |
//!
//! Times are nanoseconds of the run. A start that the caller can't make stays due, and is counted as postponed.

pub mod late;
pub mod level;
pub mod mix;
pub mod profile;
pub mod starts;
pub mod volume;
