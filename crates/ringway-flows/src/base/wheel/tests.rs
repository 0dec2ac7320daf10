use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const RECORDS: usize = 24;

/// The slow model: when each timer is due, in ticks.
#[derive(Default)]
struct Model {
    due: [Option<u64>; RECORDS],
    tick: u64,
}

impl Model {
    fn arm(&mut self, id: usize, due_ns: u64) {
        self.due[id] = Some(due_ns.div_ceil(TICK_NS).max(self.tick + 1).min(self.tick + HORIZON));
    }

    /// All that are due, by tick and id.
    fn advance(&mut self, now_ns: u64) -> Vec<(u64, usize)> {
        self.tick = self.tick.max(now_ns / TICK_NS);
        let is_due = |id: &usize| self.due[*id].is_some_and(|due| due <= self.tick);
        let mut ids: Vec<_> =
            (0..RECORDS).filter(is_due).filter_map(|id| Some((self.due[id]?, id))).collect();
        ids.sort_unstable();
        ids.iter().for_each(|&(_, id)| self.due[id] = None);
        ids
    }
}

#[derive(Clone, Debug)]
enum Step {
    Arm(usize, u64),
    Cancel(usize),
    Advance(u64),
}

/// Times of all magnitudes, and often near the bounds of slots.
fn time() -> impl Strategy<Value = u64> {
    let bounds =
        (0u32..52, 0u64..3, -2i64..3).prop_map(|(shift, n, off)| (n << shift).saturating_add_signed(off));
    prop_oneof![bounds, 0..2_000_000_000u64, 0..200_000u64, Just(u64::MAX >> 1)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..RECORDS, time()).prop_map(|(id, ns)| Step::Arm(id, ns)),
        1 => (0..RECORDS).prop_map(Step::Cancel),
        3 => (0u32..50, any::<u64>()).prop_map(|(bits, ns)| Step::Advance(ns >> (63 - bits))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 2000 }))]

    #[test]
    fn equals_the_sorted_model(start in time(), steps in vec(step(), 1..80)) {
        let mut now = start >> 1;
        let (mut wheel, mut records) = (Wheel::new(now), [Links::IDLE; RECORDS]);
        let mut model = Model { tick: now / TICK_NS, ..Model::default() };
        for step in steps {
            match step {
                Step::Arm(id, ahead) => {
                    wheel.arm(&mut records[..], id as u32, now.saturating_add(ahead));
                    model.arm(id, now.saturating_add(ahead));
                }
                Step::Cancel(id) => {
                    wheel.cancel(&mut records[..], id as u32);
                    model.due[id] = None;
                }
                Step::Advance(by) => {
                    now += by;
                    let expected = model.advance(now);
                    let ticks: Vec<u64> = expected.iter().map(|&(tick, _)| tick).collect();
                    let mut found = Vec::new();
                    wheel.advance(now, &mut records[..], |id| found.push(id as usize));
                    let tick_of = |id: &usize| expected.iter().find(|(_, e)| e == id).map_or(0, |&(tick, _)| tick);
                    prop_assert_eq!(found.iter().map(tick_of).collect::<Vec<_>>(), ticks);
                    found.sort_unstable();
                    let mut ids: Vec<_> = expected.iter().map(|&(_, id)| id).collect();
                    ids.sort_unstable();
                    prop_assert_eq!(found, ids);
                }
            }
            let first = model.due.iter().flatten().min().copied();
            let next = wheel.next_ns().map(|ns| ns / TICK_NS);
            prop_assert!(next.is_none() || next <= first || first.is_none(), "{:?} {:?}", next, first);
            prop_assert!(next.is_some() || first.is_none());
            for (links, due) in records.iter().zip(&model.due) {
                prop_assert_eq!(links.is_armed(), due.is_some());
            }
        }
    }

    #[test]
    fn sleepers_find_every_timer(dues in vec(time(), 1..RECORDS)) {
        let (mut wheel, mut records) = (Wheel::new(0), [Links::IDLE; RECORDS]);
        let dues: Vec<u64> = dues.iter().map(|due| due % HORIZON_NS).collect();
        for (id, &due) in dues.iter().enumerate() {
            wheel.arm(&mut records[..], id as u32, due);
        }
        let (mut fired, mut wakes) = (0, 0);
        while let Some(now) = wheel.next_ns() {
            wheel.advance(now, &mut records[..], |id| {
                let due = dues[id as usize].max(1);
                assert!(due <= now && now - due < TICK_NS, "{due} at {now}");
                fired += 1;
            });
            wakes += 1;
            prop_assert!(wakes <= 3 * dues.len(), "no sleep without end");
        }
        prop_assert_eq!(fired, dues.len());
    }
}

