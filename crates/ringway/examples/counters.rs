//! Counters of a port while another thread uses it, and of all ports that are open on the machine: `counters ebpf:eth0`.

use std::thread;
use std::time::Duration;

use ringway::{DropReason, Port, Result, Waiter, open_ports};

fn main() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "null:".into());
    let mut port = Port::open(&name)?;
    let watch = port.watch(); // for any thread, also when the port is gone
    let receiving = thread::spawn(move || -> Result<()> {
        let mut waiter = Waiter::new(Duration::from_micros(20))?;
        for _ in 0..100 {
            waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(10))?;
            port.rx[0].burst(256).for_each(drop);
        }
        Ok(())
    });
    loop {
        let rx = watch.counters().rx;
        let full = rx.drops(DropReason::RingFull);
        println!("{} received, {full} lost because the ring was full", rx.frames_out);
        if receiving.is_finished() {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    for port in open_ports() {
        println!("{} of process {}", port.name, port.pid);
    }
    let dropped = watch.counters().rx.dropped();
    println!("{dropped} dropped in all");
    for reason in DropReason::ALL.into_iter().filter(|why| watch.counters().rx.drops(*why) > 0) {
        println!("{}: {}", reason.name(), reason.help());
    }
    receiving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
