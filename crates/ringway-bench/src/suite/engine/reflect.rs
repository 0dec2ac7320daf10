//! Threads that send back what they receive, with its two addresses exchanged: by an engine, and on bare rings.

use ringway::{Buf, OpenOptions, Port, RxRing, TxRing};
use ringway_engine::{Burst, Engine, Turns};

use super::threads::Worker;
use crate::suite::Fault;
use crate::suite::bed::receiver;
use crate::suite::loops::NAP;

/// Most bursts that an engine of this suite has.
pub(super) const MOST_THREADS: usize = 16;

/// An engine over these ports, whose I/O thread is on CPU 1 and takes `burst` frames of a ring at once.
pub(super) fn engine(ports: &[String], burst: u32, caches: bool) -> Result<Engine, Fault> {
    let builder =
        Engine::builder().io_cpus([receiver()]).threads(MOST_THREADS).turns(Turns::of(burst)).caches(caches);
    Ok(ports.iter().fold(builder, |builder, port| builder.port(port)).build()?)
}

/// A thread of a program that has an engine: receives from all ports, and sends to the last one. Counts the frames.
pub(super) fn by_engine(worker: &Worker<'_>, engine: &Engine) -> Result<(), Fault> {
    let mut burst = engine.burst()?;
    let to = engine.ports().len() - 1;
    while !worker.is_over() {
        worker.add(turn_round(engine, &mut burst, to)?);
        // The port may take nothing any more.
        while !engine.send_timeout(&mut burst, NAP)? && !worker.is_over() {}
    }
    Ok(())
}

/// Receives a burst, and prepares it to be sent; returns how many frames it has.
pub(super) fn turn_round(engine: &Engine, burst: &mut Burst, to: usize) -> Result<usize, Fault> {
    let count = engine.receive_timeout(burst, NAP)?;
    for mut frame in burst.frames() {
        exchange_addresses(frame.bytes_mut());
        frame.send_to(to);
    }
    Ok(count)
}

/// The same ports, all in one region where their kinds allow it, and a spare buffer where one can be had.
pub(super) fn bare(ports: &[String]) -> Result<(Vec<Port>, Option<Buf>), Fault> {
    let names: Vec<&str> = ports.iter().map(String::as_str).collect();
    let options = OpenOptions::new();
    let ports = options.clone().extra_bufs(1).open_each(&names).or_else(|_| options.open_each(&names))?;
    let spare = ports.last().and_then(|port| port.region().take_buf());
    Ok((ports, spare))
}

/// A thread that does the same with the rings themselves.
pub(super) fn by_rings(
    worker: &Worker<'_>,
    ports: &mut [Port],
    spare: &mut Option<Buf>,
    burst: u32,
) -> Result<(), Fault> {
    match ports {
        [port] => worker.repeat(|| pass(&mut port.rx[0], &mut port.tx[0], spare, burst)),
        [from, .., to] => worker.repeat(|| pass(&mut from.rx[0], &mut to.tx[0], spare, burst)),
        [] => Ok(()),
    }
}

/// Frames change their buffer with a spare one, and are copied where there is none.
fn pass(rx: &mut RxRing, tx: &mut TxRing, spare: &mut Option<Buf>, burst: u32) -> Result<usize, Fault> {
    rx.sync()?;
    let mut slots = tx.burst();
    let mut passed = 0;
    for mut frame in rx.burst(burst.min(slots.free())) {
        exchange_addresses(frame.bytes_mut());
        let Some(mut slot) = slots.next_slot() else { break };
        let len = frame.len();
        let exchanged = spare.as_mut().is_some_and(|spare| frame.exchange(spare) && slot.exchange(spare));
        if !exchanged {
            slot.buf()[..len].copy_from_slice(frame.bytes());
        }
        slot.send(len);
        passed += 1;
    }
    slots.commit();
    if passed > 0 || tx.pending() > 0 {
        tx.sync()?;
    }
    Ok(passed)
}

/// Destination and source of a frame: the work of the program.
#[inline]
fn exchange_addresses(frame: &mut [u8]) {
    if let Some((to, rest)) = frame.split_first_chunk_mut::<6>()
        && let Some(from) = rest.first_chunk_mut::<6>()
    {
        std::mem::swap(to, from);
    }
}
