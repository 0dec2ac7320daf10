//! The tests against modelled devices whose answers are known.

use super::*;
use crate::rfc2544::journal::Journal;
use ringway_tester::device::{DeviceSpec, VirtualTestBed};
use ringway_tester::trial::bed::TestBed;
use ringway_tester::trial::loops::{Live, Watch};
use ringway_tester::trial::maximum::{Maximum, SIZES};
use ringway_tester::trial::rate::{MICROSECOND, Rate, SECOND};
use ringway_tester::trial::result::TrialResult;
use ringway_tester::trial::search::{Preset, SearchKind, SearchPlan};
use ringway_tester::trial::spec::TrialSpec;

fn measure(device: &str, settings: &Settings) -> Results {
    let device: DeviceSpec = device.parse().unwrap();
    let mut bed = VirtualTestBed::new(device, settings.trials.maximum.bits(), settings.bidirectional);
    let (mut journal, mut results) = (Journal::none(), Results::default());
    let mut listener = |_: &crate::rfc2544::session::Event<'_>| true;
    let mut session = Session::new(&mut bed, settings, &mut journal, &mut listener);
    run(&mut session, &mut results).unwrap();
    results
}

fn settings(bits: u64, tests: &[Test]) -> Settings {
    Settings {
        tests: tests.to_vec(),
        latency_repeats: 2,
        burst_repeats: 1,
        ..Settings::new(Maximum::Link(bits))
    }
}

const G: u64 = 1_000_000_000;

#[test]
fn table_one_of_the_paper() {
    let sizes = [64, 128, 256, 512, 1024, 1518];
    let counts = [29_761_905, 16_891_892, 9_057_972, 4_699_249, 2_394_637, 1_625_488];
    let kpps = [1488, 844, 452, 234, 119, 81];
    let settings =
        Settings { sizes: sizes.map(Mix::fixed).to_vec(), ..settings(G, &[Test::Throughput, Test::Burst]) };
    let results = measure("link", &settings);
    for (k, burst) in results.burst.iter().enumerate() {
        assert_eq!((burst.scheduled, burst.tx, burst.rx, burst.lost), (counts[k], counts[k], counts[k], 0));
        assert_eq!((results.throughput[k].fps / 1000.0) as u64, kpps[k]);
    }
    assert_eq!((results.burst.len(), results.missing.len()), (6, 0));
}

#[test]
fn an_ideal_link_has_line_rate_at_all_sizes_and_speeds() {
    let mut sizes = SIZES.map(Mix::fixed).to_vec();
    sizes.extend([Mix::fixed(9000), Mix::imix()]);
    for gigabits in [1, 10, 25, 40, 100] {
        let mut settings = Settings {
            sizes: sizes.clone(),
            bidirectional: gigabits == 10,
            ..settings(gigabits * G, &[Test::Throughput])
        };
        // Mixes are simulated frame by frame.
        settings.sizes.retain(|size| size.is_fixed() || gigabits == 1);
        settings.trials.search.short_ps = SECOND;
        for t in measure("link:delay=3us", &settings).throughput {
            assert_eq!((t.load, t.fps), (Some(Load::MAX), t.line_fps), "{} at {gigabits}G", t.size);
            assert!((t.layer1_bps / (gigabits * G) as f64 - 1.0).abs() < 1e-9);
        }
    }
}

/// A random device: its spec, service time, buffer and latency.
struct Known {
    text: String,
    size: u32,
    bits: u64,
    service: u64,
    buffer: u64,
    latency: u64,
}

fn known(seed: u64) -> Known {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = |from: u64, to: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        from + state % (to - from)
    };
    let size = SIZES[draw(0, 7) as usize];
    let bits = [1, 10, 25, 40, 100][draw(0, 5) as usize] * G;
    let line = Rate::line(bits, size);
    let pps = (line.as_f64() * draw(100, 1100) as f64 / 1000.0) as u64;
    let (buffer, latency) = (draw(1, 4000), draw(0, 500));
    let text = format!("switch:pps={pps},buffer={buffer},latency={latency}us");
    Known { text, size, bits, service: SECOND / pps, buffer, latency: latency * MICROSECOND }
}

