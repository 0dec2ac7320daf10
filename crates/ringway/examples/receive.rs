//! Prints a line for each frame that arrives on a port: `receive ebpf:eth0`.

use std::time::Duration;

use ringway::{CtrlC, Port, Result, Waiter};
use ringway_wire::parse;

fn main() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "null:".into());
    let mut port = Port::open(&name)?;
    eprintln!("{name}: {}", port.info().backend);
    let mut waiter = Waiter::new(Duration::from_micros(20))?;
    let ctrl_c = CtrlC::catch()?;
    while !port.ended() && !ctrl_c.pressed() {
        waiter.wait(&mut [&mut port.rx[0]], Duration::from_secs(1))?;
        for frame in port.rx[0].burst(u32::MAX) {
            println!("{:5} {}", frame.len(), parse(frame.bytes()));
        }
    }
    eprintln!("{}", port.counters().rx);
    Ok(())
}
