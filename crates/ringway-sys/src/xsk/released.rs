//! Queues whose sockets this process closed.
//!
//! The kernel releases the queue of a closed socket in the background. Under load that takes seconds, and a new socket finds the queue
//! busy until then. For such a queue it is worth to wait; another program's socket may never go.

use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::options::get;

/// So long the kernel may take.
const LONGEST: Duration = Duration::from_secs(60);

/// A queue of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The kernel's number of the network namespace; 0 where it does not tell.
    netns: u64,
    ifindex: u32,
    queue: u32,
}

impl Place {
    /// A queue of an interface in the namespace of `socket`.
    pub(super) fn new(socket: &OwnedFd, ifindex: u32, queue: u32) -> Self {
        let netns = get(socket, libc::SOL_SOCKET, libc::SO_NETNS_COOKIE).unwrap_or(0);
        Self { netns, ifindex, queue }
    }
}

/// The queues, and when their sockets were closed.
static CLOSED: Mutex<Vec<(Place, Instant)>> = Mutex::new(Vec::new());

/// The socket of a queue is closed now.
pub(super) fn note(place: Place) {
    let now = Instant::now();
    let mut closed = CLOSED.lock().unwrap_or_else(PoisonError::into_inner);
    closed.retain(|&(other, at)| now - at < LONGEST && other != place);
    closed.push((place, now));
}

/// A queue has a new socket: its old one is gone.
pub(super) fn forget(place: Place) {
    CLOSED.lock().unwrap_or_else(PoisonError::into_inner).retain(|&(other, _)| other != place);
}

/// Until when a queue may be busy although nobody has it.
pub(super) fn busy_until(place: Place) -> Option<Instant> {
    let closed = CLOSED.lock().unwrap_or_else(PoisonError::into_inner);
    closed.iter().find(|&&(other, _)| other == place).map(|&(_, at)| at + LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_noted_until_it_has_a_socket() {
        let place = |queue| Place { netns: u64::MAX, ifindex: 1, queue };
        let start = Instant::now();
        assert_eq!(busy_until(place(0)), None);
        [0, 0, 1].into_iter().for_each(|queue| note(place(queue)));
        assert!(busy_until(place(0)).is_some_and(|until| until >= start + LONGEST));
        assert_eq!(busy_until(place(2)), None);
        forget(place(0));
        assert_eq!(busy_until(place(0)), None);
        assert!(busy_until(place(1)).is_some());
    }
}
