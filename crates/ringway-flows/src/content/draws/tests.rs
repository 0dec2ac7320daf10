use super::*;

const DRAWS: usize = 200_000;

fn sorted(shape: Shape, lo: u64, hi: u64) -> Vec<u64> {
    let dist = Dist::new(&shape, lo, hi).unwrap();
    let mut random = SplitMix64(11);
    let mut values: Vec<u64> = (0..DRAWS).map(|_| dist.draw(&mut random)).collect();
    values.sort_unstable();
    values
}

/// Checks the quantiles, each within the values at shares half a percent below and above, which is 4.5 standard
/// deviations at the median. `mean` is checked to its hundredth part.
fn check(shape: Shape, mean: f64, quantile: impl Fn(f64) -> f64) {
    let values = sorted(shape.clone(), 0, u64::MAX);
    for share in [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99] {
        let at = |share: f64| values[(share * DRAWS as f64) as usize] as f64;
        let [low, high] = [at(share - 0.005), at(share + 0.005)];
        assert!(low <= quantile(share) && quantile(share) <= high, "{shape:?} at {share}: {low} {high}");
    }
    let found = values.iter().map(|&value| value as f64).sum::<f64>() / DRAWS as f64;
    assert!((found / mean - 1.0).abs() < 0.01, "{shape:?}: mean {found}, not {mean}");
}

#[test]
fn means_and_quantiles_are_the_laws() {
    check(Shape::Uniform(1000, 5000), 3000.0, |p| 1000.0 + 4000.0 * p);
    check(Shape::Exp { mean: 1e6 }, 1e6, |p| -1e6 * (1.0 - p).ln());
    let z = |p| normal_quantile(p);
    check(Shape::Normal { mean: 5e5, deviation: 1e5 }, 5e5, |p| 5e5 + 1e5 * z(p));
    let mean = 8192.0 * (1.2f64 * 1.2 / 2.0).exp();
    check(Shape::LogNormal { median: 8192.0, sigma: 1.2 }, mean, |p| 8192.0 * (1.2 * z(p)).exp());
    check(Shape::Pareto { least: 1e4, shape: 4.0 }, 4e4 / 3.0, |p| 1e4 * (1.0 - p).powf(-0.25));
}

#[test]
fn whole_numbers_and_tables_have_their_shares() {
    let values = sorted(Shape::Uniform(1, 4), 0, 100);
    let counts: Vec<usize> = (0..6).map(|n| values.iter().filter(|&&value| value == n).count()).collect();
    assert_eq!((counts[0], counts[5]), (0, 0));
    assert!(counts[1..5].iter().all(|n| n.abs_diff(DRAWS / 4) < 1000), "{counts:?}");

    let table = vec![(7, 1), (1, 2), (9, 0), (1000, 7)];
    let values = sorted(Shape::Table(table), 0, u64::MAX);
    for (value, share) in [(7, 0.1), (1, 0.2), (9, 0.0), (1000, 0.7)] {
        let found = values.iter().filter(|&&found| found == value).count() as f64 / DRAWS as f64;
        assert!((found - share).abs() < 0.005, "{value}: {found}");
    }

    let values = sorted(Shape::Zipf { ranks: 3, exponent: 1.0 }, 0, 100);
    let ones = values.iter().filter(|&&rank| rank == 1).count() as f64 / DRAWS as f64;
    assert!((ones - 6.0 / 11.0).abs() < 0.005, "{ones}");
}

#[test]
fn bounds_hold_and_the_rest_is_moved_to_them() {
    let shapes = [
        Shape::Const(5),
        Shape::Uniform(0, u64::MAX),
        Shape::Exp { mean: 1e30 },
        Shape::Exp { mean: 1e-30 },
        Shape::Normal { mean: -1e9, deviation: 1e300 },
        Shape::LogNormal { median: f64::MAX, sigma: f64::MAX },
        Shape::LogNormal { median: f64::MIN_POSITIVE, sigma: 0.0 },
        Shape::Pareto { least: 1e-300, shape: f64::MIN_POSITIVE },
        Shape::Zipf { ranks: 1 << 40, exponent: 0.1 },
        Shape::Table(vec![(0, u32::MAX), (u64::MAX, u32::MAX)]),
    ];
    let mut random = SplitMix64(5);
    for shape in shapes {
        let dist = Dist::new(&shape, 100, 200).unwrap();
        assert_eq!(dist.bounds(), (100, 200));
        assert!((0..1000).all(|_| (100..=200).contains(&dist.draw(&mut random))), "{shape:?}");
    }
    let values = sorted(Shape::Exp { mean: 1e6 }, 100_000, 2_000_000);
    let at = |bound| values.iter().filter(|&&value| value == bound).count() as f64 / DRAWS as f64;
    assert!((at(100_000) - (1.0 - (-0.1f64).exp())).abs() < 0.005);
    assert!((at(2_000_000) - (-2.0f64).exp()).abs() < 0.005);
}

