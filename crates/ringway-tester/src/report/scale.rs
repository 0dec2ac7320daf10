//! Ticks of axes: places and texts.

/// A place on an axis and what is written there; nothing where lines stand too near.
pub type Tick = (f64, String);

/// Round places from zero to a little above `most`.
pub fn ticks(most: f64, text: impl Fn(f64) -> String) -> Vec<Tick> {
    let most = most.max(1e-9);
    let power = 10f64.powf((most / 4.0).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|n| n * power)
        .into_iter()
        .find(|s| s * 5.0 >= most)
        .unwrap_or(power * 10.0);
    let n = (most / step).ceil() as u32;
    (0..=n).map(|k| (f64::from(k) * step, text(f64::from(k) * step))).collect()
}

/// Whole percents.
pub fn percents() -> Vec<Tick> {
    (0..=5).map(|k| f64::from(20 * k)).map(|p| (p, format!("{p} %"))).collect()
}

/// Steps of a logarithmic axis within a power of ten, from coarse to fine.
const STEPS: [&[u32]; 4] = [
    &[10],
    &[10, 20, 50],
    &[10, 20, 30, 40, 50, 60, 70, 80, 90],
    &[10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95],
];

/// Ticks that a reader needs to tell a value from its neighbours.
const ENOUGH: usize = 4;

/// Round places of a logarithmic axis that hold `low` to `high` between them: the coarsest that are enough. A place is the logarithm to
/// base ten.
pub fn log_ticks(low: f64, high: f64, text: impl Fn(f64) -> String) -> Vec<Tick> {
    let low = low.max(1e-9);
    let high = high.max(low);
    let of = |steps: &&[u32]| around(&places(low, high, steps), low, high);
    let ticks = STEPS.iter().map(of).find(|t| t.len() >= ENOUGH);
    let ticks = ticks.unwrap_or_else(|| wider(low, high));
    ticks.into_iter().map(|v| (v.log10(), text(v))).collect()
}

/// All places of the powers of ten around both.
fn places(low: f64, high: f64, steps: &[u32]) -> Vec<f64> {
    let powers = low.log10().floor() as i32 - 1..=high.log10().ceil() as i32 + 1;
    powers.flat_map(|p| steps.iter().map(move |&s| f64::from(s) * 10f64.powi(p - 1))).collect()
}

/// From the last place at or below `low` to the first at or above `high`.
fn around(places: &[f64], low: f64, high: f64) -> Vec<f64> {
    let from = places.iter().rposition(|&v| v <= low).unwrap_or(0);
    let to = places.iter().position(|&v| v >= high).unwrap_or(places.len() - 1);
    places[from..=to.max(from)].to_vec()
}

/// The finest places, with one more at either end.
fn wider(low: f64, high: f64) -> Vec<f64> {
    let places = places(low, high, STEPS[STEPS.len() - 1]);
    let held = around(&places, low, high);
    let below = places.iter().rev().find(|&&v| v < held[0]);
    let above = places.iter().find(|&&v| v > held[held.len() - 1]);
    below.into_iter().chain(&held).chain(above).copied().collect()
}

/// 14880952 as `14.9 M`: the shortest text that a tick needs.
pub fn short(n: f64) -> String {
    let (value, unit) = match n {
        n if n < 1e3 => (n, ""),
        n if n < 1e6 => (n / 1e3, " k"),
        n if n < 1e9 => (n / 1e6, " M"),
        n => (n / 1e9, " G"),
    };
    trimmed(&format!("{value:.1}")) + unit
}

/// A duration without needless digits: `5.5 us`.
pub fn short_ns(ns: f64) -> String {
    let (value, unit) = match ns {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "us"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { 1 };
    format!("{} {unit}", trimmed(&format!("{value:.digits$}")))
}

fn trimmed(digits: &str) -> String {
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_top() {
        for most in [0.003, 1.0, 7.0, 99.0, 1_488_095.0] {
            let t = ticks(most, |v| v.to_string());
            assert!((3..=7).contains(&t.len()) && t[0].0 == 0.0 && t[t.len() - 1].0 >= most, "{most} {t:?}");
        }
    }

    #[test]
    fn logarithmic_axes_have_ticks_between_the_powers_of_ten() {
        for (low, high, texts) in [
            (5067.0, 6231.0, "5 us|5.5 us|6 us|6.5 us"),
            (900.0, 4000.0, "500 ns|1 us|2 us|5 us"),
            (1200.0, 950_000.0, "1 us|10 us|100 us|1 ms"),
            (30.0, 70.0, "30 ns|40 ns|50 ns|60 ns|70 ns"),
            (5067.0, 5067.0, "4.5 us|5 us|5.5 us|6 us"),
            (1000.0, 1000.0, "950 ns|1 us|1.5 us"),
            (1.0, 0.0, "0.95 ns|1 ns|1.5 ns"),
        ] {
            let ticks = log_ticks(low, high, short_ns);
            let found: Vec<_> = ticks.iter().map(|t| t.1.as_str()).collect();
            assert_eq!(found.join("|"), texts, "{low} to {high}");
            assert!(ticks[0].0 <= low.log10() && ticks[ticks.len() - 1].0 >= high.max(low).log10() - 1e-9);
        }
    }

    #[test]
    fn wide_ranges_have_few_ticks() {
        for decades in 1..=9 {
            let n = log_ticks(1.0, 10f64.powi(decades), short_ns).len();
            assert!((ENOUGH..=10).contains(&n), "{decades}: {n}");
        }
    }

    #[test]
    fn ticks_are_short() {
        let texts = [0.0, 0.5, 999.0, 500e3, 15e6, 2.5e6, 3e9].map(short);
        assert_eq!(texts, ["0", "0.5", "999", "500 k", "15 M", "2.5 M", "3 G"]);
    }
}
