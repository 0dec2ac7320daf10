//! Forwards what `eth0` receives to `eth1`, until Ctrl-C.

use std::time::Duration;

use ringway::{CtrlC, OpenOptions, Pairing, Waiter, forward};

fn main() -> ringway::Result<()> {
    let mut ports = OpenOptions::new().open_all(&["ebpf:eth0", "ebpf:eth1"])?;
    let (a, b) = ports.split_at_mut(1);
    let (from, to) = (&mut a[0], &mut b[0]);
    let pairing = Pairing::of(&from.rx[0], &to.tx[0]); // one region: buffers are exchanged, not copied
    let mut waiter = Waiter::new(Duration::from_micros(50))?;
    let ctrl_c = CtrlC::catch()?;
    while !ctrl_c.pressed() {
        waiter.wait(&mut [&mut from.rx[0]], Duration::from_millis(100))?;
        forward(&mut from.rx[0], &mut to.tx[0], 1024, pairing);
        to.tx[0].sync()?;
    }
    println!("{}; {}", from.counters().rx, to.counters().tx);
    Ok(())
}
