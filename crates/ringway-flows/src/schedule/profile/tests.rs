use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// The integral by floats, in units.
fn slow_total(phases: &[Phase], now_ns: u64) -> f64 {
    let (mut start, mut sum) = (0, 0.0);
    for phase in phases {
        let passed = now_ns.saturating_sub(start).min(phase.ns) as f64 / 1e9;
        let [from, to] = [phase.from, phase.to].map(|milli| milli as f64 / 1e3);
        let slope = if phase.ns == 0 { 0.0 } else { (to - from) / (phase.ns as f64 / 1e9) };
        sum += from * passed + slope * passed * passed / 2.0;
        start += phase.ns;
    }
    sum
}

fn phases() -> impl Strategy<Value = Vec<Phase>> {
    let milli = || prop_oneof![Just(0), 0..10_000_000u64, 0..=1_000_000_000_000u64, 0u64..5];
    let ns = prop_oneof![0..200 * SECOND, 0..1000u64, Just(SECOND), 0..1u64 << 45];
    proptest::collection::vec(
        (milli(), milli(), ns).prop_map(|(from, to, ns)| Phase::ramp(from, to, ns)),
        0..6,
    )
}

proptest! {
    #[test]
    fn totals_and_values_equal_the_formula(phases in phases(), now in 0..1u64 << 46) {
        let profile = Profile::new(&phases).unwrap();
        let now = now % (profile.end_ns() + 10);
        let expected = slow_total(&phases, now);
        let found = profile.total_at(now) as f64;
        // Within a piece the integral is taken as straight, which misses at most the 8th part of its bend.
        let bend: f64 = phases
            .iter()
            .map(|phase| {
                let piece = (phase.ns as f64 / 4096.0).max(17e6) / 1e9;
                phase.from.abs_diff(phase.to) as f64 / 1e3 / (phase.ns.max(1) as f64 / 1e9) * piece * piece / 8.0
            })
            .fold(0.0, f64::max);
        prop_assert!((found - expected).abs() <= 1.0 + bend + expected * 1e-12, "{} {} {}", found, expected, bend);
        let exact: u128 = phases.iter().map(|p| u128::from(p.from + p.to) * u128::from(p.ns)).sum();
        prop_assert_eq!(u128::from(profile.total()), exact.div_ceil(UNIT));
    }

    #[test]
    fn pieces_join_and_never_fall(phases in phases()) {
        let profile = Profile::new(&phases).unwrap();
        let (mut at, mut sum, mut count) = (0, 0, 0u64);
        let mut next = profile.first_piece();
        while let Some(piece) = next {
            prop_assert!(piece.start_ns == at && piece.from == sum && piece.to >= piece.from);
            prop_assert!(piece.end_ns > piece.start_ns && piece.end_ns - piece.start_ns <= 1 << 33);
            (at, sum, count) = (piece.end_ns, piece.to, count + 1);
            next = profile.piece_after(&piece);
        }
        prop_assert_eq!((at, sum), (profile.end_ns(), profile.total));
        prop_assert!(count <= 6 * 4097);
    }
}

#[test]
fn values_along_a_shape() {
    let shape =
        [Phase::ramp(0, 10_000, SECOND), Phase::hold(10_000, SECOND), Phase::ramp(10_000, 4000, SECOND)];
    let profile = Profile::new(&shape).unwrap();
    let at = |ms: u64| profile.milli_at(ms * MS);
    assert_eq!([at(0), at(500), at(999), at(1000), at(2500), at(3000)], [0, 5000, 9990, 10_000, 7000, 0]);
    assert_eq!((profile.highest_milli(), profile.end_ns(), profile.total()), (10_000, 3 * SECOND, 22));
    assert_eq!(profile.reaches(5000, 0), Some(500 * MS));
    assert_eq!(profile.reaches(8000, 2500 * MS), None);
    assert_eq!(profile.reaches(7000, 2500 * MS), Some(2500 * MS));
    assert_eq!(profile.reaches(10_000, 0), Some(SECOND));
}

#[test]
fn the_largest_shape_does_not_overflow() {
    for (from, to) in [(0, MAX_MILLI), (MAX_MILLI, 0), (MAX_MILLI, MAX_MILLI)] {
        let profile = Profile::new(&[Phase::ramp(from, to, MAX_NS)]).unwrap();
        assert_eq!(u128::from(profile.total()), (u128::from(from + to) * u128::from(MAX_NS)).div_ceil(UNIT));
        let middle = profile.total_at(MAX_NS / 2);
        assert!(middle > 0 && middle < profile.total() && profile.total_at(u64::MAX) == profile.total());
    }
}

#[test]
fn refused() {
    let error = |phases: &[Phase]| Profile::new(phases).unwrap_err().to_string();
    assert_eq!(
        error(&[Phase::drain(MAX_NS), Phase::drain(1)]),
        "the load takes longer than 78 h; shorten its phases"
    );
    assert!(error(&[Phase::drain(u64::MAX); 2]).starts_with("the load takes longer"));
    assert_eq!(error(&[Phase::hold(MAX_MILLI + 1, 1)]), "the load is above 562949953421; lower its rates");
    let nothing = Profile::new(&[]).unwrap();
    assert_eq!(
        (nothing.total(), nothing.milli_at(0), nothing.total_at(5), nothing.reaches(0, 0)),
        (0, 0, 0, None)
    );
}
