//! Attacks do what their stories say.

use ringway_wire::{Packet, Transport, parse};

use super::Bed;
use crate::code::{Bundle, Kind};
use crate::compile::{Options, Source, compile};
use crate::transport::Settings;

const SECOND: u64 = 1_000_000_000;

/// The attacks that ship, each with a run of its own.
fn attacks() -> Vec<(String, Bundle)> {
    let (text, _) = include_str!("../../../stories/attacks.flow").split_once("\nrun {").unwrap();
    let names = text.lines().filter_map(|line| line.strip_prefix("attack ")?.split('(').next());
    let of = |name: &str| {
        let whole = format!("{text}\nrun {{ {name} rate 10 flows/s for 1 s target outside }}");
        let source = Source { name: "attacks", text: &whole, read: &|_| Err(String::new()) };
        (name.to_owned(), compile(&source, &Options::default()).unwrap())
    };
    names.map(of).collect()
}

/// One attack, once, and all frames.
fn run(name: &str) -> (Bed, Vec<Vec<u8>>) {
    let (_, bundle) = attacks().into_iter().find(|(attack, _)| attack == name).unwrap();
    let mut bed = Bed::new(bundle, Settings::default());
    bed.cable.log = Some(Vec::new());
    bed.start(0);
    bed.run(600 * SECOND, |_| 1);
    let frames = bed.cable.log.take().unwrap().into_iter().map(|(_, frame)| frame).collect();
    (bed, frames)
}

/// The segments from the clients' pools: their flags and windows.
fn from_clients(frames: &[Vec<u8>]) -> Vec<(u8, u16)> {
    let segment = |frame: &Vec<u8>| match parse(frame) {
        Packet { transport: Some(Transport::Tcp(tcp)), .. } if tcp.src_port() >= 10_000 => {
            Some((tcp.flags().0, tcp.window()))
        }
        _ => None,
    };
    frames.iter().filter_map(segment).collect()
}

const SYN: u8 = 2;
const RST: u8 = 4;

#[test]
fn each_attack_runs_to_its_end() {
    let all = attacks();
    assert!(all.len() > 25);
    for (name, bundle) in all {
        assert_eq!(bundle.flows[0].kind, Kind::Attack);
        let mut bed = Bed::new(bundle, Settings::default());
        (0..20).for_each(|_| bed.start(0));
        bed.run(600 * SECOND, |_| 1);
        let [client, _] = &bed.shard.tally().flows[0];
        assert_eq!((client.complete, client.all_failed(), client.active), (20, 0, 0), "{name}: {client:?}");
    }
}

#[test]
fn a_half_open_connection_is_never_acknowledged() {
    let (_, frames) = run("half_open");
    assert_eq!(from_clients(&frames).iter().map(|(flags, _)| *flags).collect::<Vec<_>>(), [SYN]);
}

#[test]
fn a_scan_tells_a_port_that_is_closed() {
    let (bed, _) = run("scan_connect");
    let tally = bed.shard.tally();
    assert_eq!(tally.counters[0].iter().sum::<u64>(), 1, "one answer: {tally:?}");
    let names = &bed.shard.bundle().flows[0].counters;
    let closed = names.iter().position(|&name| bed.shard.bundle().name(name) == "closed").unwrap();
    assert_eq!(tally.counters[0][closed], 1, "{tally:?}");
}

#[test]
fn a_slow_reader_has_the_window_of_its_story() {
    let (_, frames) = run("slow_read");
    let segments = from_clients(&frames);
    // The last one acknowledges the peer's FIN: its window means nothing.
    let (_, before) = segments.split_last().unwrap();
    assert!(before.len() > 100);
    assert!(before.iter().all(|(_, window)| *window <= 64), "{before:?}");
}

/// A flood of segments that look like answers finds no answer.
#[test]
fn what_comes_back_for_a_silent_attack_gets_no_reset() {
    let (_, frames) = run("bad_options");
    assert!(from_clients(&frames).iter().all(|(flags, _)| flags & RST == 0));
}
