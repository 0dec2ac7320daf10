use super::*;
use crate::run::example::{ASK, bundle};

const MS: u64 = 1_000_000;

/// Starts all that is due, without flows that end.
fn all(plan: &mut Plan, now: u64, tally: &mut Tally) -> Vec<u16> {
    let mut started = Vec::new();
    while let Some(start) = plan.due(now, tally) {
        plan.made(start);
        tally.flows[usize::from(start.flow)][0].active += 1;
        started.push(start.flow);
    }
    started
}

fn set_up(run: &str) -> (Bundle, Plan, Tally) {
    let text = format!("{ASK}\nflow two {{ tcp c = inside -> outside : 81\n c > close }}\n{run}");
    let bundle = bundle(&text);
    let plan = Plan::new(&bundle, Share::ALL).unwrap();
    let tally = Tally { flows: vec![Default::default(); bundle.flows.len()], ..Tally::default() };
    (bundle, plan, tally)
}

#[test]
fn a_mix_has_its_weights() {
    let (_, mut plan, mut tally) =
        set_up("mix m { ask 75 %  two 25 % } run { m rate 1 k flows/s from 5 ms to 45 ms }");
    assert_eq!((plan.next_ns(0, &tally), plan.end_ns()), (Some(5 * MS), 45 * MS));
    let started = all(&mut plan, 45 * MS, &mut tally);
    assert_eq!((started.len(), started.iter().filter(|flow| **flow == 0).count()), (40, 30));
    assert_eq!(plan.next_ns(45 * MS, &tally), None);
}

#[test]
fn a_postponed_start_keeps_its_flow_and_comes_later() {
    let (_, mut plan, mut tally) =
        set_up("mix m { ask 50 %  two 50 % } run { m rate 1 k flows/s for 10 ms }");
    let first = plan.due(2 * MS, &tally).unwrap();
    plan.postpone(first, 2 * MS, &tally);
    assert_eq!(plan.due(2 * MS, &tally), None, "it is not tried again at once");
    assert_eq!((plan.postponed(), plan.next_ns(2 * MS, &tally)), (3, Some(2 * MS + RETRY_NS)));
    assert_eq!(plan.due(3 * MS, &tally), Some(first));
    let started = all(&mut plan, 10 * MS, &mut tally);
    assert_eq!((started.len(), plan.postponed(), plan.missed(10 * MS, &tally)), (10, 3, 0));
}

#[test]
fn no_more_flows_than_the_plan_allows() {
    let (_, mut plan, mut tally) = set_up("run { ask rate 1 k flows/s for 10 ms  concurrent max 4 }");
    assert_eq!(all(&mut plan, 8 * MS, &mut tally).len(), 4);
    assert_eq!((plan.postponed(), plan.missed(8 * MS, &tally)), (5, 5));
    tally.flows[0][0].active = 1;
    assert_eq!(all(&mut plan, 10 * MS, &mut tally).len(), 3);
}

#[test]
fn an_attack_that_is_late_leaves_packets_out() {
    let text = "attack flood(target) { raw tcp inside* -> target : 80  flags S  no_reply }
        run { flood rate 1 k pkt/s from 0 s to 100 ms target 198.19.0.1 }";
    let (_, mut plan, mut tally) = set_up(text);
    assert_eq!(all(&mut plan, 50 * MS, &mut tally).len(), 11, "the last 10 ms");
    assert_eq!(plan.missed(50 * MS, &tally), 40);
    assert_eq!(all(&mut plan, 100 * MS, &mut tally), [], "the time is over");
    assert_eq!(plan.missed(200 * MS, &tally), 89);
}

#[test]
fn conditions_that_end_a_run() {
    for (stop, complete, failed, now, ends) in [
        ("stop failed > 2", 10, 2, 0, false),
        ("stop failed > 2", 10, 3, 0, true),
        ("stop complete >= 10", 10, 0, 0, true),
        ("stop time >= 5 ms", 0, 0, 5 * MS - 1, false),
        ("stop time >= 5 ms", 0, 0, 5 * MS, true),
        ("stop failed > 1 %", 10, 10, 0, false),
        ("stop failed > 1 %", 990, 10, 0, false),
        ("stop failed > 1 %", 989, 11, 0, true),
    ] {
        let (bundle, plan, mut tally) = set_up(&format!("run {{ ask rate 1 k flows/s for 10 ms  {stop} }}"));
        for end in &mut tally.flows[0] {
            (end.started, end.complete, end.failed[0]) = (complete + failed, complete, failed);
        }
        assert_eq!(plan.stopped(now, &bundle, &tally).is_some(), ends, "{stop} {complete} {failed} {now}");
    }
}