#[test]
fn timers_may_be_armed_and_cancelled_between_two() {
    let (mut wheel, mut records) = (Wheel::new(0), [Links::IDLE; 4]);
    for id in 0..3 {
        wheel.arm(&mut records[..], id, TICK_NS);
    }
    let first = wheel.pop(TICK_NS, &mut records[..]).unwrap();
    let second = (first + 1) % 3;
    wheel.cancel(&mut records[..], second);
    wheel.arm(&mut records[..], first, 0);
    wheel.arm(&mut records[..], 3, 2 * TICK_NS);
    let last = 3 - first - second;
    assert_eq!(wheel.pop(TICK_NS, &mut records[..]), Some(last));
    assert_eq!(wheel.pop(TICK_NS, &mut records[..]), None, "armed again is due at the next tick");
    let mut rest = Vec::new();
    wheel.advance(2 * TICK_NS, &mut records[..], |id| rest.push(id));
    rest.sort_unstable();
    assert_eq!(rest, [first, 3]);
    assert_eq!((wheel.next_ns(), records), (None, [Links::IDLE; 4]));
}

#[test]
fn an_idle_wheel_keeps_its_horizon() {
    let (mut wheel, mut records) = (Wheel::new(0), [Links::IDLE; 1]);
    let now = 1000 * HORIZON_NS + 12345;
    assert_eq!(wheel.pop(now, &mut records[..]), None);
    wheel.arm(&mut records[..], 0, now + 1_000_000_000);
    assert_eq!(wheel.pop(now + 999_999_999, &mut records[..]), None);
    assert_eq!(wheel.pop(now + 1_000_000_000 + TICK_NS, &mut records[..]), Some(0));
}

#[test]
fn ticks_pass_the_end_of_32_bits() {
    let start = ((1 << 32) - 5) * TICK_NS;
    let ahead = [1, 4, 5, 6, 4095, 5000, 1 << 20, 1 << 25, (1 << 31) - (1 << 20)];
    let (mut wheel, mut records) = (Wheel::new(start), [Links::IDLE; 9]);
    for (id, ticks) in ahead.iter().enumerate() {
        wheel.arm(&mut records[..], id as u32, start + ticks * TICK_NS);
    }
    for (id, ticks) in ahead.iter().enumerate() {
        let due = start + ticks * TICK_NS;
        assert_eq!(wheel.pop(due - 1, &mut records[..]), None, "{ticks} ticks ahead");
        assert_eq!(wheel.pop(due, &mut records[..]), Some(id as u32), "{ticks} ticks ahead");
    }
    assert_eq!((wheel.pop(u64::MAX, &mut records[..]), wheel.next_ns()), (None, None));
}

/// Counts how often the wheel looks at a record.
struct Counted {
    records: Vec<Links>,
    looks: u64,
}

impl Timed for Counted {
    fn links(&mut self, id: u32) -> &mut Links {
        self.looks += 1;
        &mut self.records[id as usize]
    }
}

#[test]
fn no_tick_moves_all_timers_of_a_slot() {
    const TIMERS: u32 = 50_000;
    let mut counted = Counted { records: vec![Links::IDLE; TIMERS as usize], looks: 0 };
    let mut wheel = Wheel::new(0);
    // Just beyond what level 1 reaches.
    let due = |id: u32| 276_000_000_000 + u64::from(id) * 5000;
    for id in 0..TIMERS {
        wheel.arm(&mut counted, id, due(id));
    }
    let (mut fired, mut now) = (0, 274_000_000_000);
    while fired < TIMERS {
        now += TICK_NS;
        counted.looks = 0;
        let before = fired;
        wheel.advance(now, &mut counted, |id| {
            assert!(due(id) <= now && now - due(id) < 2 * TICK_NS);
            fired += 1;
        });
        let looks = 3 * u64::from(fired - before) + 2 * 4 * u64::from(MOVES);
        assert!(counted.looks <= looks, "{} at {now}", counted.looks);
    }
}
