//! Random programs over random wires: each byte arrives once and in order, and everything ends.

use proptest::prelude::*;

use super::end::{End, Program};
use super::wire::Weather;
use super::world::World;
use crate::transport::Settings;
use crate::transport::input::Over;

fn weather() -> impl Strategy<Value = Weather> {
    let share = |most: u64| prop_oneof![Just(0), 1..most];
    (share(400), share(200), share(500), 1..3_000_000_u64, 1..50_000_000_u64)
        .prop_map(|(loss, twice, overtaken, late, delay)| Weather { loss, twice, overtaken, late, delay })
}

fn settings() -> impl Strategy<Value = Settings> {
    let window = prop_oneof![1..100_u32, 500..70_000_u32, Just(65_535), Just(1 << 20)];
    let delayed = prop_oneof![Just(0), Just(40_000_000)];
    let mss = prop_oneof![Just(1460), 64..1460_u16];
    (window, delayed, mss, 0..11_u16, any::<bool>()).prop_map(
        |(window, delayed_ack, mss, initial_window, waits)| Settings {
            window,
            delayed_ack,
            mss,
            initial_window,
            min_rto: 10_000_000,
            max_rto: 2_000_000_000,
            attempts: 200,
            time_wait: if waits { 100_000_000_000 } else { 0 },
            ..Settings::default()
        },
    )
}

fn program() -> impl Strategy<Value = Program> {
    let pause = prop_oneof![Just(0), 1..30_000_000_u64];
    (0..40_000_u32, 1..9_000_u32, 1..5_000_usize, pause, any::<bool>()).prop_map(
        |(bytes, piece, bite, pause, last)| Program { bytes, piece, bite, pause, last, reset_at: None },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn all_bytes_arrive_and_both_ends_close(
        settings in [settings(), settings()], mut programs in [program(), program()], weather in weather(), seed: u64,
    ) {
        programs[1].last &= !programs[0].last;
        // A window of a few bytes takes a meal for each.
        for k in [0, 1] {
            programs[1 - k].bytes = programs[1 - k].bytes.min(settings[k].window.saturating_mul(100));
            programs[k].bite = programs[k].bite.max(1 + programs[1 - k].bytes as usize / 500);
        }
        let mut world = World::new(settings, programs, weather, seed);
        world.open();
        world.assert_complete();
    }

    /// Few attempts, and programs that lose patience: each end closes, fails, or hears of the other's end, unless it only waits for a peer
    /// that is gone.
    #[test]
    fn everything_ends(
        settings in [settings(), settings()], mut programs in [program(), program()], weather in weather(), seed: u64,
        attempts in 1..5_u8, reset_at in prop::option::of(0..300_000_000_u64), who in 0..2_usize,
    ) {
        programs[1].last &= !programs[0].last;
        programs[who].reset_at = reset_at;
        let mut world = World::new(settings.map(|s| Settings { attempts, ..s }), programs, weather, seed);
        world.open();
        let ends = world.run();
        let in_order = ends.iter().all(|end| *end == Some(End::Over(Over::Closed)));
        if in_order {
            prop_assert_eq!((world.hosts[0].taken, world.hosts[1].taken), (programs[1].bytes, programs[0].bytes));
        }
        for k in [0, 1] {
            prop_assert!(ends[k].is_some() || ends[1 - k] != Some(End::Over(Over::Closed)) || !in_order);
            prop_assert!(ends[0].is_some() || ends[1].is_some() || world.hosts[1].listens, "both wait");
        }
    }
}