/// Frames of `rate` until one is lost, by the definition of the device. Work on frame `n` starts when the
/// work on the one before is over, and `buffer` frames may wait.
fn first_lost(rate: Rate, service: u64, buffer: u64, most: u64) -> u64 {
    let lost = |n: u64| {
        // Without loss before, frame n would start at n * service.
        let (t, ready) = (rate.offset_ps(n), n * service);
        ready > t && ready.saturating_sub(service).saturating_sub(t).div_ceil(service) >= buffer
    };
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low) / 2;
        if lost(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

#[test]
fn a_thousand_random_devices() {
    let mut overloaded = 0;
    for seed in 1..=1000 {
        let known = known(seed);
        let mut settings = settings(known.bits, &Test::ALL);
        settings.sizes = vec![Mix::fixed(known.size)];
        settings.burst_limit_ps = 30 * SECOND;
        let results = measure(&known.text, &settings);
        assert_eq!(results.missing, [], "{}", known.text);
        overloaded += check(&known, &settings, &results);
    }
    assert!(overloaded > 500, "{overloaded}");
}

/// Compares with what the device is known to do; 1 when it is slower than its link.
fn check(known: &Known, settings: &Settings, results: &Results) -> u32 {
    let Known { text, size, bits, service, buffer, latency } = known;
    let (line, goal) = (Rate::line(*bits, *size), 60 * SECOND);
    // Throughput: the highest load without loss, to a thousandth of line rate.
    let load = results.throughput[0].load.unwrap();
    let clean = |load: Load| {
        let n = line.at(load).frames_in(goal);
        first_lost(line.at(load), *service, *buffer, n) == n
    };
    assert!(clean(load), "{text}: {load}");
    assert!(load == Load::MAX || !clean(Load(load.0 + 1000)), "{text}: {load}");
    // Latency: nothing waits at a tenth of the throughput.
    let at_rest = &results.latency[0].loads[0].all;
    let expected = (latency + line.offset_ps(1)) / 1000;
    assert!(at_rest.min_ns.abs_diff(expected) <= expected / 500 + 2, "{text}: {at_rest:?} {expected}");
    assert_eq!(at_rest.count, line.at(results.latency[0].loads[0].load).frames_in(settings.latency_ps));
    // Loss at full load: all but what was worked on and what still fits.
    let full = &results.loss[0].loads[0];
    let n = line.frames_in(goal);
    assert_eq!(full.tx, n, "{text}");
    let carried = if first_lost(line, *service, *buffer, n) == n {
        n
    } else {
        line.offset_ps(n - 1) / service + buffer + 1
    };
    assert!((full.tx - full.lost).abs_diff(carried) <= 1, "{text}: {full:?} {carried}");
    let burst = &results.burst[0];
    assert_eq!(burst.scheduled, line.frames_in(20 * SECOND));
    let b2b = &results.back_to_back[0];
    let recovery = &results.recovery[0];
    if load == Load::MAX {
        assert_eq!(b2b.not_applicable.as_deref(), Some("the throughput is line rate"));
        return 0;
    }
    let longest = first_lost(line, *service, *buffer, b2b.limit + 1);
    if longest + 1 > b2b.limit {
        assert!(b2b.not_applicable.as_ref().unwrap().contains("the limit"), "{text}");
    } else {
        assert_eq!(b2b.frames.mean, longest as f64, "{text}");
    }
    // A queue alone loses nothing once it is offered less than it can do.
    let after = recovery.seconds.max;
    assert!(after <= 2.0 * recovery.resolution_s, "{text}: {recovery:?}");
    1
}

#[test]
fn recovery_and_reset_of_devices_that_need_time() {
    let mut settings = settings(G, &[Test::Recovery, Test::Reset]);
    settings.sizes = vec![Mix::fixed(64)];
    let results = measure("switch:pps=1M,buffer=100,recovery=250ms,outage=10s+1.5s", &settings);
    // The outage lies in each trial: there is no load without loss.
    assert_eq!(results.missing.len(), 2, "{:?}", results.missing);

    let results = measure("switch:pps=1M,buffer=100,recovery=250ms", &settings);
    let r = &results.recovery[0];
    assert!(r.overloaded && r.seconds.max > 0.0 && r.seconds.max < 0.25, "{r:?}");
    assert_eq!(r.values_s.len(), 3);
    assert_eq!((results.reset[0].lost, results.reset[0].by_time_s), (0, 0.0));
}

#[test]
fn a_restart_is_measured_by_time_and_by_loss() {
    let mut settings = settings(G, &[Test::Reset]);
    settings.sizes = vec![Mix::fixed(64)];
    settings.trials.search.goals[0].final_ps = SECOND;
    settings.trials.search.short_ps = SECOND;
    let results = measure("switch:pps=1M,buffer=100,outage=10s+1.5s", &settings);
    let r = &results.reset[0];
    assert!((r.by_time_s - 1.5).abs() <= 2.0 * r.resolution_s, "{r:?}");
    assert!((r.by_loss_s - 1.5).abs() <= 2.0 * r.resolution_s, "{r:?}");

    let results = measure("switch:pps=1M,buffer=100,outage=10s+1000s", &settings);
    assert!(results.reset.is_empty());
    assert!(results.missing[0].reason.contains("was not back"), "{:?}", results.missing);
}

#[test]
fn the_command_that_restarts_is_run_once_in_its_time() {
    let mark = std::env::temp_dir().join(format!("ringway-reset-{}", std::process::id()));
    let mut settings = settings(G, &[Test::Reset]);
    settings.sizes = vec![Mix::fixed(64)];
    settings.trials.search.goals[0].final_ps = SECOND;
    settings.trials.search.short_ps = SECOND;
    settings.reset_command = Some(format!("echo once >> {}", mark.display()));
    let results = measure("switch:pps=1M,buffer=100", &settings);
    assert!(results.missing[0].reason.contains("before the reset command"), "{:?}", results.missing);

    let mut bed = Watched(VirtualTestBed::new(DeviceSpec::default(), Some(G), false));
    let mut restart = |settings: &Settings| {
        let (mut journal, mut results) = (Journal::none(), Results::default());
        let mut listener = |_: &crate::rfc2544::session::Event<'_>| true;
        run(&mut Session::new(&mut bed, settings, &mut journal, &mut listener), &mut results).unwrap();
        results
    };
    let results = restart(&settings);
    assert_eq!((results.reset.len(), results.missing.len()), (1, 0), "{:?}", results.missing);
    assert_eq!(std::fs::read_to_string(&mark).unwrap(), "once\n");
    std::fs::remove_file(&mark).unwrap();

    settings.reset_command = Some("exit 7".into());
    let results = restart(&settings);
    assert!(results.missing[0].reason.contains("'exit 7' failed"), "{:?}", results.missing);
}

/// A bed that shows live numbers in each second of a trial, as rigs in real time do.
#[derive(Debug)]
struct Watched(VirtualTestBed);

impl TestBed for Watched {
    fn run(&mut self, order: &TrialSpec, watch: &mut Watch<'_>) -> ringway::Result<TrialResult> {
        for second in 1..order.duration_ps() / SECOND {
            assert!(watch(Live { since_ps: second * SECOND, ..Live::default() }));
        }
        self.0.run(order, watch)
    }

    fn pause(&mut self, ps: u64, go_on: &mut dyn FnMut() -> bool) -> bool {
        self.0.pause(ps, go_on)
    }
}

#[test]
fn every_search_ends_at_the_same_device() {
    for kind in [SearchKind::Binary, SearchKind::BinaryVerify, SearchKind::Mlr] {
        let mut settings = settings(10 * G, &[Test::Throughput]);
        settings.sizes = vec![Mix::fixed(64)];
        settings.trials.search = SearchPlan::new(kind, &[Preset::Ndr], Load(1000));
        let t = &measure("switch:pps=5M,buffer=64", &settings).throughput[0];
        assert!((t.fps / 5e6 - 1.0).abs() < 0.006, "{kind}: {t:?}");
    }
}
