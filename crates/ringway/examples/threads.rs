//! A thread for each ring of a port, until Ctrl-C: `threads ebpf:eth0`.

use std::thread;
use std::time::Duration;

use ringway::{CtrlC, Port, Result, RxRing, Waiter};

/// Counts the frames of one ring.
fn count(mut ring: RxRing, ctrl_c: &CtrlC) -> Result<u64> {
    let mut waiter = Waiter::new(Duration::from_micros(20))?;
    let mut frames = 0;
    while !ctrl_c.pressed() {
        waiter.wait(&mut [&mut ring], Duration::from_millis(50))?;
        frames += ring.burst(1024).count() as u64;
    }
    Ok(frames)
}

fn main() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "null:".into());
    let ctrl_c = CtrlC::catch()?;
    let mut port = Port::open(&name)?;
    eprintln!("{name}: {}", port.info().backend);
    let watch = port.watch();
    // The rings are the threads' own. What the port attached stays until port and rings are dropped.
    let rings = std::mem::take(&mut port.rx);
    thread::scope(|scope| {
        let threads: Vec<_> = rings.into_iter().map(|ring| scope.spawn(|| count(ring, &ctrl_c))).collect();
        for (ring, thread) in threads.into_iter().enumerate() {
            let frames = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            println!("ring {ring}: {frames} frames");
        }
        println!("{}", watch.counters().rx);
        Ok(())
    })
}
