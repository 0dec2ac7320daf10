//! What the transport of a run counted, by name.

use std::collections::BTreeMap;

use crate::shard::Tally;

/// The counters of TCP, UDP and of the machine, as docs/json.md has them.
pub(super) fn transport(tally: &Tally) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        ("connections", tally.connections),
        ("retransmitted", tally.retransmitted),
        ("repeated", tally.repeated),
        ("early", tally.early),
        ("outside", tally.outside),
        ("false_acks", tally.false_acks),
        ("challenged", tally.challenged),
        ("nonsense", tally.nonsense),
        ("strays", tally.strays),
        ("no_room", tally.no_room),
        ("half_open_dropped", tally.half_open_dropped),
        ("unsent_resets", tally.unsent_resets),
        ("unsent_probes", tally.unsent_probes),
        ("unsent_answers", tally.unsent_answers),
        ("frames_out", tally.frames_out),
        ("bytes_out", tally.bytes_out),
        ("frames_in", tally.frames_in),
        ("bytes_in", tally.bytes_in),
        ("instructions", tally.instructions),
        ("fuel_exhausted", tally.fuel_exhausted),
    ])
}
