//! Threads that stay on one CPU and know what they used of it.

use std::io;
use std::time::Duration;

use super::sys;

/// Keeps the calling thread on one CPU from now on.
///
/// # Errors
///
/// When there is no such CPU, or it is not ours to use.
pub fn pin(cpu: usize) -> io::Result<()> {
    sys::pin(cpu)
}

/// CPU time that the calling thread has used, in user and kernel together.
pub fn cpu_time() -> Duration {
    sys::thread_cpu_time()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs_cpu_time_and_an_absent_cpu_is_refused() {
        let before = cpu_time();
        let mut n = 0u64;
        while cpu_time() == before {
            n = std::hint::black_box(n + 1);
        }
        assert!(pin(100_000).is_err());
        std::thread::spawn(|| pin(0).unwrap()).join().unwrap();
    }
}
