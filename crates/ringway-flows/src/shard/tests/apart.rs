//! Clients and servers in shards of their own, as two processes have them, over a wire that loses, doubles, spoils and delays frames.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use ringway_wire::checksum::Sum;

use crate::code::{Bundle, End};
use crate::compile::{Options, Source, compile};
use crate::content::random::SplitMix64;
use crate::shard::{EndTally, Failure, Shape, Shard, Wire};
use crate::transport::Settings;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// What a wire does to frames: shares of them, and times in ns.
#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    lost: f64,
    doubled: f64,
    spoilt: f64,
    /// All frames take so long.
    delay: u64,
    /// And up to so much more, so that some overtake others.
    jitter: u64,
}

/// A frame on its way: the time of its arrival, a number, whether it goes to the servers, and its bytes.
type Flying = (u64, u64, bool, Vec<u8>);

/// Frames on their way, by the time of their arrival.
struct Air {
    now: u64,
    faults: Faults,
    random: SplitMix64,
    frames: BinaryHeap<Reverse<Flying>>,
    sent: u64,
    /// Changes a frame behind the back of its checksum.
    forge: fn(&mut SplitMix64, &mut [u8]) -> bool,
    /// Addresses of the clients whose flows have such a frame. Each client has one flow.
    forged: HashSet<[u8; 4]>,
}

impl Air {
    fn new(faults: Faults, seed: u64) -> Self {
        let forge = |_: &mut SplitMix64, _: &mut [u8]| false;
        let (frames, forged) = (BinaryHeap::new(), HashSet::new());
        Self { now: 0, faults, random: SplitMix64(seed), frames, sent: 0, forge, forged }
    }

    /// The next frame that has arrived, and at which end.
    fn arrived(&mut self) -> Option<(End, Vec<u8>)> {
        self.frames.peek().filter(|Reverse((at, ..))| *at <= self.now)?;
        let Reverse((_, _, to_server, frame)) = self.frames.pop()?;
        Some((if to_server { End::Server } else { End::Client }, frame))
    }

    fn happens(&mut self, share: f64) -> bool {
        self.random.unit() < share
    }
}

impl Wire for Air {
    fn room(&mut self, _: End) -> usize {
        usize::MAX
    }

    fn send(&mut self, side: End, write: impl FnOnce(&mut [u8]) -> usize) {
        let mut frame = vec![0; 2048];
        let len = write(&mut frame);
        frame.truncate(len);
        let Faults { lost, doubled, spoilt, delay, jitter } = self.faults;
        if len == 0 || self.happens(lost) {
            return;
        }
        if self.happens(spoilt) {
            // Behind the Ethernet header, which has no checksum here.
            let at = 14 + self.random.below(len as u64 - 14) as usize;
            frame[at] ^= 1 << self.random.below(8);
        }
        if (self.forge)(&mut self.random, &mut frame) {
            let at = if side == End::Client { 26 } else { 30 };
            self.forged.extend(frame[at..].first_chunk());
        }
        for _ in 0..1 + u32::from(self.happens(doubled)) {
            let at = self.now + delay + self.random.below(jitter + 1);
            self.sent += 1;
            self.frames.push(Reverse((at, self.sent, side == End::Client, frame.clone())));
        }
    }
}

/// Two shards and the wire between them.
struct Pair {
    shards: [Shard; 2],
    air: Air,
}

impl Pair {
    fn new(bundle: &Bundle, settings: Settings, air: Air) -> Self {
        let macs = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
        let shape = Shape { endpoints: 2000, block_bytes: 1 << 22, macs, start: 0 };
        let shard = || Shard::new(bundle.clone(), settings, shape).unwrap();
        Self { shards: [shard(), shard()], air }
    }

    /// Starts flows in turn, each so long after the one before, and goes on until all have ended.
    fn run(&mut self, flows: u16, starts: u64, apart: u64) {
        let mut started = 0;
        loop {
            let now = self.air.now;
            while let Some((side, frame)) = self.air.arrived() {
                self.shards[side as usize].receive(side, &frame, now, &mut self.air);
            }
            if started < starts && now >= started * apart {
                self.shards[0].start((started % u64::from(flows)) as u16, now, now, &mut self.air).unwrap();
                started += 1;
            }
            self.shards.iter_mut().for_each(|shard| shard.poll(now, &mut self.air));
            for ends in self.shards.iter().flat_map(|shard| &shard.tally().flows).flatten() {
                assert!(ends.adds_up(), "{ends:?}");
            }
            let start = (started < starts).then_some(started * apart);
            let timers = self.shards.iter().filter_map(Shard::next_ns);
            let arrival = self.air.frames.peek().map(|Reverse((at, ..))| *at);
            let Some(next) = timers.chain(arrival).chain(start).min() else { return };
            self.air.now = next.max(now);
        }
    }

    /// The clients' ends and the servers'.
    fn ends(&self) -> [EndTally; 2] {
        let [client, _] = self.shards[0].tally().total();
        let [_, server] = self.shards[1].tally().total();
        [client, server]
    }

