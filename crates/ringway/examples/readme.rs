//! Forwards what `eth0` receives to `eth1`, until Ctrl-C.

use std::time::Duration;

use ringway::{CtrlC, OpenOptions, Waiter, forward};

fn main() -> ringway::Result<()> {
    // In one region: frames are forwarded by exchanging buffers, not by copying.
    let [mut from, mut to] = OpenOptions::new().open_all(["ebpf:eth0", "ebpf:eth1"])?;
    let mut waiter = Waiter::new(Duration::from_micros(50))?;
    let ctrl_c = CtrlC::catch()?;
    while !ctrl_c.pressed() {
        waiter.wait(&mut [&mut from.rx[0]], Duration::from_millis(100))?;
        forward(&mut from.rx[0], &mut to.tx[0], 1024);
        to.tx[0].sync()?;
    }
    println!("{}; {}", from.counters().rx, to.counters().tx);
    Ok(())
}
