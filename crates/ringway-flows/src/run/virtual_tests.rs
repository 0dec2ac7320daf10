use std::convert::Infallible;

use super::*;
use crate::run::example::{ASK, bundle};

/// All frames of a run with their times, and its report.
fn frames(bundle: Bundle, options: &Options) -> (Vec<(u64, End, Vec<u8>)>, Report) {
    let mut all = Vec::new();
    let report = run(bundle, options, |time, end, frame| {
        all.push((time, end, frame.to_vec()));
        Ok::<(), Infallible>(())
    });
    (all, report.unwrap())
}

fn load(line: &str) -> Bundle {
    bundle(&format!("{ASK} run {{ {line} seed 5 }}"))
}

#[test]
fn the_same_seed_gives_the_same_frames() {
    let poisson = "ask poisson ramp 0..2 k flows/s in 50 ms hold 100 ms drain 1 s";
    let (one, _) = frames(load(poisson), &Options::default());
    let (two, _) = frames(load(poisson), &Options::default());
    assert!(one == two && one.len() > 1000 && one.is_sorted_by_key(|(time, _, _)| *time));
    let mut other = load(poisson);
    other.seed = 6;
    assert_ne!(one, frames(other, &Options::default()).0);
}

#[test]
fn a_plan_is_carried_out_to_the_last_flow() {
    let text = "ask ramp 0..1000 flows/s in 100 ms hold 1 s drain 1 s";
    let mut bundle = load(text);
    bundle.plan.stops.clear();
    let (all, report) = frames(bundle, &Options::default());
    assert_eq!((report.total.started, report.total.complete, report.total.active), (1050, 1050, 0));
    assert_eq!((report.postponed, report.missed, report.ended.as_str()), (0, 0, "plan"));
    assert_eq!((report.steady_seconds, report.transport["frames_out"]), (1.0, all.len() as u64));
    assert!((report.total.flows_per_second - 1000.0).abs() <= 2.0, "{}", report.total.flows_per_second);
    let connect = &report.flows[0].latencies["connect"];
    assert!(
        (97..=103).contains(&connect.p50_us) && connect.max_us <= 203,
        "two ways of 50 us, and ARP: {connect:?}"
    );
}

#[test]
fn a_start_without_room_comes_later() {
    // Five at a time, each of more than 200 us.
    let (_, report) =
        frames(load("ask rate 100 k flows/s for 10 ms drain 1 s concurrent max 5"), &Options::default());
    assert_eq!((report.total.started, report.total.complete, report.active.max), (1000, 1000, 5));
    assert!(report.postponed > 500, "{}", report.postponed);
    // Without a drain the rest is missed.
    let (_, report) = frames(load("ask rate 100 k flows/s for 10 ms concurrent max 5"), &Options::default());
    assert_eq!(report.total.started + report.missed, 1000);
}

#[test]
fn latencies_count_from_the_time_at_which_a_start_was_due() {
    // Each of 1000 flows is due within 10 ms. Five at a time take at least 200 us, so the last ones are late by at least 30 ms.
    let slow = |line: &str| {
        let ask = r#"flow name { udp q = inside -> outside : 53  timeout 2 s
            q > "who " hex(rand32)
            q < "it is " hex(rand32) }"#;
        let text = format!("{ASK}\n{ask}\nrun {{ {line} drain 1 s concurrent max 5 seed 5 }}");
        let (_, report) = frames(bundle(&text), &Options::default());
        assert_eq!((report.total.started, report.total.complete), (1000, 1000), "{line}");
        report
    };
    let report = slow("ask rate 100 k flows/s for 10 ms");
    let ask = &report.flows[0].latencies;
    for latency in ["connect", "first", "flow"] {
        assert!(ask[latency].max_us > 30_000 && ask[latency].p50_us > 10_000, "{latency}: {ask:?}");
    }
    assert!(ask["reply"].max_us < 400, "the request is sent when the connection is there: {ask:?}");
    let report = slow("name rate 100 k flows/s for 10 ms");
    let name = &report.flows[0].latencies;
    for latency in ["first", "reply", "flow"] {
        assert!(name[latency].max_us > 8_000, "{latency}: {name:?}");
    }
}