    /// All flows ended, and gave back what they had.
    fn is_over(&self, starts: u64) {
        let [client, server] = self.ends();
        assert_eq!((client.started, client.active, server.active), (starts, 0, 0), "{client:?} {server:?}");
        for shard in &self.shards {
            assert_eq!(shard.used(), Default::default(), "{:?}", shard.tally());
        }
    }
}

/// For a bad wire: short timeouts, many attempts, and an end that closes first remembers the connection.
fn patient() -> Settings {
    Settings {
        min_rto: 20 * MS,
        initial_rto: 100 * MS,
        max_rto: SECOND,
        time_wait: 5 * SECOND,
        attempts: 14,
        ..Settings::default()
    }
}

fn stories() -> [(&'static str, Bundle); 5] {
    [
        ("ftp", include_str!("../../../stories/ftp.flow")),
        ("http", include_str!("../../../stories/http.flow")),
        ("dns", include_str!("../../../stories/dns.flow")),
        ("mail", include_str!("../../../stories/mail.flow")),
        ("echo", include_str!("../../../stories/echo.flow")),
    ]
    .map(|(name, text)| {
        let source = Source { name, text, read: &|name| Err(format!("{name} is not here")) };
        (name, compile(&source, &Options::default()).unwrap())
    })
}

#[test]
fn flows_end_over_any_bad_wire() {
    let quiet = Faults { delay: MS, ..Faults::default() };
    let wires = [
        ("nothing", quiet),
        ("loss of 1 %", Faults { lost: 0.01, ..quiet }),
        ("loss of 10 %", Faults { lost: 0.1, ..quiet }),
        ("doubled", Faults { doubled: 0.2, ..quiet }),
        ("another order", Faults { jitter: 3 * MS, ..quiet }),
        ("spoilt", Faults { spoilt: 0.05, ..quiet }),
        ("slow", Faults { delay: 80 * MS, ..quiet }),
        ("all of it", Faults { lost: 0.05, doubled: 0.05, spoilt: 0.02, delay: 5 * MS, jitter: 5 * MS }),
    ];
    for ((story, bundle), seed) in stories().into_iter().zip(1..) {
        for (wire, faults) in wires {
            let mut pair = Pair::new(&bundle, patient(), Air::new(faults, seed));
            let starts = 60;
            pair.run(bundle.flows.len() as u16, starts, 20 * MS);
            pair.is_over(starts);
            let [client, server] = pair.ends();
            let name = format!("{story}, {wire}: {client:?} {server:?}");
            for why in [Failure::Mismatch, Failure::Check, Failure::NoPort, Failure::NoMemory] {
                assert_eq!((client.failed[why as usize], server.failed[why as usize]), (0, 0), "{name}");
            }
            // A wire that loses nothing fails nothing. The others fail few: a question over UDP is asked three times.
            let least = if faults.lost + faults.spoilt == 0.0 { starts } else { starts * 8 / 10 };
            assert!(client.complete >= least, "{name}");
        }
    }
}

/// Bytes are changed, and the checksum with them, as a broken device does: no end takes such a flow for complete.
#[test]
fn forged_bytes_are_no_success() {
    const TCP: usize = 14 + 20;
    let forge = |random: &mut SplitMix64, frame: &mut [u8]| {
        if frame[12..14] != [8, 0] || frame[23] != 6 {
            return false;
        }
        // Short frames are padded.
        let packet = 14 + usize::from(u16::from_be_bytes([frame[16], frame[17]]));
        let data = TCP + usize::from(frame[TCP + 12] >> 4) * 4;
        if data == packet || random.unit() >= 0.03 {
            return false;
        }
        frame[data + random.below((packet - data) as u64) as usize] ^= 1 << random.below(8);
        reseal(&mut frame[14..packet]);
        true
    };
    let [(_, ftp), (_, http), ..] = stories();
    for (bundle, seed) in [(ftp, 1), (http, 2)] {
        let mut air = Air::new(Faults { delay: MS, ..Faults::default() }, seed);
        air.forge = forge;
        let mut pair = Pair::new(&bundle, Settings::default(), air);
        let starts = 300;
        pair.run(1, starts, 20 * MS);
        pair.is_over(starts);
        let [client, server] = pair.ends();
        let complete = client.complete.min(server.complete);
        let forged = pair.air.forged.len() as u64;
        assert!(forged > 20, "{forged}");
        assert_eq!(starts - complete, forged, "{client:?} {server:?}");
        let mismatch = Failure::Mismatch as usize;
        assert!(client.failed[mismatch] + server.failed[mismatch] > 20, "{client:?} {server:?}");
    }
}

/// Gives the segment of a packet of IPv4 its right checksum.
fn reseal(packet: &mut [u8]) {
    let (addresses, segment) = packet[12..].split_at_mut(8);
    segment[16..18].fill(0);
    let len = segment.len() as u16;
    let sum = Sum::new().add_bytes(addresses).add_u16(6).add_u16(len).add_bytes(segment).checksum();
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
}
