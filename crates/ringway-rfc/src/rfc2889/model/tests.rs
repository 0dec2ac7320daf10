//! The modelled switch against what is plain to see.

use super::{ModelTestBed, SwitchSpec};
use crate::rfc2889::session::TestBed;
use crate::rfc2889::traffic::{Route, Sender, TrialSpec};
use ringway_tester::trial::rate::{MICROSECOND, MILLISECOND, Rate};
use ringway_tester::trial::spec::Length;

fn order(senders: Vec<(usize, Route)>, frames: u64, announce: Vec<usize>) -> TrialSpec {
    let rate = Rate::line(1_000_000_000, 64);
    let sender = |(port, route)| Sender { port, rate, length: Length::Frames(frames), route };
    TrialSpec {
        size: 64,
        senders: senders.into_iter().map(sender).collect(),
        burst: 1,
        line: rate,
        announce,
        wait_ps: 10 * MILLISECOND,
        catch_up: 64,
        exact: true,
        latency: true,
        held: false,
        flaw: None,
    }
}

fn bed(device: &str) -> ModelTestBed {
    ModelTestBed::new(&device.parse::<SwitchSpec>().unwrap(), Some(1_000_000_000), 1)
}

#[test]
fn what_is_not_known_goes_to_all_others() {
    let mut bed = bed("switch:ports=4");
    let to_two = || vec![(0, Route::Ports(vec![2]))];
    let trial = bed.run(&order(to_two(), 100, vec![]), &mut |_| true).unwrap();
    assert_eq!((trial.rx, trial.flooded), (100, 200));
    assert_eq!([0, 1, 2, 3].map(|p| trial.ports[p].flooded), [0, 100, 0, 100]);
    let trial = bed.run(&order(to_two(), 100, vec![2]), &mut |_| true).unwrap();
    assert_eq!((trial.rx, trial.flooded, trial.lost), (100, 0, 0));
}

#[test]
fn two_into_one_lose_what_the_buffer_does_not_hold() {
    let senders = vec![(0, Route::Ports(vec![2])), (1, Route::Ports(vec![2]))];
    for buffer in [1, 5, 50] {
        let mut bed = bed(&format!("switch:ports=3,buffer={buffer}"));
        let trial = bed.run(&order(senders.clone(), 200, vec![2]), &mut |_| true).unwrap();
        // Of each two that come in at once one goes out, until the buffer is full: it is emptied at the end.
        assert_eq!((trial.rx, trial.tx), (200 + buffer, 400), "{buffer}");
        let waited = trial.ports[2].latency.max_ns * 1000 / (84 * 8000);
        assert!(waited.abs_diff(buffer + 1 + 5 * MICROSECOND / (84 * 8000)) <= 1, "{buffer} {waited}");
    }
}

#[test]
fn back_pressure_loses_nothing() {
    let senders = vec![(0, Route::Ports(vec![2])), (1, Route::Ports(vec![2]))];
    let mut bed = bed("switch:ports=3,buffer=3,pressure");
    let trial = bed.run(&order(senders, 500, vec![2]), &mut |_| true).unwrap();
    assert_eq!((trial.tx, trial.rx, trial.lost), (1000, 1000, 0));
}

#[test]
fn trials_end_when_nobody_wants_them() {
    let mut bed = bed("switch:ports=2");
    let long = order(vec![(0, Route::Ports(vec![1]))], 10_000_000, vec![1]);
    let trial = bed.run(&long, &mut |live| live.sent < 1_000_000).unwrap();
    assert!(trial.interrupted() && trial.tx < 2_000_000, "{}", trial.tx);
}
