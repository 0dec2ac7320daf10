//! Searches against simulated devices, a thousand of each kind.

use super::*;
use crate::trial::rate::SECOND;

/// A small generator (SplitMix64), so that each run sees the same devices.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// True `ppm` times in a million.
    fn falls(&mut self, ppm: u64) -> bool {
        self.next() % 1_000_000 < ppm
    }

    fn load(&mut self) -> Load {
        Load(20_000 + (self.next() % 970_000) as u32)
    }
}

/// Runs a search; `lose` says which share of a load is lost, in millionths. Returns what was found and how many trials it took.
fn run(
    mut search: Box<dyn Search>,
    tester: Load,
    mut lose: impl FnMut(Load, u64, u64) -> u64,
) -> (Found, u64) {
    let mut elapsed = 0;
    for trials in 0.. {
        assert!(trials < 3000, "no end: {search:?}");
        match search.next() {
            Step::Done(found) => return (found, trials),
            Step::Try { load, length_ps } => {
                assert!(load.0 > 0 && load <= Load::MAX && length_ps > 0);
                let limited = load > tester;
                let load = load.min(tester);
                let sent = 100_000_000;
                let lost = lose(load, length_ps, elapsed) * 100;
                elapsed += length_ps;
                let forwarded = Load((u64::from(load.0) * (sent - lost) / sent) as u32);
                search.learn(&Measured { load, length_ps, sent, lost, forwarded, limited });
            }
        }
    }
    unreachable!()
}

/// Loss of a device that carries `capacity`.
fn ideal(capacity: Load, load: Load) -> u64 {
    let over = u64::from(load.0.saturating_sub(capacity.0));
    (over * 1_000_000).div_ceil(load.0.into())
}

const RESOLUTION: Load = Load(1000);
const KINDS: [SearchKind; 3] = [SearchKind::Binary, SearchKind::BinaryVerify, SearchKind::Mlr];

fn search(kind: SearchKind, preset: Preset) -> Box<dyn Search> {
    SearchPlan::new(kind, &[preset], RESOLUTION).start()
}

/// Whether the result is the capacity, to the width of the search.
fn is_right(found: &Found, capacity: Load, width_ppm: u32) -> bool {
    let goal = &found.goals[0];
    let load = goal.load.map_or(0, |load| load.0);
    load <= capacity.0 && capacity.0 - load <= width_ppm
}

#[test]
fn ideal_devices() {
    for kind in KINDS {
        for preset in [Preset::Rfc2544, Preset::Tst009, Preset::Ndr] {
            let mut dice = Dice(1);
            for _ in 0..1000 {
                let capacity = dice.load();
                let (found, trials) =
                    run(search(kind, preset), Load::MAX, |load, _, _| ideal(capacity, load));
                assert!(is_right(&found, capacity, 5000), "{kind} {preset} {capacity}: {found:?}");
                assert_eq!(found.goals[0].reason, Reason::Bracketed);
                assert!(trials <= if preset == Preset::Ndr { 120 } else { 45 }, "{kind} {preset}: {trials}");
            }
        }
    }
}

#[test]
fn the_whole_load_and_none() {
    for kind in KINDS {
        let (found, trials) = run(search(kind, Preset::Rfc2544), Load::MAX, |_, _, _| 0);
        let goal = found.goals[0];
        assert_eq!(
            (goal.load, goal.failing, goal.reason),
            (Some(Load::MAX), None, Reason::Maximum),
            "{kind}"
        );
        assert!(trials <= 4, "{kind}: {trials}");
        let (found, _) = run(search(kind, Preset::Rfc2544), Load::MAX, |_, _, _| 1);
        assert_eq!((found.goals[0].load, found.goals[0].reason), (None, Reason::Nothing), "{kind}");
        assert_eq!(found.goals[0].conditional, 0.0);
    }
}

/// Each trial may be disturbed: it loses a little although the device carries the load.
fn disturbed(kind: SearchKind, preset: Preset, ppm: u64) -> u32 {
    let mut dice = Dice(7);
    let right = (0..1000).filter(|_| {
        let capacity = dice.load();
        let (found, _) = run(search(kind, preset), Load::MAX, |load, _, _| {
            let disturbance = if dice.falls(ppm) { 1 + dice.next() % 10_000 } else { 0 };
            ideal(capacity, load).max(disturbance)
        });
        is_right(&found, capacity, if kind == SearchKind::Mlr { 5000 } else { 1000 })
    });
    right.count() as u32
}

#[test]
fn noisy_devices() {
    for preset in [Preset::Tst009, Preset::Ndr] {
        let right = disturbed(SearchKind::Mlr, preset, 50_000);
        assert!(right >= 990, "mlr {preset}: {right} of 1000");
    }
    let right = disturbed(SearchKind::BinaryVerify, Preset::Rfc2544, 50_000);
    assert!(right >= 990, "binary-verify: {right} of 1000");
    let right = disturbed(SearchKind::Binary, Preset::Rfc2544, 50_000);
    assert!(right < 850, "the plain search is not expected to cope: {right} of 1000");
}

