//! The quick way of segments, of turns and of answers, beside the way that all frames can go.

use proptest::prelude::*;

use super::{Bed, stories};
use crate::code::Bundle;
use crate::content::random::SplitMix64;
use crate::transport::Settings;

const SECOND: u64 = 1_000_000_000;

/// What a run sent, and what it counted.
type Seen = (Vec<(u64, Vec<u8>)>, String);

/// Flows that overlap, over a wire that loses, repeats and spoils `faults` frames of a thousand.
fn run(bundle: &Bundle, settings: Settings, (seed, faults): (u64, u64), goes_long_way: bool) -> Seen {
    let mut bed = Bed::new(bundle.clone(), settings);
    bed.shard.goes_long_way = goes_long_way;
    bed.cable.log = Some(Vec::new());
    let mut random = SplitMix64(seed);
    for _ in 0..12 {
        for _ in 0..1 + random.below(4) {
            bed.start(0);
        }
        let until = bed.now + random.below(2 * SECOND);
        bed.run(until, |frame| match random.below(1000) {
            fault if fault >= faults => 1,
            fault if fault % 3 == 0 => 0,
            fault if fault % 3 == 1 => 2,
            _ => {
                let at = random.below(frame.len() as u64) as usize;
                frame[at] ^= 1 << random.below(8);
                1
            }
        });
    }
    bed.run(bed.now + 3600 * SECOND, |_| 1);
    bed.is_empty();
    let tally = bed.shard.tally();
    let refused: Vec<_> = bed.shard.refusals().collect();
    (bed.cable.log.unwrap_or_default(), format!("{tally:?} {refused:?}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn frames_and_counts_do_not_depend_on_the_way(
        seed: u64,
        faults in prop_oneof![Just(0u64), 1..100u64],
        ftp: bool,
        delayed in prop_oneof![Just(0u64), Just(40_000_000)],
        window in prop_oneof![Just(700u32), Just(65_535), Just(1 << 20)],
        congestion in prop_oneof![Just(0u16), Just(10)],
    ) {
        let bundle = if ftp { stories::ftp((1, 9000)) } else { stories::http((1, 9000)) };
        let settings = Settings {
            delayed_ack: delayed,
            window,
            initial_window: congestion,
            time_wait: 2 * SECOND,
            attempts: 12,
            ..Settings::default()
        };
        let quick = run(&bundle, settings, (seed, faults), false);
        let long = run(&bundle, settings, (seed, faults), true);
        prop_assert_eq!(quick.1, long.1);
        prop_assert!(quick.0 == long.0, "frames differ");
    }
}
