//! Forwards frames from one port to another, without touching a byte when both lie in one region:
//! `forward ebpf:eth0 ebpf:eth1`.

use std::time::Duration;

use ringway::{CtrlC, OpenOptions, Pairing, Result, Waiter, forward};

fn main() -> Result<()> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = names.as_slice() else {
        eprintln!("usage: forward PORT PORT");
        std::process::exit(2);
    };
    let [mut from, mut to] = OpenOptions::new().open_all([from, to])?;
    println!("{:?}", Pairing::of(&from.rx[0], &to.tx[0]));
    let mut waiter = Waiter::new(Duration::from_micros(50))?;
    let ctrl_c = CtrlC::catch()?;
    while !from.ended() && !ctrl_c.pressed() {
        waiter.wait(&mut [&mut from.rx[0]], Duration::from_millis(100))?;
        while forward(&mut from.rx[0], &mut to.tx[0], 1024) > 0 {
            to.tx[0].sync()?;
            from.rx[0].sync()?;
        }
    }
    println!("{}; {}", from.counters().rx, to.counters().tx);
    Ok(())
}