/// A device that passes loads below a dip and above it: the answer is an edge, and the bound below it passes.
#[test]
fn devices_that_are_not_monotonic() {
    for kind in KINDS {
        let mut dice = Dice(3);
        for _ in 0..1000 {
            let mut edges = [dice.load(), dice.load(), dice.load()];
            edges.sort_unstable();
            let [dip, rise, capacity] = edges;
            let carries = |load: Load| load < dip || (load >= rise && load < capacity);
            let (found, _) =
                run(
                    search(kind, Preset::Rfc2544),
                    Load::MAX,
                    |load, _, _| if carries(load) { 0 } else { 9000 },
                );
            let goal = found.goals[0];
            let (load, failing) = (goal.load.unwrap(), goal.failing.unwrap());
            assert!(
                carries(load) && !carries(failing) && load < failing && failing.0 - load.0 <= 1000,
                "{kind} {edges:?}: {goal:?}"
            );
        }
    }
}

/// A device that loses in its first second, as with cold caches: the warm-up of `mlr` takes it.
#[test]
fn loss_in_the_first_second() {
    let mut dice = Dice(5);
    for _ in 0..1000 {
        let capacity = dice.load();
        let cold = |load, _, elapsed: u64| if elapsed < SECOND { 5000 } else { ideal(capacity, load) };
        for (kind, preset) in [
            (SearchKind::Mlr, Preset::Rfc2544),
            (SearchKind::Mlr, Preset::Ndr),
            (SearchKind::BinaryVerify, Preset::Rfc2544),
        ] {
            let (found, _) = run(search(kind, preset), Load::MAX, cold);
            assert!(is_right(&found, capacity, 5000), "{kind} {preset} {capacity}: {found:?}");
        }
    }
}

/// A tester that can't offer the whole load says so, or finds the device's limit below its own.
#[test]
fn testers_at_their_limit() {
    for kind in KINDS {
        let mut dice = Dice(11);
        for _ in 0..1000 {
            // Some testers reach less than the resolution.
            let tester = if dice.falls(100_000) { Load(500) } else { dice.load() };
            let capacity = dice.load();
            let (found, _) = run(search(kind, Preset::Rfc2544), tester, |load, _, _| ideal(capacity, load));
            let goal = found.goals[0];
            if tester <= capacity {
                assert_eq!(
                    (goal.load, goal.reason),
                    (Some(tester), Reason::TesterLimit),
                    "{kind} {capacity} {tester}"
                );
            } else {
                assert!(is_right(&found, capacity, 1000), "{kind} {capacity} {tester}: {goal:?}");
                assert_eq!(goal.reason, Reason::Bracketed);
            }
        }
    }
}

/// Two goals in one search, each with its own answer.
#[test]
fn non_drop_and_partial_drop_rate_at_once() {
    let mut dice = Dice(13);
    for _ in 0..1000 {
        let capacity = dice.load();
        let plan = SearchPlan::new(SearchKind::Mlr, &[Preset::Ndr, Preset::Pdr], RESOLUTION);
        let (found, trials) = run(plan.start(), Load::MAX, |load, _, _| ideal(capacity, load));
        let [ndr, pdr] = found.goals[..] else { panic!("{found:?}") };
        assert!(is_right(&found, capacity, 5000));
        let partial = f64::from(capacity.0) / 0.995;
        let pdr_load = f64::from(pdr.load.unwrap().0);
        assert!(
            pdr_load <= partial.min(1e6) + 1.0 && partial.min(1e6) - pdr_load <= 5001.0,
            "{capacity} {pdr:?}"
        );
        assert!(pdr.conditional <= f64::from(capacity.0) + 1.0 && pdr.conditional >= ndr.conditional * 0.99);
        // 1 s trials and no pause: below five minutes for one size.
        assert!(trials <= 250, "{trials}");
    }
}

#[test]
fn loads_are_classified_as_the_rfc_says() {
    use super::mlr::Goal;
    let s = SECOND;
    let plan = |samples: &[(u64, u64)], goal: Goal| {
        let mut search = Mlr::new(&[goal], Load(1));
        // After the warm-up the search stays at one load until it is decided.
        let learn = |search: &mut Mlr, load, length_ps, loss: u64| {
            search.learn(&Measured {
                load,
                length_ps,
                sent: 1_000_000,
                lost: loss,
                forwarded: Load(500_000),
                limited: false,
            });
        };
        learn(&mut search, Load::MAX, s, 500_000);
        samples.iter().for_each(|&(length, loss)| learn(&mut search, Load(500_000), length, loss));
        search.next()
    };
    let goal = Goal { loss_ppm: 0, final_ps: s, sum_ps: 4 * s, exceed_ppm: 500_000, width_ppm: 1000 };
    // The first goal on the way is decided by one trial, so the search moves up; a bad one moves it down.
    assert!(matches!(plan(&[(s, 0)], goal), Step::Try { load, .. } if load > Load(500_000)));
    assert!(matches!(plan(&[(s, 5)], goal), Step::Try { load, .. } if load < Load(500_000)));
}
