//! What the tester reads: frames that come back, and texts of its options. Each text is refused, or means what it prints.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use libfuzzer_sys::fuzz_target;
use ringway_fuzz::Input;
use ringway_rfc::rfc2889::model::SwitchSpec;
use ringway_tester::device::{DeviceSpec, RouterSpec};
use ringway_tester::trial::flow::FlowOrder;
use ringway_tester::trial::frame::{Kind, classify};
use ringway_tester::trial::mix::Mix;
use ringway_traffic::check::{Seen, SequenceCheck};
use ringway_traffic::pace::{Pacer, Rate};
use ringway_traffic::range::{EndpointRange, EndpointWalk, MacRange, Order};
use ringway_traffic::reflect::turn_round;
use ringway_traffic::tag::Tag;
use ringway_traffic::template::Vlan;

fn same<T>(text: &str) -> Option<T>
where
    T: FromStr + Display + PartialEq + Debug,
    T::Err: Display + Debug,
{
    match text.parse::<T>() {
        Ok(value) => {
            let again = value.to_string().parse::<T>();
            assert_eq!(again.as_ref().ok(), Some(&value), "{value}: {again:?}");
            Some(value)
        }
        Err(e) => {
            assert!(!e.to_string().is_empty());
            None
        }
    }
}

fn texts(kind: u8, text: &str) {
    match kind {
        0 => {
            if let Some(range) = same::<EndpointRange>(text) {
                assert!(range.count() >= 1);
                let mut walk = EndpointWalk::new(&range, Order::Random { seed: 1 });
                walk.advance();
                let _ = walk.current();
            }
        }
        1 => assert!(same::<MacRange>(text).is_none_or(|range| range.count() >= 1)),
        2 => {
            if let Some(mix) = same::<Mix>(text) {
                let (low, high) = mix.range();
                assert!(low <= high && f64::from(low) <= mix.mean() && mix.mean() <= f64::from(high));
                for n in [0, 1, 7, 1 << 20] {
                    assert!(mix.bytes(n) >= n * u64::from(low) && mix.frames_below(mix.position(n)) == n);
                }
                let _ = (mix.max_pps(), mix.line(10_000_000_000));
            }
        }
        3 => _ = same::<DeviceSpec>(text),
        4 => _ = same::<RouterSpec>(text),
        5 => _ = same::<SwitchSpec>(text),
        6 => {
            _ = same::<FlowOrder>(text);
            _ = text.parse::<Vlan>();
        }
        _ => {
            if let Ok(rate) = text.parse::<Rate>() {
                let pps = rate.pps(60);
                assert!(pps.is_none_or(|pps| pps.is_finite() && pps > 0.0), "{rate:?}");
                let mut pacer = Pacer::new(pps, 0);
                let _ = (pacer.allowed(1_000_000, 0), pacer.next_due_ns(1));
            }
        }
    }
}

fn frames(input: &mut Input<'_>) {
    let (mut check, mut observed) = (SequenceCheck::new(), 0);
    while !input.is_empty() {
        let next = input.u64();
        let mut frame = input.short().to_vec();
        if input.u8() & 1 == 0 && frame.len() >= 42 + Tag::LEN {
            let tag = Tag { stream: u16::from(input.u8() & 1), seq: input.u16().into(), time_ns: next };
            let mut bytes = [0; Tag::LEN];
            tag.write(&mut bytes);
            frame[42..42 + Tag::LEN].copy_from_slice(&bytes);
        }
        let kind = classify(&frame, next);
        let mut turned = frame.clone();
        if turn_round(&mut turned) {
            assert!(turn_round(&mut turned) && turned == frame, "turned round twice it is as before");
        } else {
            assert_eq!(turned, frame);
            assert_eq!(kind, Kind::Foreign);
        }
        let seen = check.observe(&frame);
        observed += u64::from(!matches!(seen, Seen::Foreign | Seen::Corrupted));
    }
    let counts = check.counts();
    assert_eq!(counts.received, observed);
    assert_eq!(counts.received, counts.unique + counts.duplicated + counts.stale);
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let kind = input.u8() % 9;
    if kind == 8 {
        frames(&mut input);
    } else if let Ok(text) = std::str::from_utf8(input.rest()) {
        texts(kind, text);
    }
});
