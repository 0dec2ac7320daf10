//! Takes the frames that match an expression; the host goes on with all others: `filter ebpf:eth0 'udp port 7'`.

use std::time::Duration;

use ringway::{CtrlC, Filter, OpenOptions, Result, Waiter};
use ringway_wire::parse;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "ebpf:lo".into());
    let wanted = Filter::compile(&args.next().unwrap_or_default())?;
    // The filter runs in the kernel: a frame that does not match costs this program nothing.
    let mut port = OpenOptions::new().take(wanted).open(&name)?;
    let mut waiter = Waiter::new(Duration::from_micros(50))?;
    let ctrl_c = CtrlC::catch()?;
    eprintln!("{name}: {}", port.info().backend);
    while !ctrl_c.pressed() {
        waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(100))?;
        for frame in port.rx[0].burst(u32::MAX) {
            println!("{:5} {}", frame.len(), parse(frame.bytes()));
        }
    }
    Ok(())
}
