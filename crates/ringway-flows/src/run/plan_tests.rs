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

/// A run of one load whose levels are these: thousandths of its unit, and how long.
fn levels(unit: Unit, phases: &[(u64, u64, u64)], share: Share) -> (Plan, Tally) {
    let mut bundle = bundle(&format!("{ASK} run {{ ask rate 1 flows for 1 s }}"));
    let load = &mut bundle.plan.loads[0];
    load.unit = unit;
    let phase = |&(from, to, length): &(u64, u64, u64)| code::Phase { from, to, length, steady: from == to };
    load.phases = phases.iter().map(phase).collect();
    let tally = Tally { flows: vec![Default::default()], ..Tally::default() };
    (Plan::new(&bundle, share).unwrap(), tally)
}

#[test]
fn a_start_that_a_falling_level_took_back_is_not_late() {
    let phases = [(4000, 4000, 10 * MS), (0, 0, 10 * MS), (4000, 4000, 10 * MS)];
    let (mut plan, mut tally) = levels(Unit::Active, &phases, Share::ALL);
    let start = plan.due(5 * MS, &tally).unwrap();
    plan.postpone(start, 5 * MS, &tally);
    assert_eq!((plan.due(6 * MS, &tally).unwrap().due, plan.postponed()), (5 * MS, 4));
    assert_eq!(plan.due(15 * MS, &tally), None);
    assert_eq!(plan.due(25 * MS, &tally).unwrap().due, 25 * MS);
    assert_eq!(all(&mut plan, 25 * MS, &mut tally).len(), 4);
}

#[test]
fn all_workers_follow_a_level_down() {
    /// How long a flow takes.
    const LONG: u64 = 100 * MS;
    const STEP: u64 = LONG / 10;
    // A number of flows, and a rate with the same number at the same time.
    for (unit, times) in [(Unit::Active, 1), (Unit::Flows, 10)] {
        let level = |flows: u64| flows * 1000 * times;
        let phases = [(level(9), level(9), 20 * LONG), (level(9), 0, 18 * LONG), (0, 0, 12 * LONG)];
        for workers in 1..5 {
            let share = |worker| levels(unit, &phases, Share { worker, workers });
            let mut all_workers: Vec<(Plan, Tally)> = (0..workers).map(share).collect();
            let mut ends: Vec<(u64, usize)> = Vec::new();
            let mut begun = 0;
            for now in (0..50 * LONG).step_by(STEP as usize) {
                ends.retain(|&(end, worker)| {
                    all_workers[worker].1.flows[0][0].active -= u64::from(end <= now);
                    end > now
                });
                for (worker, (plan, tally)) in all_workers.iter_mut().enumerate() {
                    let started = all(plan, now, tally).len();
                    begun += started;
                    ends.extend((0..started).map(|_| (now + LONG, worker)));
                }
                // The level a flow's time ago: flows that began at it may run still.
                let ago = now.saturating_sub(LONG);
                let most =
                    if ago <= 20 * LONG { 9 } else { (38 * LONG).saturating_sub(ago).div_ceil(2 * LONG) };
                let least = if now <= 20 * LONG { 9 } else { (38 * LONG).saturating_sub(now) / (2 * LONG) };
                let (active, slack) = (ends.len() as u64, u64::from(unit == Unit::Flows));
                assert!(active <= most + slack, "{unit:?}, {workers} workers, {now}: {active} of {most}");
                let settled = unit == Unit::Active || now > 2 * LONG;
                assert!(
                    !settled || active + slack >= least,
                    "{unit:?}, {workers}, {now}: {active} of {least}"
                );
            }
            assert!(unit == Unit::Active || begun == 9 * 20 + 9 * 18 / 2, "{workers} workers: {begun}");
        }
    }
}
