//! Receives so many frames in a task of tokio: `tokio ebpf:eth0 1000`.

use std::os::fd::AsFd;

use ringway::{Error, Port, Result};
use tokio::io::unix::AsyncFd;
use tokio::runtime::Builder;

/// Counts frames until there are `wanted`.
async fn receive(port: &mut Port, wanted: u64) -> Result<u64> {
    let io = |e| Error::io("tokio", "waiting for a ring failed", e);
    let ring = &mut port.rx[0];
    // Of its own, so that the ring can be borrowed; it wakes as the ring's does.
    #[allow(deprecated, reason = "what takes its place is unsafe, and an owned descriptor keeps its rules")]
    let wake = AsyncFd::new(ring.as_fd().try_clone_to_owned().map_err(io)?).map_err(io)?;
    let mut frames = 0;
    while frames < wanted {
        ring.sync()?;
        frames += ring.burst(1024).count() as u64;
        // Asks for a wake-up, unless frames came in between.
        if frames < wanted && !ring.arm()? {
            wake.readable().await.map_err(io)?.clear_ready();
        }
    }
    Ok(frames)
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "null:".into());
    let wanted = args.next().and_then(|count| count.parse().ok()).unwrap_or(1000);
    let mut port = Port::open(&name)?;
    let runtime = Builder::new_current_thread().enable_io().build();
    let runtime = runtime.map_err(|e| Error::io("tokio", "no runtime", e))?;
    println!("{} frames", runtime.block_on(receive(&mut port, wanted))?);
    Ok(())
}
