//! The table of neighbours against a slow model: one record for each, looked through at each step.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::hosts::HostId;
use super::super::neighbours::{MOST_ASKED, Neighbour, Neighbours, QUESTIONS, RETRY, Resolution};

const HOSTS: u32 = 1030;

/// What the model knows of a neighbour.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    mac: Option<[u8; 6]>,
    /// When its next step is due, with the number of steps so far: questions, then unreachable, then unknown.
    asked: Option<(u64, u8)>,
}

impl Record {
    fn resolution(&self) -> Option<Resolution> {
        match (self.mac, self.asked) {
            (Some(mac), _) => Some(Resolution::Known(mac)),
            (None, Some((_, steps))) if steps > QUESTIONS => Some(Resolution::Unreachable),
            (None, Some(_)) => Some(Resolution::Asking),
            (None, None) => None,
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Resolve(usize),
    Learn { who: usize, mac: u8, replaces: bool },
    Wait(u64),
}

fn neighbour(index: usize) -> Neighbour {
    match index {
        0..4 => Neighbour::Host(HostId([0, 511, 512, HOSTS - 1][index])),
        _ => Neighbour::Gateway { is_v4: index.is_multiple_of(2), vlan: [0, 4095][index / 2 % 2] },
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..8usize).prop_map(Step::Resolve),
        2 => (0..8usize, 0..6u8, any::<bool>()).prop_map(|(who, mac, replaces)| Step::Learn { who, mac, replaces }),
        4 => prop_oneof![Just(0), Just(1), 0..RETRY, Just(RETRY - 1), Just(RETRY), RETRY..4 * RETRY].prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn as_the_model_has_it(steps in vec(step(), 0..80), start in 0..u64::MAX / 2) {
        let (mut table, mut model, mut now) = (Neighbours::new(HOSTS), BTreeMap::<usize, Record>::new(), start);
        for step in steps {
            match step {
                Step::Resolve(who) => {
                    let record = model.entry(who).or_default();
                    let known = record.resolution();
                    if known.is_none() {
                        record.asked = Some((now, 0));
                    }
                    let got = table.resolve(neighbour(who), HostId(who as u32), now);
                    prop_assert_eq!(got, known.unwrap_or(Resolution::Asking));
                }
                Step::Learn { who, mac, replaces } => {
                    // 4 is a group, 5 is zero.
                    let mac = match mac { 4 => [1, 0, 0, 0, 0, 1], 5 => [0; 6], low => [2, 0, 0, 0, 0, low] };
                    let record = model.entry(who).or_default();
                    let counts = mac[0] == 2 && (replaces || record.mac.is_none());
                    let is_news = counts && record.mac.is_none();
                    if counts {
                        *record = Record { mac: Some(mac), asked: None };
                    }
                    prop_assert_eq!(table.learn(neighbour(who), mac, replaces), is_news);
                    if let Neighbour::Host(host) = neighbour(who) {
                        prop_assert_eq!(table.knows(host, mac), record.mac == Some(mac));
                    }
                }
                Step::Wait(time) => {
                    now += time;
                    let mut want = Vec::new();
                    // Each waits a second from its last step, however late that was.
                    for (&who, record) in &mut model {
                        let Some((_, steps)) = record.asked.filter(|&(due, _)| due <= now) else { continue };
                        record.asked = (steps <= QUESTIONS).then_some((now + RETRY, steps + 1));
                        if steps < QUESTIONS {
                            want.push((who as u32, neighbour(who)));
                        }
                    }
                    let mut got = Vec::new();
                    while let Some((who, HostId(from))) = table.question(now) {
                        got.push((from, who));
                    }
                    got.sort_by_key(|&(from, _)| from);
                    prop_assert_eq!(got, want);
                    prop_assert!(table.due().is_none_or(|due| due > now));
                }
            }
            let due = model.values().filter_map(|record| record.asked).map(|(due, _)| due).min();
            prop_assert!(due.is_none_or(|due| table.due().is_some_and(|own| own <= due)), "{:?} {:?}", due, table.due());
        }
    }
}

#[test]
fn a_neighbour_gets_three_questions_and_a_second_of_rest() {
    let (who, mut table) = (Neighbour::Host(HostId(7)), Neighbours::new(8));
    let at = |second: u64| second * RETRY;
    for round in [0, 10] {
        assert_eq!(table.resolve(who, HostId(1), at(round)), Resolution::Asking);
        for second in 0..3 {
            assert_eq!(table.question(at(round + second)), Some((who, HostId(1))));
            assert_eq!(table.question(at(round + second)), None);
            assert_eq!(table.resolve(who, HostId(2), at(round + second)), Resolution::Asking);
        }
        assert_eq!(table.question(at(round + 3)), None);
        assert_eq!(table.resolve(who, HostId(2), at(round + 3)), Resolution::Unreachable);
        assert_eq!((table.question(at(round + 4)), table.due()), (None, None));
    }
}

#[test]
fn the_queue_is_bounded() {
    let mut table = Neighbours::new(MOST_ASKED as u32 + 10);
    for id in 0..MOST_ASKED as u32 + 10 {
        assert_eq!(table.resolve(Neighbour::Host(HostId(id)), HostId(0), 0), Resolution::Asking);
    }
    assert_eq!(table.asked(), MOST_ASKED);
    let last = Neighbour::Host(HostId(MOST_ASKED as u32 + 9));
    let round = |table: &mut Neighbours, now| (0..).take_while(|_| table.question(now).is_some()).count();
    assert_eq!(
        [0, 1, 2, 3, 4].map(|second| round(&mut table, second * RETRY)),
        [MOST_ASKED, MOST_ASKED, MOST_ASKED, 0, 0]
    );
    assert_eq!(table.resolve(last, HostId(0), 5 * RETRY), Resolution::Asking);
    assert_eq!(table.question(5 * RETRY), Some((last, HostId(0))), "it has its turn once there is room");
}
