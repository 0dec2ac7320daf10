//! A router in this process, between interfaces, until Ctrl-C: `router eth0 h0=vale0:lan`. Needs root.
//!
//! It follows the kernel's addresses, routes and neighbours, forwards what it can decide, and leaves the rest to the host.

use ringway::Result;
use ringway_engine::Signals;
use ringway_router::user::{Options, Router, Side};

fn main() -> Result<()> {
    let sides: Vec<Side> = std::env::args().skip(1).map(|side| side.parse()).collect::<Result<_>>()?;
    let mut router = Router::open(&Options::new(sides))?;
    let watch = router.watch();
    for (at, side) in watch.sides().iter().enumerate() {
        println!("{}: {}", side.interface, watch.backends(at)[0]);
    }
    router.run(&Signals::on_ctrl_c()?)?;
    for (at, side) in watch.sides().iter().enumerate() {
        let counts = watch.counts(at);
        println!("{}: {} of {} frames forwarded", side.interface, counts.forwarded, counts.frames_in);
    }
    Ok(())
}
