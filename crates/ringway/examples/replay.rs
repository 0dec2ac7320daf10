//! Replays a capture file at its own times: `replay trace.pcap ebpf:eth0`.

use std::time::Duration;

use ringway::{OpenOptions, Result, Waiter, forward};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, to] = args.as_slice() else {
        eprintln!("usage: replay FILE PORT");
        std::process::exit(2);
    };
    let [mut from, mut to] = OpenOptions::new().open_all([&format!("pcap:{file}"), to])?;
    let mut waiter = Waiter::new(Duration::from_micros(50))?;
    while !from.ended() || from.rx[0].avail() > 0 {
        if to.tx[0].free() == 0 {
            waiter.wait(&mut [&mut to.tx[0]], Duration::from_secs(1))?;
        } else {
            waiter.wait(&mut [&mut from.rx[0]], Duration::from_secs(1))?;
        }
        forward(&mut from.rx[0], &mut to.tx[0], 1024);
        to.tx[0].sync()?;
    }
    println!("{}; {}", from.counters().rx, to.counters().tx);
    Ok(())
}
