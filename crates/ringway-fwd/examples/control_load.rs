//! How long it takes to read the kernel's tables and to bring them to the data plane, and how much memory that needs.
//!
//! ```sh
//! ip netns add x
//! printf 'link add a0 type veth peer name a1\nlink set a0 up\nlink set a1 up\naddr add 10.0.0.1/16 dev a0\n' | ip -n x -batch -
//! awk 'BEGIN { for (i = 0; i < 1e6; i++) printf "route add %d.%d.%d.0/24 via 10.0.%d.2\n",
//!     11 + i / 65536, i / 256 % 256, i % 256, i % 200 }' | ip -n x -batch -
//! ip netns exec x cargo run --release --example control_load
//! ip netns del x
//! ```
use std::time::Instant;

use ringway_fib::{Fib4, Fib6};
use ringway_fwd::control::{ControlError, Follower, Limits, Options, Pulse, Resolver, Tables};

fn main() -> Result<(), ControlError> {
    let start = Instant::now();
    let mut follower = Follower::open(Options::default(), &mut Pulse::none())?;
    println!("read {} routes in {:.2?}, {}", follower.state().routes(), start.elapsed(), memory());
    let start = Instant::now();
    let mut tables =
        Tables::new(Fib4::new(Default::default())?, Fib6::new(Default::default())?, Limits::default());
    let mut resolver = Resolver::new(&mut tables);
    let changes = follower.poll(Instant::now(), &mut Pulse::none())?;
    resolver.update(follower.state(), changes, &mut tables)?;
    println!("{} routes in the data plane after {:.2?}, {}", resolver.routes(), start.elapsed(), memory());
    println!("{} next hops", resolver.next_hops());
    let start = Instant::now();
    println!(
        "comparison: {:?} after {:.2?}, {}",
        follower.check(&mut Pulse::none())?,
        start.elapsed(),
        memory()
    );
    let start = Instant::now();
    follower.sync(&mut Pulse::none())?;
    let changes = follower.poll(Instant::now(), &mut Pulse::none())?;
    resolver.update(follower.state(), changes, &mut tables)?;
    println!("all read again and differences brought over in {:.2?}, {}", start.elapsed(), memory());
    let start = Instant::now();
    println!(
        "{} are wrong in the data plane; audited in {:.2?}",
        resolver.audit(follower.state(), &mut Pulse::none()),
        start.elapsed()
    );
    Ok(())
}

/// Memory of this process now and at most.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line =
        |key| status.lines().find(|l| l.starts_with(key)).unwrap_or_default().split_whitespace().nth(1);
    let mib = |key| line(key).and_then(|kib| kib.parse::<u32>().ok()).unwrap_or(0) / 1024;
    format!("memory {} MiB, at most {} MiB", mib("VmRSS"), mib("VmHWM"))
}
