//! `tcp-1` and `tcp-4`: what streams bring from one container to the other.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::cpu;
use super::join::Scene;
use crate::suite::{Bed, Fault, Sample};

/// Bytes of a write, and of a read at most.
const BLOCK: usize = 128 << 10;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// Until windows have grown.
const WARM_UP: Duration = Duration::from_millis(300);

/// How soon a benchmark that is to end does so.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Gbit/s that arrive by all streams together, and seconds of CPUs for each Gbit.
pub(super) fn goodput(bed: Bed<'_>, scene: &Scene, streams: usize) -> Result<Sample, Fault> {
    let streams = Streams((0..streams).map(|_| connect(scene)).collect::<Result<_, _>>()?);
    let arrived = AtomicU64::new(0);
    thread::scope(|scope| {
        let streams = End(&streams);
        for [from, to] in &streams.0.0 {
            scope.spawn(move || send(from));
            scope.spawn(|| receive(to, &arrived));
        }
        rest(bed, WARM_UP)?;
        let before = Reading::now(&arrived)?;
        rest(bed, Duration::from_secs_f64(bed.seconds))?;
        Reading::now(&arrived)?.since(&before)
    })
}

/// A connection from the first container to the second: both its ends.
fn connect(scene: &Scene) -> Result<[TcpStream; 2], Fault> {
    let [left, right] = &scene.place.containers;
    let address = scene.place.address(1);
    let failed = |e: io::Error| Fault::Failed(format!("TCP to {address}: {e}"));
    let listener = right.run(|| TcpListener::bind((address, 0)).map_err(failed))?;
    let to = SocketAddr::from((address, listener.local_addr().map_err(failed)?.port()));
    let from = left.run(|| TcpStream::connect_timeout(&to, CONNECT).map_err(failed))?;
    let (taken, _) = listener.accept().map_err(failed)?;
    Ok([from, taken])
}

/// Both ends of each stream.
struct Streams(Vec<[TcpStream; 2]>);

/// Ends streams when dropped, and so the threads that wait for them.
struct End<'a>(&'a Streams);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.0.iter().flatten().for_each(|end| _ = end.shutdown(Shutdown::Both)); // fails where the other end was first
    }
}

/// Writes until the stream ends.
fn send(mut to: &TcpStream) {
    let block = vec![0x5a; BLOCK];
    while to.write_all(&block).is_ok() {}
}

/// Counts bytes until the stream ends.
fn receive(mut from: &TcpStream, arrived: &AtomicU64) {
    let mut block = vec![0; BLOCK];
    while let Ok(bytes @ 1..) = from.read(&mut block) {
        arrived.fetch_add(bytes as u64, Ordering::Relaxed); // a count alone
    }
}

/// Sleeps, unless the benchmark is to end.
fn rest(bed: Bed<'_>, time: Duration) -> Result<(), Fault> {
    let end = Instant::now() + time;
    while !bed.signals.stopped() {
        match end.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => thread::sleep(LOOK_EVERY.min(left)),
            _ => return Ok(()),
        }
    }
    Err(Fault::Failed("interrupted".into()))
}

/// What had arrived at a moment, and what the CPUs had worked.
struct Reading {
    bytes: u64,
    time: Instant,
    cpu: f64,
}

impl Reading {
    fn now(arrived: &AtomicU64) -> Result<Self, Fault> {
        Ok(Self { bytes: arrived.load(Ordering::Relaxed), time: Instant::now(), cpu: cpu::busy()? })
    }

    fn since(&self, earlier: &Self) -> Result<Sample, Fault> {
        let gbit = (self.bytes - earlier.bytes) as f64 * 8.0 / 1e9;
        if gbit == 0.0 {
            return Err(Fault::Failed("connections came about, but no data arrived".into()));
        }
        let rate = gbit / (self.time - earlier.time).as_secs_f64();
        Ok(Sample { cpu: Some((self.cpu - earlier.cpu) / gbit), ..Sample::of(rate) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_cpu_time_are_of_what_came_between() {
        let time = Instant::now();
        let before = Reading { bytes: 1000, time, cpu: 7.0 };
        let after = Reading { bytes: 1000 + 500_000_000, time: time + Duration::from_secs(2), cpu: 9.0 };
        let sample = after.since(&before).unwrap();
        assert_eq!((sample.value, sample.cpu), (2.0, Some(0.5)));
        assert!(before.since(&before).is_err());
    }

    #[test]
    fn threads_end_with_their_streams() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let streams = Streams(vec![[from, listener.accept().unwrap().0]]);
        let arrived = AtomicU64::new(0);
        thread::scope(|scope| {
            let streams = End(&streams);
            let [from, to] = &streams.0.0[0];
            scope.spawn(|| send(from));
            scope.spawn(|| receive(to, &arrived));
            while arrived.load(Ordering::Relaxed) < 10 * BLOCK as u64 {
                thread::yield_now();
            }
        });
    }
}
