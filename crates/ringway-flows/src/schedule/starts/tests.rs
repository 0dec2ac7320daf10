use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

fn starts(phases: &[Phase], spacing: Spacing, share: Share) -> Starts {
    Starts::new(Arc::new(Profile::new(phases).unwrap()), spacing, share, u64::MAX).unwrap()
}

/// The times of all starts.
fn times(mut starts: Starts) -> Vec<u64> {
    starts.due(u64::MAX);
    std::iter::from_fn(|| starts.start()).collect()
}

/// The shape of the reference, tenfold shorter: up to 100,000 flows a second.
fn office() -> [Phase; 3] {
    [Phase::ramp(0, 100_000_000, SECOND), Phase::hold(100_000_000, 3 * SECOND), Phase::drain(SECOND)]
}

#[test]
fn each_tenth_of_a_second_has_its_starts_to_a_thousandth() {
    let times = times(starts(&office(), Spacing::Even, Share::ALL));
    assert_eq!(times.len(), 50_000 + 300_000);
    for tenth in 0..40u64 {
        let [from, to] = [tenth, tenth + 1].map(|tenth| tenth * SECOND / 10);
        let found = times.partition_point(|&at| at < to) - times.partition_point(|&at| at < from);
        // The integral of 100,000 t over a tenth of a second, or 10,000.
        let expected = if tenth < 10 { (500 + 1000 * tenth) as usize } else { 10_000 };
        assert!(found.abs_diff(expected) <= 1.max(expected / 1000), "{tenth}: {found}, not {expected}");
    }
    assert!(times.is_sorted() && times.last().unwrap() < &(4 * SECOND));
    let even = times[50_000..].windows(2).all(|pair| (9_999..=10_001).contains(&(pair[1] - pair[0])));
    assert!(even, "starts of the hold do not bunch");
}

#[test]
fn poisson_starts_have_its_mean_and_variance() {
    let times = times(starts(&office(), Spacing::Poisson(3), Share::ALL));
    assert!((times.len() as f64 - 350_000.0).abs() < 4.0 * 350_000.0f64.sqrt(), "{}", times.len());
    let hold: Vec<u64> = times.iter().copied().filter(|&at| at >= SECOND).collect();
    let counts: Vec<f64> = (0..3000u64)
        .map(|ms| {
            let [from, to] = [ms, ms + 1].map(|ms| SECOND + ms * MS);
            (hold.partition_point(|&at| at < to) - hold.partition_point(|&at| at < from)) as f64
        })
        .collect();
    let mean = counts.iter().sum::<f64>() / 3000.0;
    let variance = counts.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 3000.0;
    assert!((mean - 100.0).abs() < 1.0 && (variance / mean - 1.0).abs() < 0.1, "{mean} {variance}");
    assert_eq!(times, self::times(starts(&office(), Spacing::Poisson(3), Share::ALL)));
    assert_ne!(times, self::times(starts(&office(), Spacing::Poisson(4), Share::ALL)));
}

#[test]
fn workers_share_the_starts_of_one() {
    let shares = |spacing, workers| {
        let share = |worker| times(starts(&office(), spacing, Share { worker, workers }));
        let mut all: Vec<u64> = (0..workers).flat_map(share).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(shares(Spacing::Even, 3), shares(Spacing::Even, 1));
    let poisson = shares(Spacing::Poisson(1), 3).len() as f64;
    assert!((poisson - 350_000.0).abs() < 4.0 * 350_000.0f64.sqrt(), "{poisson}");
}

#[test]
fn a_million_starts_a_second_for_an_hour_keep_time() {
    let mut starts = starts(&[Phase::hold(1_000_000_000, 3600 * SECOND)], Spacing::Even, Share::ALL);
    // Jumps to the last millisecond: the cursor of due starts counts what it passes.
    let mut cursor = starts.ahead;
    cursor.next = 3_599_999_000u128 << FRACTION;
    cursor.place(&starts.profile);
    assert_eq!(cursor.at_ns, 3_599_999 * MS);
    cursor.next += 999 << FRACTION;
    cursor.place(&starts.profile);
    assert_eq!(cursor.at_ns, 3600 * SECOND - 1000);
    assert_eq!(starts.due(MS), 1001);
}

#[test]
fn an_attack_has_its_rate_times_and_cap() {
    let times_of = |worker, cap| {
        let share = Share { worker, workers: 2 };
        times(Starts::attack(200_000_000, 3 * SECOND, 5 * SECOND, share, cap).unwrap())
    };
    let [one, other] = [0, 1].map(|worker| times_of(worker, u64::MAX));
    assert_eq!((one.len(), other.len(), one[0], other[0]), (200_000, 200_000, 3 * SECOND, 3 * SECOND + 5000));
    assert!(one.last().unwrap().max(other.last().unwrap()) < &(5 * SECOND));
    assert_eq!([0, 1].map(|worker| times_of(worker, 7).len()), [4, 3]);
    assert_eq!([0, 1].map(|worker| times_of(worker, 0).len()), [0, 0]);
    assert!(Starts::attack(1, 0, u64::MAX, Share::ALL, 1).is_err());
    let error = Starts::attack(MAX_MILLI + 1, 0, SECOND, Share::ALL, 1).unwrap_err();
    assert_eq!(error.to_string(), "the load is above 1000000000; lower its rates");
}

#[test]
fn postponed_starts_are_counted_once_and_made_later() {
    let mut starts = starts(&[Phase::hold(1_000_000, 20 * MS)], Spacing::Even, Share::ALL);
    assert_eq!(starts.due(4 * MS), 5);
    assert_eq!(starts.start(), Some(0));
    starts.postpone();
    starts.postpone();
    assert_eq!((starts.postponed(), starts.due(5 * MS)), (4, 5));
    assert_eq!((starts.start(), starts.start()), (Some(MS), Some(2 * MS)));
    starts.postpone();
    assert_eq!((starts.postponed(), starts.next_ns()), (5, Some(3 * MS)));
    starts.due(u64::MAX);
    let rest: Vec<u64> = std::iter::from_fn(|| starts.start()).collect();
    assert_eq!(rest, (3..20).map(|ms| ms * MS).collect::<Vec<_>>());
    assert_eq!((starts.started(), starts.postponed(), starts.next_ns()), (20, 5, None));
}

proptest! {
    #[test]
    fn exact_to_the_last_start_and_never_early(
        phases in proptest::collection::vec((0u64..3_000_000, 0u64..3_000_000, 0..2 * SECOND), 0..5),
        workers in 1u32..4, step in 1..100 * MS,
    ) {
        let phases: Vec<Phase> = phases.into_iter().map(|(from, to, ns)| Phase::ramp(from, to, ns)).collect();
        let profile = Arc::new(Profile::new(&phases).unwrap());
        let (mut made, end) = (0, profile.end_ns());
        for worker in 0..workers {
            let share = Share { worker, workers };
            let mut starts = Starts::new(profile.clone(), Spacing::Even, share, u64::MAX).unwrap();
            let (mut now, mut last) = (0, 0);
            while let Some(next) = starts.next_ns() {
                // A sleeper finds a start at the time that it got, and nothing before.
                now = if now % 3 == 0 { now.max(next) } else { now + step };
                let due = starts.due(now);
                prop_assert_eq!(due > 0, next <= now);
                for _ in 0..due {
                    let at = starts.start().unwrap();
                    prop_assert!(at >= last && at <= now && at < end);
                    last = at;
                }
                prop_assert_eq!(starts.start(), None);
            }
            made += starts.started();
        }
        prop_assert_eq!(made, profile.total());
    }
}
