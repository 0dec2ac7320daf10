//! `latency`: round trips of single frames over a veth; `idle-cpu`: what waiting for frames costs.

use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use ringway::{Port, Waiter, time::monotonic_ns};

use super::kind::{Kind, with_all};
use super::{Bed, SENDER, receiver};
use crate::peers::{Peer, PeerKind};
use crate::suite::duo::{Control, alone, beside};
use crate::suite::{Case, Fault, Sample, Unit, statistics};

/// Time from one request to the next.
const INTERVAL: Duration = Duration::from_micros(200);
const REPLY_LIMIT: Duration = Duration::from_millis(100);
const WARM_UP: usize = 200;
const LEN: usize = 60;
const SEQUENCE_AT: usize = 42;

/// Local experimental, as the peer uses it; "P" asks and "R" replies at byte 14.
const PING_TYPE: [u8; 2] = [0x88, 0xb5];
const KIND_AT: usize = 14;

pub(super) fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    vec![
        with_all(
            Case::new("latency", Unit::Ns).cores(2).note(
                "median round trip, a request every 200 us; ringway looks again for up to 400 us before it sleeps, \
                 ringway-sleep (an ebpf: port) and libpcap sleep at once",
            ),
            move |kind| ringway(bed, kind, 2 * INTERVAL),
        )
        .system("ringway-sleep", move || ringway(bed, Kind::Ebpf, Duration::ZERO))
        .system("libpcap", move || libpcap(bed)),
        with_all(
            Case::new("idle-cpu", Unit::Ns)
                .note("CPU time per second of waiting for frames that do not come: 10000000 ns is 1 %"),
            move |kind| idle(bed, kind),
        ),
    ]
}

fn requests(bed: Bed<'_>) -> usize {
    ((bed.seconds / INTERVAL.as_secs_f64()) as usize).max(10)
}

fn libpcap(bed: Bed<'_>) -> Result<Sample, Fault> {
    let links = bed.links(&["a"])?;
    let netns = Some(links.lab.name());
    let pong = Peer::spawn(PeerKind::Pcap, ["pong", "a1"], netns, Some(receiver()))?;
    let (count, interval) = (requests(bed).to_string(), INTERVAL.as_micros().to_string());
    let args = ["ping", "a0", &count, "60", &interval];
    let times = Peer::spawn(PeerKind::Pcap, args, netns, Some(SENDER))?.finish()?;
    pong.stop()?;
    match times.round_trip() {
        Some(t) if t.count > t.lost => Ok(Sample::of(t.p50_ns as f64)),
        _ => Err(Fault::Failed("no reply came".into())),
    }
}

fn ringway(bed: Bed<'_>, kind: Kind, spin: Duration) -> Result<Sample, Fault> {
    let links = bed.links(&["a"])?;
    let lab = links.lab;
    let (_, times) = beside(
        Some(lab),
        receiver(),
        |control| pong(control, kind, spin),
        || {
            alone(Some(lab), SENDER, || {
                let mut port = Port::open(&kind.port("a0"))?;
                ping(&mut port, requests(bed), spin)
            })
        },
    )?;
    statistics::median(&times).map(Sample::of).ok_or_else(|| Fault::Failed("no reply came".into()))
}

/// Sends every request back until it is told to end; returns how many.
fn pong(control: &Control<'_>, kind: Kind, spin: Duration) -> Result<u64, Fault> {
    let mut port = Port::open(&kind.port("a1"))?;
    let mut waiter = Waiter::new(spin)?;
    let mut replies = 0;
    control.ready();
    while !control.stopped() {
        if !waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(20))? {
            continue;
        }
        for frame in port.rx[0].burst(64) {
            let mut reply = [0; LEN];
            if frame.copy_to(&mut reply) == LEN && reply[12..15] == [PING_TYPE[0], PING_TYPE[1], b'P'] {
                reply[..12].rotate_left(6);
                reply[KIND_AT] = b'R';
                replies += u64::from(port.tx[0].push(&reply));
            }
        }
        port.tx[0].sync()?;
    }
    Ok(replies)
}

/// Times of `count` replies in nanoseconds. A request without a reply has none.
fn ping(port: &mut Port, count: usize, spin: Duration) -> Result<Vec<f64>, Fault> {
    let mut waiter = Waiter::new(spin)?;
    let mut times = Vec::with_capacity(count);
    for number in 0..count + WARM_UP {
        let start = Instant::now();
        let asked = monotonic_ns();
        port.tx[0].push(&request(number as u64));
        port.tx[0].sync()?;
        let answered = await_reply(port, &mut waiter, number as u64, asked)?;
        if number >= WARM_UP {
            times.extend(answered.map(|at| (at - asked) as f64));
        }
        thread::sleep((start + INTERVAL).saturating_duration_since(Instant::now()));
    }
    Ok(times)
}

fn await_reply(port: &mut Port, waiter: &mut Waiter, number: u64, asked: u64) -> Result<Option<u64>, Fault> {
    while monotonic_ns() - asked < REPLY_LIMIT.as_nanos() as u64 {
        if !waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(10))? {
            continue;
        }
        let now = monotonic_ns();
        let matches = |bytes: &[u8]| {
            bytes.len() == LEN && bytes[KIND_AT] == b'R' && bytes[SEQUENCE_AT..][..8] == number.to_le_bytes()
        };
        if port.rx[0].burst(u32::MAX).filter(|f| matches(f.bytes())).count() > 0 {
            return Ok(Some(now));
        }
    }
    Ok(None)
}

fn request(number: u64) -> [u8; LEN] {
    let mut frame = [0; LEN];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&PING_TYPE);
    frame[KIND_AT] = b'P';
    frame[SEQUENCE_AT..][..8].copy_from_slice(&number.to_le_bytes());
    frame
}

fn idle(bed: Bed<'_>, kind: Kind) -> Result<Sample, Fault> {
    let links = bed.links(&["a"])?;
    alone(Some(links.lab), receiver(), || {
        let mut port = Port::open(&kind.port("a1"))?;
        let mut waiter = Waiter::new(Duration::from_micros(50))?;
        waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(100))?; // what opening brought
        let (start, before) = (Instant::now(), cpu_time()?);
        while start.elapsed().as_secs_f64() < bed.seconds {
            waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(100))?;
        }
        let used = (cpu_time()? - before).as_nanos() as f64;
        Ok(Sample::of(used / start.elapsed().as_secs_f64()))
    })
}

/// CPU time that the calling thread has used, in user and kernel together.
fn cpu_time() -> Result<Duration, Fault> {
    let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    used.map(Duration::from).map_err(|e| Fault::Failed(format!("no CPU clock of a thread: {e}")))
}
