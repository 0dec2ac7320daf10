//! bpf(2): programs loaded, run and attached, maps, doorbells.

mod bell;
mod errno;
mod ids;
mod link;
mod map;
mod object;
mod run;
mod run_time;

pub use bell::Bell;
pub(crate) use errno::check;
pub use ids::{map_by_id, map_id, only_map_of, prog_id, prog_name, program_by_id};
pub(crate) use link::link_info;
pub use link::{
    detach, is_unknown_hook, link, program_of, raw_tracepoint, tcx_lives, update_link, xdp_lives,
};
pub use map::{is_ring_buffer, lookup, mappable_array, program_in, put_program, take_program};
pub use object::{Unloaded, XDP_HAS_FRAGS, load, load_object};
pub use run::{run_live, run_program, run_syscall};
pub use run_time::{Counting, RunTime, run_times};
