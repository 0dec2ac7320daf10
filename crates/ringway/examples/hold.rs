//! Keeps the last frames of a port without copying them: `hold pcap:trace.pcap@top`.

use std::collections::VecDeque;
use std::time::Duration;

use ringway::{Buf, CtrlC, OpenOptions, Result, Waiter};
use ringway_wire::parse;

/// Frames that are kept.
const KEPT: u32 = 8;

fn main() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "loop:".into());
    // Buffers beside the buffers of the rings: each is a token, which is traded for the buffer of a frame.
    let mut port = OpenOptions::new().extra_bufs(KEPT).open(&name)?;
    let mut free: Vec<Buf> = std::iter::from_fn(|| port.region().take_buf()).collect();
    let mut kept: VecDeque<(Buf, usize)> = VecDeque::new();
    let mut waiter = Waiter::new(Duration::from_micros(50))?;
    let ctrl_c = CtrlC::catch()?;
    while !port.ended() && !ctrl_c.pressed() {
        waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(100))?;
        for mut frame in port.rx[0].burst(u32::MAX) {
            let oldest = |kept: &mut VecDeque<(Buf, usize)>| kept.pop_front().map(|(buf, _)| buf);
            let Some(mut buf) = free.pop().or_else(|| oldest(&mut kept)) else { continue };
            let len = frame.len();
            if frame.exchange(&mut buf) {
                kept.push_back((buf, len));
            } else {
                free.push(buf); // a frame of several slots
            }
        }
    }
    for (buf, len) in &kept {
        println!("{len:5} {}", parse(&buf.bytes()[..*len]));
    }
    Ok(())
}
