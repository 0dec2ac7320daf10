//! Counts the frames of a port that match an expression: `count eth0 'udp port 53'`.

use std::time::Duration;

use ringway::{CtrlC, Filter, Port, Result, Waiter, Wakeable};

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_else(|| "null:".into());
    let filter = Filter::compile(&words.next().unwrap_or_default())?;
    let mut port = Port::open(&name)?;
    let mut waiter = Waiter::new(Duration::from_micros(50))?;
    let ctrl_c = CtrlC::catch()?;
    let (mut frames, mut bytes) = (0u64, 0u64);
    while !port.ended() && !ctrl_c.pressed() {
        let mut rings: Vec<&mut dyn Wakeable> = port.rx.iter_mut().map(|rx| rx as _).collect();
        waiter.wait(&mut rings, Duration::from_millis(100))?;
        for frame in port.rx.iter_mut().flat_map(|rx| rx.burst(u32::MAX)) {
            if filter.matches(frame.bytes()) {
                frames += 1;
                bytes += frame.len() as u64;
            }
        }
    }
    println!("{frames} frames, {bytes} bytes; the port: {}", port.counters().rx);
    Ok(())
}