#[test]
fn conditions_and_limits_end_a_run() {
    let (_, report) =
        frames(load("ask rate 1 k flows/s for 1 s drain 1 s stop complete >= 100"), &Options::default());
    assert_eq!((report.ended.as_str(), report.total.complete), ("stop: complete >= 100", 100));
    let (_, report) = frames(
        load("ask rate 1 k flows/s for 1 s"),
        &Options { until_ns: 500_000_000, ..Options::default() },
    );
    assert_eq!((report.ended.as_str(), report.seconds), ("limit", 0.5));
    let (_, report) =
        frames(load("ask rate 1 k flows/s for 1 s drain 1 s"), &Options { flows: 3, ..Options::default() });
    assert_eq!((report.total.started, report.total.complete), (3, 3));
}

/// The room of a run is for its stories. A flood of SYNs takes all of it, unless half-open connections are limited.
#[test]
fn a_story_goes_on_beside_a_flood_of_syns_while_half_open_connections_are_limited() {
    let flood = "attack flood(target) { raw tcp inside* -> target : 80  flags S  seq rand  no_reply }";
    let text = format!(
        "{ASK}\n{flood}\nrun {{ ask rate 100 flows/s for 3 s drain 1 s
           flood rate 20 k pkt/s from 1 s to 2 s target outside  seed 5 }}"
    );
    let run = |backlog| {
        let settings = Settings { backlog, ..Settings::default() };
        let (_, report) = frames(bundle(&text), &Options { settings, ..Options::default() });
        let ask = report.total.clone();
        (ask.started, ask.complete, report.transport["half_open_dropped"])
    };
    for limited in [None, Some(100)] {
        let (started, complete, dropped) = run(limited);
        assert_eq!((started, complete), (300, 300), "{limited:?}");
        assert!(dropped > 19_000, "{limited:?}: {dropped}");
    }
    let (_, complete, dropped) = run(Some(0));
    assert!(complete < 250 && dropped == 0, "{complete} complete, {dropped} dropped");
}

#[test]
fn a_number_of_active_flows_is_kept() {
    let (_, report) = frames(load("ask rate 20 flows for 100 ms drain 1 s"), &Options::default());
    assert_eq!((report.active.max, report.total.failed), (20, 0));
    assert!(report.total.complete > 1000, "{}", report.total.complete);
}

#[test]
fn a_bit_rate_counts_real_bits() {
    // The compiler is made to believe in a third, or in three times as much.
    for (times, part) in [(1, 1), (1, 3), (3, 1)] {
        let mut bundle = load("ask rate 100 Mbit/s for 2 s drain 1 s");
        bundle.flows[0].estimate.bytes = bundle.flows[0].estimate.bytes * times / part;
        let (_, report) = frames(bundle, &Options::default());
        let bits = report.rates.bits_out;
        assert!((bits - 100e6).abs() < 2e6, "{times} {part}: {bits}");
        assert_eq!(report.total.started, report.total.complete);
    }
    // Clients alone count what they receive, too: the sums of both ends are theirs.
    let datagrams = r#"flow ask { udp q = inside -> outside : 53  timeout 2 s
        q > "who " hex(rand32)
        q < random(1 KiB) }
        run { ask rate 50 Mbit/s for 2 s drain 1 s }"#;
    let (_, report) = frames(bundle(datagrams), &Options::default());
    assert!((report.rates.bits_out - 50e6).abs() < 1e6, "{}", report.rates.bits_out);
}

#[test]
fn an_attack_keeps_its_rate_and_time() {
    let text = r#"
        attack flood(target) { raw tcp inside* -> target : 80  flags S  seq rand  no_reply }
        run { ask rate 1 k flows/s for 2 ms  flood rate 10 k pkt/s from 5 ms to 25 ms target 198.19.0.1 }
    "#;
    let (all, report) = frames(bundle(&format!("{ASK}\n{text}")), &Options::default());
    let is_flood = |(time, end, frame): &&(u64, End, Vec<u8>)| {
        *time >= 5_000_000 && *end == End::Client && frame[12..14] == [8, 0] && frame[47] == 2
    };
    let floods: Vec<_> = all.iter().filter(is_flood).collect();
    assert!((195..=200).contains(&floods.len()), "{}", crate::run::report_text::text(&report));
    assert!(floods.iter().all(|(time, _, _)| (5_000_000..25_000_000).contains(time)));
    assert_eq!((report.total.started, report.total.complete), (2, 2), "an attack is no story");
    assert_eq!(report.flows[1].kind, "attack");
}

