//! Flows that end in order.

use super::{Bed, stories};
use crate::code::{Bundle, End, Flow, Kind};
use crate::compile::{Options, Source, compile};
use crate::transport::Settings;

const SECOND: u64 = 1_000_000_000;

/// Runs flows of a bundle without losses; returns the frames that they took.
fn all_complete(bundle: Bundle, flows: u64) -> u64 {
    let mut bed = Bed::new(bundle, Settings::default());
    for _ in 0..flows {
        bed.start(0);
        bed.run(60 * SECOND, |_| 1);
    }
    let [client, server] = bed.shard.tally().total();
    assert_eq!((client.complete, server.complete), (flows, flows), "{:?}", bed.shard.tally());
    bed.is_empty();
    let tally = bed.shard.tally();
    let odd = [tally.repeated, tally.early, tally.outside, tally.false_acks, tally.challenged, tally.strays];
    assert_eq!((odd, tally.retransmitted), ([0; 6], 0));
    tally.frames_out
}

#[test]
fn a_transfer_of_ftp_takes_less_than_thirty_packets() {
    let (one, ten) =
        (all_complete(stories::ftp((1024, 1024)), 1), all_complete(stories::ftp((1024, 1024)), 10));
    // FIN goes with the last bytes, and an acknowledgement with the answer.
    assert_eq!((one, ten), (30, 300), "two of each are of ARP");
}

#[test]
fn replies_of_any_length_arrive_whole() {
    for size in [(0, 0), (1, 1), (1400, 1500), (8192, 8192), (0, 300_000)] {
        all_complete(stories::http(size), 10);
    }
}

#[test]
fn a_datagram_is_answered() {
    all_complete(stories::lookup(), 10);
}

/// Each story that ships, without losses.
#[test]
fn every_story_runs_to_its_end() {
    for (file, text) in [
        ("ftp", include_str!("../../../stories/ftp.flow")),
        ("http", include_str!("../../../stories/http.flow")),
        ("dns", include_str!("../../../stories/dns.flow")),
        ("mail", include_str!("../../../stories/mail.flow")),
        ("datagrams", include_str!("../../../stories/datagrams.flow")),
        ("echo", include_str!("../../../stories/echo.flow")),
    ] {
        let source = Source { name: file, text, read: &|name| Err(format!("{name} is not here")) };
        let bundle = compile(&source, &Options::default()).unwrap();
        let mut bed = Bed::new(bundle.clone(), Settings::default());
        for (at, flow) in bundle.flows.iter().enumerate() {
            if flow.kind == Kind::Attack {
                continue;
            }
            for _ in 0..20 {
                bed.start(at as u16);
                bed.run(bed.now + 200 * SECOND, |_| 1);
            }
            let [client, server] = &bed.shard.tally().flows[at];
            let complete = (client.complete, server.complete);
            assert_eq!(complete, (20, 20), "{file} {}: {client:?} {server:?}", bundle.name(flow.name));
        }
        bed.is_empty();
    }
}

/// Raw packets wait for the hardware address of their target, and none is lost.
#[test]
fn raw_packets_of_attacks_go() {
    let source = Source {
        name: "attacks",
        text: include_str!("../../../stories/attacks.flow"),
        read: &|_| Err(String::new()),
    };
    let bundle = compile(&source, &Options::default()).unwrap();
    let raw = |flow: &Flow| flow.kind == Kind::Attack && flow.connections.is_empty();
    let flows: Vec<u16> = (0..).zip(&bundle.flows).filter(|(_, flow)| raw(flow)).map(|(at, _)| at).collect();
    assert!(!flows.is_empty());
    for flow in flows {
        let mut bed = Bed::new(bundle.clone(), Settings::default());
        (0..20).for_each(|_| bed.start(flow));
        bed.run(60 * SECOND, |_| 1);
        let [client, _] = &bed.shard.tally().flows[usize::from(flow)];
        assert_eq!((client.complete, client.all_failed()), (20, 0), "{flow} {client:?}");
    }
}

/// Starts so many flows at once that bursts are looked at, with frames among them that are none, and runs them to their end.
fn looks_change_nothing(bundle: Bundle, flows: u32, ends: u32) {
    let none = [Vec::new(), vec![0xff; 60]];
    let mut bed = Bed::with(bundle, Settings::default(), 2 * ends, 1 << 25);
    (0..flows).for_each(|_| bed.start(0));
    let mut most = 0;
    while bed.shard.tally().total()[0].active > 0 {
        for side in [End::Client, End::Server] {
            let mut frames: Vec<_> = bed.cable.frames[side as usize].drain(..).collect();
            if !frames.is_empty() {
                frames.splice(1..1, none.clone());
            }
            let mut given = Vec::new();
            let numbered = frames.iter().map(Vec::as_slice).enumerate();
            bed.shard.burst(
                side,
                numbered,
                |(_, frame)| frame,
                |shard, (at, frame)| {
                    given.push(at);
                    shard.receive(side, frame, bed.now, &mut bed.cable);
                },
            );
            assert!(given.into_iter().eq(0..frames.len()), "each frame once, in order");
        }
        bed.shard.poll(bed.now, &mut bed.cable);
        most = most.max(bed.shard.used().endpoints);
        let has_frames = bed.cable.frames.iter().any(|frames| !frames.is_empty());
        assert!(has_frames || bed.shard.tally().total()[0].active == 0);
    }
    bed.run(SECOND, |_| 1);
    assert!(most > ends - 1000, "most of all ends at the same time: {most}");
    assert_eq!(bed.shard.tally().total()[1].complete, u64::from(flows));
    assert_eq!((bed.shard.tally().retransmitted, bed.shard.tally().strays), (0, 0));
    bed.is_empty();
}

#[test]
fn a_look_at_a_burst_changes_nothing() {
    looks_change_nothing(stories::http((64, 64)), 17_000, 34_000);
    // Servers listen for second connections.
    looks_change_nothing(stories::ftp((64, 64)), 9_000, 36_000);
}

/// The second connection has a shorter limit than the first one, whose timer runs still.
#[test]
fn a_shorter_limit_behind_a_longer_one_holds() {
    let text = "flow two { tcp a = inside -> outside : 80  timeout 60 s
        a > \"a\"
        a < \"b\"
        tcp b = a.client -> a.server : 81  timeout 1 s
        b > \"c\"
        b < \"d\"
        b > close
        a > close }";
    let mut bed = Bed::new(crate::run::example::bundle(text), Settings::default());
    // Only the first connection has an answer.
    let to_81 = |frame: &[u8]| frame[12..14] == [8, 0] && frame[36..38] == 81u16.to_be_bytes();
    bed.start(0);
    bed.run(3 * SECOND, |frame| usize::from(!to_81(frame)));
    let [client, _] = &bed.shard.tally().flows[0];
    let timeout = crate::shard::Failure::Timeout as usize;
    assert_eq!((client.failed[timeout], client.active), (1, 0), "{:?}", bed.shard.tally());
}
