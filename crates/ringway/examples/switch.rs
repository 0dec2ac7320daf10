//! Two ports of a switch in one process: how fast it forwards on one core. Needs root.
//!
//! ```sh
//! sudo cargo run --release --example switch -- 256 60
//! ```

use std::time::{Duration, Instant};

use ringway::switch::{Switch, SwitchSpec};
use ringway::{Port, Result};

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1).filter_map(|a| a.parse::<usize>().ok());
    let (burst, len) = (args.next().unwrap_or(256), args.next().unwrap_or(60));
    let switch = Switch::create("vale-example", &SwitchSpec::default())?;
    let ended = run(burst, len);
    switch.delete()?;
    println!("{:.2} million frames of {len} bytes a second, {burst} a burst", ended? / 1e6);
    Ok(())
}

fn run(burst: usize, len: usize) -> Result<f64> {
    let mut a = Port::open("vale-example:a")?;
    let mut b = Port::open("vale-example:b")?;
    // The switch learns where b is from a frame that b sends.
    b.tx[0].push(&[0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
    b.tx[0].sync()?;
    a.rx[0].sync()?;
    let (start, mut received) = (Instant::now(), 0u64);
    while start.elapsed() < Duration::from_secs(1) {
        let mut slots = a.tx[0].burst();
        for _ in 0..burst {
            let Some(mut slot) = slots.next_slot() else { break };
            slot.buf()[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
            slot.send(len);
        }
        slots.commit();
        a.tx[0].sync()?;
        b.rx[0].sync()?;
        received += b.rx[0].burst(u32::MAX).filter(|f| f.bytes()[0] == 2).count() as u64;
    }
    Ok(received as f64 / start.elapsed().as_secs_f64())
}