#[test]
fn the_report_has_what_an_attack_did() {
    // Each story takes a place at a server that the flood takes, too: nothing here is short of room, so nothing happens to the stories.
    let text = r#"
        attack flood(target) { raw tcp inside* -> target : 80  flags S  seq rand  no_reply }
        run { ask rate 500 flows/s for 5 s drain 1 s  flood rate 1 k pkt/s from 2 s to 3 s target 198.19.0.1 }
    "#;
    let (_, report) = frames(bundle(&format!("{ASK}\n{text}")), &Options::default());
    let [attack] = &report.attacks[..] else { panic!("{:?}", report.attacks) };
    assert_eq!((attack.from_seconds, attack.to_seconds, attack.sent), (2.0, 3.0, 1000));
    let parts = [&attack.before, &attack.during, &attack.after].map(|part| part.as_ref().unwrap());
    let seconds = parts.map(|part| part.seconds.round());
    assert_eq!(seconds, [2.0, 1.0, 2.0]);
    assert_eq!(parts.iter().map(|part| part.started).sum::<u64>(), report.total.started);
    for part in parts {
        assert!((part.flows_per_second - 500.0).abs() < 10.0 && part.completion == 1.0, "{part:?}");
        assert!(part.latencies["ask"].p99_us < 1000, "{part:?}");
    }
    assert_eq!(attack.recovery_seconds, Some(0.0));
    assert_eq!(report.answers["syn_ack"], 3000, "a half of a connection for each packet, and two repeats");
    let text = crate::run::report_text::text(&report);
    for line in [
        "attack flood(target = 198.19.0.1): 2.000 s to 3.000 s, 1000 sent; recovered after 0 ns",
        "answers to attacks: syn_ack 3000",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let samples = report.history.samples();
    assert!(samples.len() > 40 && samples.last().unwrap().1.flows.complete == report.total.complete);
}

#[test]
fn a_sink_that_fails_ends_the_run() {
    let mut left = 3;
    let result = run(load("ask rate 1 k flows/s for 1 s"), &Options::default(), |_, _, _| {
        left -= 1;
        if left == 0 { Err("full") } else { Ok(()) }
    });
    assert!(matches!(result, Err(Failed::Sink("full"))));
    assert_eq!(left, 0);
}

#[test]
fn expectations_hold_or_fail() {
    let text = format!(
        "{ASK} run {{ ask rate 1 k flows/s for 100 ms drain 1 s }}
        expect {{ complete >= 99.99 %  p99(ask.connect) < 1 ms  rate >= 2000 flows/s  failed(ask) == 0 }}"
    );
    let (_, report) = frames(bundle(&text), &Options::default());
    let holds: Vec<bool> = report.expectations.iter().map(|outcome| outcome.holds).collect();
    assert_eq!(holds, [true, true, false, true], "{:?}", report.expectations);
    assert!(!report.holds);
    let texts: Vec<&str> = report.expectations.iter().map(|outcome| outcome.expectation.as_str()).collect();
    let right =
        ["complete >= 99.99 %", "p99(ask.connect) < 1 ms", "rate >= 2000 flows/s", "failed(ask) == 0"];
    assert_eq!(texts, right);
    let text = crate::run::report_text::text(&report);
    assert!(text.contains("FAILS: rate >= 2000 flows/s: "), "{text}");
}

#[test]
fn a_program_without_an_end_meets_the_end_of_the_run() {
    let mut bundle = load("ask rate 1 k flows/s for 1 s");
    bundle.flows[0].client.code[0] = crate::code::Instr::new(crate::code::Op::Jmp, 0, 0, 0);
    crate::code::verify(&bundle).unwrap();
    let (_, report) = frames(bundle, &Options { until_ns: 3_000_000, ..Options::default() });
    assert_eq!((report.ended.as_str(), report.seconds), ("limit", 0.003));
    assert!(report.total.active > 0 && report.transport["fuel_exhausted"] > 2_000);
}
