//! Follows the kernel's tables into a data plane, and prints a line a second for as many seconds as the first argument says.
//!
//! ```sh
//! cargo run --release --example control_follow 10
//! ```
use std::time::{Duration, Instant};

use ringway_fib::{Fib4, Fib6};
use ringway_fwd::control::{ControlError, Follower, Limits, Options, Pulse, Resolver, Tables};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{ClockId, Timespec, clock_gettime};

fn main() -> Result<(), ControlError> {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10);
    let mut tables =
        Tables::new(Fib4::new(Default::default())?, Fib6::new(Default::default())?, Limits::default());
    let mut resolver = Resolver::new(&mut tables);
    let mut follower = Follower::open(
        Options { check_every: Duration::from_secs(5), ..Options::default() },
        &mut Pulse::none(),
    )?;
    let (start, mut line, mut before) = (Instant::now(), Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(seconds) {
        let changes = follower.poll(Instant::now(), &mut Pulse::none())?;
        if let Err(e) = resolver.update(follower.state(), changes, &mut tables) {
            eprintln!("{e}");
        }
        let mark = resolver.mark(); // nobody looks up here
        resolver.release(mark);
        if line.elapsed() >= Duration::from_secs(1) {
            let health = follower.health();
            let sure = health.in_sync && resolver.pending() == 0;
            let rate = (health.events - before) as f64 / line.elapsed().as_secs_f64();
            println!(
                "{rate:.0} changes/s, {} routes, in sync: {sure}, {:.2} s of processor",
                resolver.routes(),
                used()
            );
            println!("  {health:?}");
            (line, before) = (Instant::now(), health.events);
        }
        let wait = follower.wait(Instant::now()).min(Duration::from_millis(100));
        let wait = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() };
        let _ = poll(&mut [PollFd::new(&follower, PollFlags::IN)], Some(&wait)); // whatever it says, look again
    }
    Ok(())
}

/// Processor time of this process, in seconds.
fn used() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
