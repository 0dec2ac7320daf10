//! Messages come whole, however many pieces they have, and whatever their end does next.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

use std::convert::Infallible;

use ringway_flows::code::End;
use ringway_flows::compile::{Options, Source, compile};
use ringway_flows::run::virtual_time;

/// Runs one flow of a connection and messages to its end. Returns the lengths of the client's frames that have some payload.
fn sent(connection: &str, messages: &str) -> Vec<usize> {
    let pools = "pool inside = 198.18.0.0/18\npool outside = 198.19.0.0/20";
    let text = format!("{pools}\nflow one(n = 1000..1001) {{\n  {connection}\n  {messages}\n}}");
    let source = Source { name: "messages.flow", text: &text, read: &|_| Err("no file".to_owned()) };
    let mut bundle = compile(&source, &Options::default()).unwrap_or_else(|errors| panic!("{errors}"));
    virtual_time::only(&mut bundle, 0);
    let mut lengths = Vec::new();
    let report = virtual_time::run(bundle, &virtual_time::Options::default(), |_, end, frame| {
        lengths.extend((frame.len() > 60 && end == End::Client).then_some(frame.len()));
        Ok::<(), Infallible>(())
    });
    let report = report.unwrap();
    assert_eq!((report.total.started, report.total.complete), (1, 1), "{messages}: {:#?}", report.flows);
    lengths
}

#[test]
fn a_datagram_holds_any_number_of_copies() {
    for message in ["pattern(\"a\", n)", "zeros(n)", "u16(7) pattern(\"abc\", n) counter(n / 4)"] {
        let lengths =
            sent("udp c = inside -> outside : 7  timeout 1 s", &format!("c > {message}\n  c < \"ok\""));
        assert!(matches!(lengths[..], [1042..1400]), "{message}: {lengths:?}");
    }
}

#[test]
fn a_stream_of_copies_goes_in_full_segments() {
    for size in ["8192", "n * 9"] {
        let message = format!("c > pattern(\"a\", {size})\n  c < \"ok\"\n  c > close");
        let lengths = sent("tcp c = inside -> outside : 7  timeout 1 s", &message);
        let payload: usize = lengths.iter().map(|len| len - 54).sum();
        assert!((8192..=9009).contains(&payload) && lengths.len() <= 8, "{size}: {lengths:?}");
    }
}

#[test]
fn a_reset_comes_after_what_was_sent() {
    for messages in [
        "c > \"last\"\n  c > reset",
        "c > random(n * 100)\n  c > reset",
        "c > \"first\"\n  c < random(n * 100)\n  c < reset",
        "c > \"first\"\n  c < pattern(\"a\", n * 100)\n  c < reset",
    ] {
        sent("tcp c = inside -> outside : 7  timeout 1 s", messages);
    }
}