#[test]
fn one_number_a_draw_keeps_both_ends_in_step() {
    let shapes = [
        Shape::Const(5),
        Shape::Uniform(3, 3),
        Shape::Uniform(0, u64::MAX),
        Shape::Exp { mean: 10.0 },
        Shape::Normal { mean: 10.0, deviation: 0.0 },
        Shape::LogNormal { median: 10.0, sigma: 1.0 },
        Shape::Pareto { least: 10.0, shape: 1.0 },
        Shape::Table(vec![(1, 1)]),
    ];
    for shape in shapes {
        let (mut one, mut other) = (SplitMix64(9), SplitMix64(9));
        Dist::new(&shape, 0, u64::MAX).unwrap().draw(&mut one);
        other.draw();
        assert_eq!(one, other, "{shape:?}");
    }
}

#[test]
fn wrong_parameters_are_refused() {
    let bad = [
        Shape::Uniform(2, 1),
        Shape::Exp { mean: -1.0 },
        Shape::Exp { mean: f64::INFINITY },
        Shape::Normal { mean: f64::NAN, deviation: 1.0 },
        Shape::Normal { mean: 1.0, deviation: -1.0 },
        Shape::LogNormal { median: 0.0, sigma: 1.0 },
        Shape::LogNormal { median: 1.0, sigma: f64::NAN },
        Shape::Pareto { least: 0.0, shape: 1.0 },
        Shape::Pareto { least: 1.0, shape: 0.0 },
        Shape::Zipf { ranks: 0, exponent: 1.0 },
        Shape::Table(vec![]),
        Shape::Table(vec![(1, 0)]),
    ];
    for shape in bad {
        assert!(Dist::new(&shape, 0, 10).is_err(), "{shape:?}");
    }
    let error = Dist::new(&Shape::Const(1), 2, 1).unwrap_err();
    assert_eq!(error.to_string(), "the lower bound is above the upper one");
}

/// Another machine must draw these too. A second implementation, in Python with its own logarithms, gives the same.
#[test]
fn golden_values() {
    let golden = [
        (Shape::Uniform(0, 999_999), [741_564, 159_910, 278_601, 344_190, 38_030, 868_228, 218_405, 800_631]),
        (
            Shape::Exp { mean: 1e6 },
            [298_993, 1_833_142, 1_277_974, 1_066_559, 3_269_376, 141_301, 1_521_403, 222_354],
        ),
        (
            Shape::Normal { mean: 1e6, deviation: 1e5 },
            [1_064_818, 900_517, 941_300, 959_895, 822_598, 1_111_805, 922_241, 1_084_388],
        ),
        (
            Shape::LogNormal { median: 1e6, sigma: 1.2 },
            [2_176_706, 303_070, 494_404, 618_002, 118_978, 3_825_408, 393_329, 2_752_904],
        ),
        (
            Shape::Pareto { least: 1e6, shape: 1.5 },
            [1_220_583, 3_394_289, 2_344_290, 2_036_107, 8_842_624, 1_098_780, 2_757_347, 1_159_787],
        ),
        (Shape::Zipf { ranks: 1000, exponent: 1.1 }, [2, 194, 67, 39, 660, 1, 113, 2]),
        (Shape::Table(vec![(10, 1), (20, 2), (30, 3)]), [30, 10, 20, 20, 10, 30, 20, 30]),
    ];
    for (shape, expected) in golden {
        let dist = Dist::new(&shape, 0, u64::MAX).unwrap();
        let mut random = SplitMix64(42);
        assert_eq!(expected.map(|_| dist.draw(&mut random)), expected, "{shape:?}");
    }
}
