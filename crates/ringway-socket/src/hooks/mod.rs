//! The functions of libc that this library stands before. Each looks whether its descriptor is a packet socket that we
//! serve; all else, and what we do not serve, goes to libc's own function with the arguments as they came. A thread that is cancelled
//! in one of libc's functions leaves ours by unwinding.
#![allow(unsafe_code)]
#![allow(unreachable_pub, reason = "the dynamic linker reaches them")]

mod accept;
mod descriptors;
mod epoll;
mod options;
mod receive;
mod send;
mod wait;

use crate::sys::guard::ReentryGuard;
use crate::{flusher, link, report};

/// Sends what waits, closes the ports and prints the summary, when the process ends.
pub(crate) extern "C" fn at_exit() {
    let Some(_guard) = ReentryGuard::enter() else { return };
    flusher::flush_all();
    let nth = |i| link::all().get(i).copied();
    (0..).map_while(nth).for_each(link::Link::shut);
    report::finish();
}
