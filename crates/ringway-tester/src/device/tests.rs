//! Closed forms against a queue that is simulated frame by frame.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::trial::ledger::Ledger;
use crate::trial::loops::{VirtualClock, lock_step};
use crate::trial::mix::Mix;
use crate::trial::rate::{MICROSECOND, MILLISECOND, Rate, SECOND};
use crate::trial::result::TrialResult;
use crate::trial::schedule::{CATCH_UP, Schedule};
use crate::trial::spec::{Leg, Length, TrialSpec};
use crate::trial::variant::Variant;

/// The obvious device: a list of the frames that are in it.
struct Naive {
    spec: SwitchSpec,
    /// Start of work and end of work.
    inside: VecDeque<(u64, u64)>,
    closed: u64,
    out: u64,
}

impl Naive {
    fn offer(&mut self, t: u64, size: u32) -> Option<u64> {
        let restarting = self.spec.outage_ps.is_some_and(|(from, to)| t >= from && t < to);
        if restarting || t < self.closed {
            return None;
        }
        self.inside.retain(|&(_, end)| end > t);
        let waiting = self.inside.iter().filter(|&&(start, _)| start > t).count() as u64;
        if !self.inside.is_empty() && waiting >= self.spec.buffer {
            self.closed = t + self.spec.recovery_ps;
            return None;
        }
        let start = self.inside.back().map_or(t, |&(_, end)| end);
        self.inside.push_back((start, start + self.spec.service_ps(size)));
        Some(start)
    }
}

fn spec() -> impl Strategy<Value = SwitchSpec> {
    let outage = proptest::option::of((0u64..3 * MILLISECOND, 1u64..MILLISECOND));
    let recovery = prop_oneof![3 => Just(0u64), 1 => 1u64..MILLISECOND];
    (500_000u64..1_500_000, 0u64..400, 1u64..200, 0u64..20 * MICROSECOND, recovery, outage, 0u64..9000)
        .prop_map(|(frame_ps, byte_ps, buffer, latency_ps, recovery_ps, outage, wire_byte_ps)| SwitchSpec {
            frame_ps,
            byte_ps,
            buffer,
            latency_ps,
            recovery_ps,
            outage_ps: outage.map(|(from, length)| (from, from + length)),
            wire_byte_ps,
        })
}

/// Two legs, so that queues fill in the one and drain in the other; some at exactly the speed of the device.
fn order(mix: Mix, rates: [Rate; 2]) -> TrialSpec {
    let legs = rates.map(|rate| Leg { rate, length: Length::Time(2 * MILLISECOND) });
    TrialSpec {
        mix,
        legs: legs.into(),
        wait_ps: SECOND,
        exact: true,
        latency: true,
        link_may_fall: false,
        catch_up: CATCH_UP,
        variant: Variant::default(),
    }
}

