//! Sends a thousand broadcast frames in bursts: `send ebpf:eth0`.

use ringway::{Port, Result};

fn main() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "null:".into());
    let mut port = Port::open(&name)?;
    let mut left = 1000;
    while left > 0 {
        let mut burst = port.tx[0].burst();
        while left > 0
            && let Some(mut slot) = burst.next_slot()
        {
            let frame = slot.buf();
            frame[..6].fill(0xff);
            frame[6..60].fill(0x02);
            slot.send(60);
            left -= 1;
        }
        burst.commit();
        port.tx[0].sync()?;
    }
    println!("{}", port.counters().tx);
    Ok(())
}
