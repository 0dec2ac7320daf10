//! Logarithm, exponential and quantiles of the normal distribution, with the same bits on any machine.
//!
//! The functions of a C library differ between machines in the last bit, and two ends of a flow must agree on each value.
//! These ones use only additions, multiplications, divisions and roots, which IEEE 754 defines to the last bit.

use std::f64::consts::{LN_2, LOG2_E, SQRT_2};

/// The upper 32 bits of ln 2, so that a product with an exponent is exact, and the rest.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// The natural logarithm of a positive, normal number. Relative error below 1e-15, or absolute error below 1e-16 near 1.
#[inline]
pub fn ln(x: f64) -> f64 {
    const FRACTION: u64 = (1 << 52) - 1;
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut m = f64::from_bits(bits & FRACTION | 1023 << 52);
    if m > SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    // ln m = 2 atanh s, and s is at most 0.172.
    let s = (m - 1.0) / (m + 1.0);
    let series = polynomial(s * s, &ATANH);
    let exponent = f64::from(exponent);
    exponent * LN_2_HIGH + (2.0 * s + (2.0 * s * s * s * series + exponent * LN_2_LOW))
}

/// 1/3, 1/5, ... of the series of atanh.
const ATANH: [f64; 10] = {
    let (mut all, mut at) = ([0.0; 10], 0);
    while at < 10 {
        all[at] = 1.0 / (2 * at + 3) as f64;
        at += 1;
    }
    all
};

/// e to the power of `x`. Relative error below 1e-15. 0 below -708, and infinite above 709.
#[inline]
pub fn exp(x: f64) -> f64 {
    if x < -708.0 {
        return 0.0;
    }
    if x > 709.0 {
        return f64::INFINITY;
    }
    let k = (x * LOG2_E + if x < 0.0 { -0.5 } else { 0.5 }) as i32;
    let k_float = f64::from(k);
    let r = (x - k_float * LN_2_HIGH) - k_float * LN_2_LOW;
    let power = f64::from_bits(((k + 1023) as u64) << 52);
    power * (1.0 + r * polynomial(r, &FACTORIALS))
}

/// 1/1!, 1/2!, ... of the series of exp. The rest is below 1e-17 for |x| <= ln 2 / 2.
const FACTORIALS: [f64; 13] = {
    let (mut all, mut at, mut factorial) = ([0.0; 13], 0, 1u64);
    while at < 13 {
        factorial *= at as u64 + 1;
        all[at] = 1.0 / factorial as f64;
        at += 1;
    }
    all
};

const _: () = assert!(LN_2_HIGH + LN_2_LOW == LN_2);

/// (e^t - 1) / t, also near 0. Relative error below 1e-13.
#[inline]
pub fn exp_minus_1_over(t: f64) -> f64 {
    if t.abs() < 0.01 { polynomial(t, &FACTORIALS[..7]) } else { (exp(t) - 1.0) / t }
}

/// ln(1 + t) / t, also near 0. Relative error below 1e-13. `t` is above -1.
#[inline]
pub fn ln_1_plus_over(t: f64) -> f64 {
    const SERIES: [f64; 9] =
        [1.0, -1.0 / 2.0, 1.0 / 3.0, -1.0 / 4.0, 1.0 / 5.0, -1.0 / 6.0, 1.0 / 7.0, -1.0 / 8.0, 1.0 / 9.0];
    if t.abs() < 0.01 { polynomial(t, &SERIES) } else { ln(1.0 + t) / t }
}

/// The value that a standard normal variable does not exceed with probability `p`, 0 < p < 1.
///
/// Algorithm AS 241 (Wichura, Applied Statistics 37, 1988). Relative error about 1e-15.
#[inline]
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(r, &CENTRE.0) / polynomial(r, &CENTRE.1);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-ln(tail)).sqrt();
    let (at, (above, below)) = if r <= 5.0 { (r - 1.6, &NEAR) } else { (r - 5.0, &FAR) };
    let value = polynomial(at, above) / polynomial(at, below);
    if q < 0.0 { -value } else { value }
}

/// Numerator and denominator, the constant first.
type Ratio = ([f64; 8], [f64; 8]);

const CENTRE: Ratio = (
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
);

const NEAR: Ratio = (
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        0.000_774_545_014_278_341_4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        0.000_547_593_808_499_534_5,
        1.050_750_071_644_416_9e-9,
    ],
);

const FAR: Ratio = (
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        0.000_786_869_131_145_613_3,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_7e-15,
    ],
);

/// c0 + c1 x + c2 x^2 ..., even and odd powers apart, so that two chains of operations run side by side.
#[inline]
fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    let square = x * x;
    let (even, odd) = coefficients.chunks(2).rev().fold((0.0, 0.0), |(even, odd), pair| {
        let [c0, c1] = [pair[0], pair.get(1).copied().unwrap_or(0.0)];
        (even * square + c0, odd * square + c1)
    });
    even + x * odd
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(value: f64, expected: f64, relative: f64) -> bool {
        (value - expected).abs() <= expected.abs() * relative
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn stated_errors_hold(exponent in -1000.0..1000.0f64, small in -0.5..0.5f64, x in -707.9..708.9f64) {
            let wide = exponent.exp2();
            prop_assert!(near(ln(wide), wide.ln(), 1e-15), "ln {}", wide);
            let by_one = 1.0 + small;
            prop_assert!(near(ln(by_one), by_one.ln(), 1e-15) || (ln(by_one) - by_one.ln()).abs() < 1e-16, "ln {}", by_one);
            prop_assert!(near(exp(x), x.exp(), 1e-15), "exp {}", x);
            for t in [small, small / 50.0, small / 1e6] {
                prop_assert!(near(exp_minus_1_over(t), t.exp_m1() / t, 1e-13), "{}", t);
                prop_assert!(near(ln_1_plus_over(t), t.ln_1p() / t, 1e-13), "{}", t);
            }
        }
    }

    #[test]
    fn ends() {
        assert_eq!((exp(0.0), ln(1.0), exp(-1e9), exp(1e9)), (1.0, 0.0, 0.0, f64::INFINITY));
        assert_eq!((exp_minus_1_over(0.0), ln_1_plus_over(0.0)), (1.0, 1.0));
    }

    #[test]
    fn quantiles_of_the_normal_distribution() {
        // From the paper's check values, and from Python's statistics.NormalDist.
        let known = [
            (0.25, -0.674_489_750_196_081_7),
            (0.001, -3.090_232_306_167_813_5),
            (1e-20, -9.262_340_089_798_408),
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.92, 1.405_071_560_309_632_5),
        ];
        for (p, expected) in known {
            assert!(near(normal_quantile(p), expected, 2e-15), "{p}: {}", normal_quantile(p));
        }
        let mut last = f64::NEG_INFINITY;
        for step in 1..10_000 {
            let value = normal_quantile(f64::from(step) / 10_000.0);
            assert!(value > last);
            last = value;
        }
    }

    /// Bits, not values: another machine must get these.
    #[test]
    fn golden_bits() {
        let values = [ln(3.0), ln(1e-300), exp(1.0), exp(-20.5), normal_quantile(0.3), normal_quantile(1e-9)];
        let bits = [
            0x3ff1_93ea_7aad_030b,
            0xc085_9634_47f8_7fb5,
            0x4005_bf0a_8b14_576a,
            0x3e15_7a3a_feed_00ac,
            0xbfe0_c7e3_9582_c5fc,
            0xc017_fdc1_1f44_b5a8,
        ];
        assert_eq!(values.map(f64::to_bits), bits);
    }
}
