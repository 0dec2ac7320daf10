//! Modelled switches of known properties: the tests find just these.

use crate::rfc2889::settings::Settings;
use proptest::prelude::*;
use ringway_tester::trial::rate::Load;

use super::*;
use crate::benchmark::settings::TrialSettings;
use crate::rfc2889::model::{ModelTestBed, SwitchSpec};
use crate::rfc2889::pattern::Pattern;
use crate::rfc2889::session::Event;
use crate::rfc2889::traffic::Flaw;
use ringway_tester::trial::maximum::Maximum;
use ringway_tester::trial::rate::{MICROSECOND, MILLISECOND, SECOND};
use ringway_tester::trial::search::Reason;

/// Links of 10 Mbit/s: 14,880 frames of 64 bytes a second.
const LINK: u64 = 10_000_000;
const LINE: f64 = LINK as f64 / 672.0;

fn settings(tests: &[Test], ports: usize) -> Settings {
    let trials = TrialSettings::new(Maximum::Link(LINK), 100 * MILLISECOND);
    Settings {
        tests: tests.to_vec(),
        sizes: vec![64],
        trials: TrialSettings { wait_ps: 50 * MILLISECOND, ..trials },
        ..Settings::new(ports, Maximum::Link(LINK))
    }
}

fn measure(settings: &Settings, device: &str) -> Results {
    settings.check().unwrap();
    let spec: SwitchSpec = device.parse().unwrap();
    assert_eq!(spec.ports, settings.ports);
    let mut bed = ModelTestBed::new(&spec, settings.trials.maximum.bits(), settings.seed);
    let mut results = Results::default();
    let mut listener = |_: &Event<'_>| true;
    let mut session = Session::new(&mut bed, settings, &mut listener);
    run(&mut session, &mut results).unwrap();
    results
}

fn close(found: f64, truth: f64, within: f64) -> bool {
    (found - truth).abs() <= within * truth
}

#[test]
fn an_ideal_switch_carries_every_pattern_at_line_rate() {
    for ports in [2, 4, 6] {
        let patterns = Pattern::ALL.to_vec();
        let settings = Settings {
            patterns,
            sizes: vec![64, 1518],
            burst: if ports == 4 { 7 } else { 1 },
            ..settings(&[Test::Forwarding], ports)
        };
        let results = measure(&settings, &format!("switch:ports={ports}"));
        assert_eq!(results.forwarding.len(), 12);
        for f in results.forwarding {
            assert_eq!((f.load, f.at_maximum.lost, f.at_maximum.flooded), (Some(Load::MAX), 0, 0), "{f:?}");
            assert_eq!(f.found.goals[0].reason, Reason::Maximum);
            assert!(close(f.at_maximum.forwarded_fps, f.line_fps, 0.05), "{f:?}");
            assert!(close(f.fps, f.line_fps, 1e-9) && f.maximum.load == Load::MAX, "{f:?}");
        }
        assert_eq!(results.missing, []);
    }
}