fn compare(spec: SwitchSpec, order: &TrialSpec) -> std::result::Result<(), TestCaseError> {
    let schedule: Schedule = order.schedule();
    let mut naive = Naive { spec, inside: VecDeque::new(), closed: 0, out: 0 };
    let mut ledger = Ledger::new(0, 1).with_latencies();
    let (mut received, mut waits, mut last_lost) = (0, 0, None);
    for n in 0..schedule.frames() {
        let (t, size) = (schedule.due_ps(n), schedule.mix().size(n));
        match naive.offer(t, size) {
            Some(start) => {
                naive.out = naive.out.max(start + spec.fixed_ps(size));
                let latency = naive.out - t;
                ledger.frame(0, n, t + latency, latency as i64);
                received += 1;
                waits += latency;
            }
            None => last_lost = Some(t),
        }
    }
    let trial: TrialResult = lock_step(
        &mut [direction(Box::new(Switch::new(spec)), &order.mix, 0)],
        order,
        &VirtualClock::default(),
        &mut |_| true,
    )
    .unwrap();
    prop_assert_eq!((trial.tx, trial.rx), (schedule.frames(), received));
    prop_assert_eq!(trial.last_lost_ps, last_lost);
    prop_assert!(trial.faults.is_empty(), "{:?}", trial.faults);
    prop_assert!(trial.gap.ps.abs_diff(ledger.gap(0).ps) <= 1, "{:?} {:?}", trial.gap, ledger.gap(0));
    let expected = ledger.latencies(0).unwrap().summary();
    prop_assert_eq!(trial.latency.count, expected.count);
    if received > 0 {
        let mean = waits as f64 / received as f64 / 1000.0;
        let service = spec.service_ps(1518) as f64 / 1000.0;
        prop_assert!(
            (trial.latency.mean_ns - mean).abs() <= 0.002 * mean + 0.6 * service,
            "{} {}",
            trial.latency.mean_ns,
            mean
        );
        for (found, exact) in [
            (trial.latency.min_ns, expected.min_ns),
            (trial.latency.p50_ns, expected.p50_ns),
            (trial.latency.max_ns, expected.max_ns),
        ] {
            let allowed = 0.002 * exact as f64 + 2.0 * service + 2.0;
            prop_assert!(found.abs_diff(exact) as f64 <= allowed, "{} {}", found, exact);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn closed_forms_equal_a_queue_of_frames(spec in spec(), size in 64u32..1519, a in 500u64..2_000_000, b in 500u64..2_000_000, odd in 1u64..9) {
        compare(spec, &order(Mix::fixed(size), [Rate::new(a, odd), Rate::new(b, 1)]))?;
    }

    /// At and around the speed of the device, where a wrong sign shows.
    #[test]
    fn closed_forms_are_right_at_the_speed_of_the_device(spec in spec(), size in 64u32..1519, near in 0u64..5, odd in 1u64..1000) {
        let service = spec.service_ps(size) + near - 2;
        let even = Rate::new(SECOND, service);
        let uneven = Rate::new(SECOND * 1000, service * 1000 + odd);
        compare(spec, &order(Mix::fixed(size), [even, uneven]))?;
        compare(spec, &order(Mix::fixed(size), [uneven, even]))?;
    }

    #[test]
    fn mixes_equal_a_queue_of_frames(spec in spec(), a in 500_000u64..400_000_000, b in 500_000u64..400_000_000) {
        compare(spec, &order(Mix::imix(), [Rate::new(a, 1), Rate::new(b, 1)]))?;
    }
}

#[test]
fn devices_are_named() {
    let spec: DeviceSpec =
        "switch:pps=1M,bps=1Gbit,buffer=9,latency=1.5us,recovery=2ms,outage=1s+5ms".parse().unwrap();
    assert_eq!(spec.service_ps(100), Some(1_000_000 + 800_000));
    assert_eq!(spec.to_string().parse::<DeviceSpec>().unwrap(), spec);
    for (bad, why) in [
        ("hub", "'hub' is no device"),
        ("link:rate=1", "a link has no 'rate'; accepted: delay"),
        ("switch:speed=1", "a switch has no 'speed'; accepted: pps,"),
        ("switch:pps=0", "'0' is not between 1 and 1000G"),
        ("switch:pps=2T", "'2T' is no number; accepted: frames a second such as"),
        ("switch:bps=1Gpps", "'1Gpps' is no number; accepted: bits a second such as"),
        ("switch:buffer=1.5", "'1.5' is no number; accepted: NUMBER"),
        ("switch:outage=1s", "accepted: TIME+LENGTH"),
        ("link:delay=5", "'5' is no time"),
        ("link:delay=2e9s", "is no time"),
    ] {
        let error = bad.parse::<DeviceSpec>().unwrap_err();
        assert!(error.contains(why) && error.starts_with(&format!("device '{bad}': ")), "{error}");
    }
}

#[test]
fn an_ideal_link_carries_the_bursts_of_the_hardware_tester() {
    for (size, count) in [
        (64, 29_761_905),
        (128, 16_891_892),
        (256, 9_057_972),
        (512, 4_699_249),
        (1024, 2_394_637),
        (1518, 1_625_488),
    ] {
        let order =
            TrialSpec::at(&Mix::fixed(size), Rate::line(1_000_000_000, size), 20 * SECOND, 2 * SECOND);
        let trial = lock_step(
            &mut [direction(DeviceSpec::default().build(None), &order.mix, 0)],
            &order,
            &VirtualClock::default(),
            &mut |_| true,
        )
        .unwrap();
        assert_eq!(
            (trial.tx, trial.rx, trial.lost, trial.received.unique),
            (count, count, 0, count),
            "{size}"
        );
    }
}
