//! Sends broadcast frames in bursts: `send ebpf:eth0 [COUNT]`.

use std::time::Duration;

use ringway::{Port, Result, Waiter};

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "null:".into());
    let mut left = args.next().and_then(|count| count.parse().ok()).unwrap_or(1000_u64);
    let mut port = Port::open(&name)?;
    let mut waiter = Waiter::new(Duration::from_micros(20))?;
    while left > 0 {
        let mut burst = port.tx[0].burst();
        while left > 0
            && let Some(mut slot) = burst.next_slot()
        {
            let frame = slot.buf();
            frame[..6].fill(0xff);
            frame[6..60].fill(0x02);
            slot.send(60);
            left -= 1;
        }
        burst.commit();
        // Syncs, and sleeps while the ring is full.
        waiter.wait(&mut [&mut port.tx[0]], Duration::from_secs(1))?;
    }
    println!("{}", port.counters().tx);
    Ok(())
}