#[test]
fn rates_add_up_over_ports() {
    let settings = Settings {
        patterns: vec![
            Pattern::Mesh,
            Pattern::Pairs,
            Pattern::Partial,
            Pattern::ManyToOne,
            Pattern::OneToMany,
        ],
        ..settings(&[Test::Forwarding], 4)
    };
    let lines: Vec<f64> = measure(&settings, "switch").forwarding.iter().map(|f| f.line_fps / LINE).collect();
    for (line, ports) in lines.iter().zip([4.0, 4.0, 2.0, 1.0, 1.0]) {
        assert!(close(*line, ports, 1e-9), "{lines:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(25))]

    /// The throughput of a switch with slow outputs, or with a slow inside, is theirs, but for what the buffer takes in one trial.
    #[test]
    fn throughputs_are_found(pps in 2_000u64..14_000, fabric: bool, buffer in 1u64..20, mesh: bool) {
        let pattern = if mesh { Pattern::Mesh } else { Pattern::Pairs };
        let settings = Settings { patterns: vec![pattern], ..settings(&[Test::Forwarding], 4) };
        let (device, all) = if fabric {
            (format!("switch:fabric={},buffer={buffer}", 4 * pps), 1.0)
        } else {
            (format!("switch:port-pps={pps},buffer={buffer}"), 4.0)
        };
        let results = measure(&settings, &device);
        let f = &results.forwarding[0];
        // Of the four ports' frames, which arrive together, one may be in work and the others wait.
        prop_assume!(!fabric || buffer >= 4);
        let truth = 4.0 * pps as f64;
        // A trial is a tenth of a second.
        let slack = 10.0 * (all * (buffer as f64 + 1.0) + 4.0) + f.line_fps * 0.001;
        // A frame more of each port in a trial is a step of 40 fps.
        let below = 40f64.max(slack * 0.2);
        prop_assert!(f.fps >= truth * 0.999 - below && f.fps <= truth + slack, "{} {truth} {slack}", f.fps);
        let full = &f.at_maximum;
        prop_assert!(full.forwarded_fps >= truth * 0.99 && full.forwarded_fps <= truth + slack, "{full:?} {truth}");
        prop_assert!(f.maximum.forwarded_fps >= full.forwarded_fps && full.lost > 0);
    }

    /// The number of addresses is found exactly, with that of the test port.
    #[test]
    fn capacities_are_found_exactly(table in 2u64..3000, limit in 1u64..3000, step in 1u64..4, seed: u64) {
        let settings = Settings { addresses: limit, address_step: step, seed, ..settings(&[Test::Capacity], 3) };
        let results = measure(&settings, &format!("switch:ports=3,table={table}"));
        let c = &results.capacity[0];
        if limit < table {
            prop_assert_eq!((c.at_least, c.learned), (true, Some(limit)));
        } else {
            prop_assert!(!c.at_least && c.cached <= table && table - c.cached < step, "{c:?}");
            prop_assert!(step > 1 || (c.cached, c.failing) == (table, Some(table)), "{c:?}");
        }
    }

    /// The learning rate is found exactly.
    #[test]
    fn learning_rates_are_found_exactly(rate in 10u64..20_000, addresses in 2u64..500) {
        let settings = Settings {
            learning_addresses: Some(addresses),
            learning_step: 1,
            learning_pps: 10,
            age_ps: 1000 * SECOND,
            ..settings(&[Test::Learning], 3)
        };
        let settings = Settings { addresses: 500, ..settings };
        let l = &measure(&settings, &format!("switch:ports=3,learn={rate},age=1000s")).learning[0];
        prop_assert_eq!((l.fps, l.at_least, l.limited), (Some(rate.min(LINE as u64)), rate >= LINE as u64, false));
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Congestion tells the three kinds of switches apart, whatever their buffers.
    #[test]
    fn kinds_of_queues_are_told_apart(buffer in 16u64..60, size in 64u32..512) {
        let base = settings(&[Test::Congestion], 4);
        let (maximum, trial_ps, wait_ps) = (Maximum::Link(100_000_000), SECOND / 4, SECOND);
        let trials = TrialSettings { maximum, trial_ps, wait_ps, ..base.trials };
        let settings = Settings { sizes: vec![size], trials, ..base };
        for (kind, blocking, pressure) in [("", false, false), ("hol", true, false), ("pressure", false, true)] {
            let device = format!("switch:buffer={buffer},{kind}");
            let c = &measure(&settings, &device).congestion[0];
            prop_assert_eq!((c.head_of_line_blocking, c.back_pressure), (blocking, pressure), "{} {:?}", kind, c);
            let third = 100.0 / 3.0;
            let lost = if pressure { 0.0 } else { third };
            prop_assert!((c.congested.percent - lost).abs() < 4.0 && !c.not_congested, "{kind} {c:?}");
            // Which of the two sources' frames are lost depends on how they meet; about a third of each.
            let lost = if blocking { third } else { 0.0 };
            prop_assert!((c.uncongested.percent - lost).abs() < lost / 2.0 + 1e-9, "{kind} {c:?}");
        }
    }
}

#[test]
fn a_port_that_carries_more_is_not_congested() {
    let mut settings = settings(&[Test::Congestion], 4);
    settings.trials.maximum = Maximum::Pps(1000);
    let c = &measure(&settings, "switch").congestion[0];
    assert!(c.not_congested && !c.back_pressure && !c.head_of_line_blocking, "{c:?}");
}

#[test]
fn wrong_frames_that_come_through_are_named() {
    let settings = settings(&[Test::Errored], 2);
    for (device, forwarded) in [
        ("switch:ports=2", vec![Flaw::Dribble]),
        ("switch:ports=2,forwards=bad-fcs+undersize", vec![Flaw::Undersize, Flaw::BadFcs, Flaw::Dribble]),
    ] {
        let errored = measure(&settings, device).errored;
        let came: Vec<Flaw> = errored.iter().filter(|e| e.forwarded == e.sent).map(|e| e.flaw).collect();
        assert_eq!((errored.len(), came), (5, forwarded), "{errored:?}");
        for e in errored {
            let dribble = e.flaw == Flaw::Dribble;
            assert!(e.sent > 5 && e.right == ((e.forwarded == 0) != dribble), "{e:?}");
        }
    }
}

#[test]
fn broadcasts_reach_all_ports_with_the_latency_of_the_device() {
    let settings = Settings { sizes: vec![64, 512], ..settings(&[Test::Broadcast], 5) };
    let results = measure(&settings, "switch:ports=5,latency=3us");
    for (b, size) in results.broadcast.iter().zip([64, 512]) {
        // Stored on a link where a bit takes 100 ns.
        let stored = (3 * MICROSECOND + (size + 20) * 800_000) / 1000;
        assert_eq!((b.load, b.ports.len()), (Some(Load::MAX), 4));
        for p in &b.ports {
            // Histograms tell three digits.
            assert!(close(p.latency.min_ns as f64, stored as f64, 0.002), "{p:?} {stored}");
            assert!(close(p.latency.max_ns as f64, stored as f64, 0.002), "{p:?}");
        }
        assert!(close(b.at_maximum.forwarded_fps, 4.0 * b.line_fps, 0.05), "{b:?}");
    }
    let slow = &measure(&settings, "switch:ports=5,port-pps=5000,buffer=4").broadcast[0];
    assert!(
        close(slow.fps, 5000.0, 0.02) && close(slow.at_maximum.forwarded_fps, 20_000.0, 0.02),
        "{slow:?}"
    );
}

#[test]
fn a_device_that_remembers_has_no_capacity() {
    let settings = Settings { addresses: 100, age_ps: SECOND, ..settings(&[Test::Capacity], 3) };
    let results = measure(&settings, "switch:ports=3,table=50,age=100s");
    assert_eq!(results.capacity, []);
    assert!(results.missing[0].reason.contains("still knows addresses"), "{:?}", results.missing);
    let flushed = Settings { flush: Some("false".into()), ..settings };
    let results = measure(&flushed, "switch:ports=3,table=50,age=100s");
    assert!(results.missing[0].reason.contains("'false' failed"), "{:?}", results.missing);
}

#[test]
fn the_user_can_end_it() {
    let settings = settings(&Test::ALL, 4);
    let mut bed = ModelTestBed::new(&SwitchSpec::default(), Some(LINK), 1);
    let (mut results, mut trials) = (Results::default(), 0);
    let mut listener = |event: &Event<'_>| {
        trials += u64::from(matches!(event, Event::Ended(_)));
        trials < 3
    };
    let mut session = Session::new(&mut bed, &settings, &mut listener);
    assert!(matches!(run(&mut session, &mut results), Err(Stop::Interrupted)));
    assert_eq!((session.trials(), results.forwarding.len(), results.congestion.len()), (3, 1, 0));
}
