//! What the switch counted for a port that some process has open.

use ringway_switch::View;

use crate::count::{Counters, KernelHalf, PortCounters};
use crate::port::name::PortName;

/// Adds what the switch counted for a port: to the whole, and to each ring, tx rings first.
pub(crate) fn add_port_counters(half: &KernelHalf<'_>, sum: &mut PortCounters, each: &mut [Counters]) {
    let by_name = || {
        let name: PortName = half.name.parse().ok()?;
        let (switch, port) = name.switch_port()?;
        View::of_port(switch, port)
    };
    // By the number of its program, which takes privilege, or by its file, which takes access to the port.
    if let Some(view) = View::by_program(half.id).or_else(by_name) {
        view.add_counters(half, sum, each);
    }
}
