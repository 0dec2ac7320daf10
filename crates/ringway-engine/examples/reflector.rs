//! Sends each frame back where it came from, by as many threads as you like, until Ctrl-C: `reflector 4 eth0 eth1`.
//!
//! ```sh
//! sudo cargo run --release -p ringway-engine --example reflector -- 2 eth0
//! ```

use std::time::Duration;

use ringway::Result;
use ringway_engine::{Engine, Signals};
use ringway_wire::Ethernet;

/// The work of one thread.
fn reflect(engine: &Engine, signals: &Signals) -> Result<()> {
    let mut burst = engine.burst()?;
    while !signals.stopped() {
        engine.receive_timeout(&mut burst, Duration::from_millis(50))?;
        for mut frame in burst.frames() {
            if let Ok(mut ethernet) = Ethernet::new_checked(frame.bytes_mut()) {
                ethernet.swap_addrs();
                frame.port().into_iter().for_each(|port| frame.send_to(port));
            }
        }
        engine.send(&mut burst)?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1).peekable();
    let threads =
        args.next_if(|arg| arg.parse::<usize>().is_ok()).and_then(|arg| arg.parse().ok()).unwrap_or(2);
    let mut builder = Engine::builder().threads(threads);
    if args.peek().is_none() {
        builder = builder.port("loop:");
    }
    let engine = args.fold(builder, |builder, name| builder.port(name)).build()?;
    let signals = Signals::on_ctrl_c()?;
    eprintln!("{threads} threads reflect on {}", engine.ports().collect::<Vec<_>>().join(", "));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| reflect(&engine, &signals))).collect();
        let ends = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ends.collect::<Result<Vec<()>>>()
    })?;
    println!("{}", engine.counts());
    Ok(())
}
