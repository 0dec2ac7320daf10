//! `ringway prof live --stages router=NAME` and `ringway top --stages`: packets are counted while somebody watches, and none is lost by that.

use std::time::Duration;

use ringway_router::kernel::{Router, Stages};
use serde_json::Value;

use crate::bed::{B4, B6, Bed};
use crate::support::Running;
use crate::support::schema::Schema;
use crate::support::top::Top;

const NAME: &str = "vale0";
const WATCH: [&str; 6] = ["prof", "live", "--stages", "router=vale0", "--interval", "0.3"];

/// Exchanges packets without a loss until the watcher said a line with packets that came to the last stage.
fn counted(bed: &Bed, watch: &Running) -> Value {
    let found = || intervals(watch).into_iter().find(|line| line["stages"][2]["ticks"].as_f64() > Some(0.0));
    bed.room.until(|| {
        bed.forwards(NAME, B4, 100, Duration::from_millis(1));
        found().is_some()
    });
    found().unwrap()
}

fn intervals(watch: &Running) -> Vec<Value> {
    watch.said().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn stages(bed: &Bed) -> Stages {
    // All rooms have their routers at the same place, and a process names it once.
    let _ = ringway::pinned::set_root(bed.room.path("bpf/ringway"));
    Router::open(NAME).unwrap().stages().unwrap()
}

fn packets_are_counted_while_somebody_watches(options: &[&str]) {
    let Some(bed) = Bed::new() else { return };
    bed.make_with(NAME, options);
    let stages = stages(&bed);
    assert!(!stages.are_timed() && stages.counts() == Default::default());
    let watch = bed.room.start(&[&WATCH[..], &["--json"]].concat());
    let found = counted(&bed, &watch);
    Schema::read().check("prof live with --stages", &found);
    for (n, name) in Stages::NAMES.into_iter().enumerate() {
        let stage = &found["stages"][n];
        assert!(stage["stage"] == name && stage["ticks"].as_f64() > Some(0.0), "{found}");
    }
    assert_eq!((&found["target"], &found["batch"]), (&"router=vale0".into(), &1.0.into()));
    // The lease of a watcher that was killed ends, and no packet is lost by that.
    watch.signal(libc::SIGKILL);
    assert_eq!(watch.end().code, None);
    bed.room.until(|| {
        bed.forwards(NAME, B6, 100, Duration::from_millis(1));
        !stages.are_timed()
    });
    // The second member follows in a turn of its own: what it counts is little, and ends.
    bed.room.until(|| {
        let before = stages.counts();
        bed.forwards(NAME, B4, 100, Duration::from_millis(1));
        stages.counts() == before
    });
}

#[test]
fn members_by_xdp_count_while_somebody_watches() {
    packets_are_counted_while_somebody_watches(&[]);
}

#[test]
fn members_by_traffic_control_count_while_somebody_watches() {
    packets_are_counted_while_somebody_watches(&["--path", "tc"]);
}

#[test]
fn a_router_whose_process_is_gone_can_not_be_watched() {
    let Some(bed) = Bed::new() else { return };
    bed.make(NAME);
    let pid = nix::unistd::Pid::from_raw(bed.pid(NAME).unwrap() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::SIGKILL).unwrap();
    // Its word counts for three seconds.
    bed.room.until(|| bed.room.run(&[&WATCH[..], &["-n", "1"]].concat()).code == Some(1));
    let ended = bed.room.run(&WATCH);
    assert!(ended.error(1).contains("`ringway router sync vale0` starts one"), "{ended:?}");
    assert_eq!(bed.room.run(&["router", "sync", NAME]).code, Some(0));
    let ended = bed.room.run(&[&WATCH[..], &["-n", "1"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_router_that_goes_away_ends_the_watch() {
    let Some(bed) = Bed::new() else { return };
    bed.make(NAME);
    let watch = bed.room.start(&["prof", "live", "--stages", "router=vale0", "--interval", "600"]);
    watch.wait_said("tier C", 1);
    assert_eq!(bed.room.run(&["router", "del", NAME]).code, Some(0));
    let ended = watch.end();
    assert!(ended.code == Some(0) && ended.stderr.contains("router=vale0 has ended"), "{ended:?}");
    let refused = bed.room.as_nobody(&WATCH);
    assert!(refused.code == Some(1), "{refused:?}");
}

/// Has hosts talk without a loss until members have programs with counters, or without.
fn until_timed(bed: &Bed, stages: &Stages, timed: bool) {
    bed.room.until(|| {
        assert_eq!(bed.exchange(B4, 100, Duration::from_millis(1)), 0, "lost");
        stages.are_timed() == timed
    });
}

#[test]
fn top_shows_a_router_and_has_it_count_while_it_is_watched() {
    let Some(bed) = Bed::new() else { return };
    bed.make(NAME);
    let stages = stages(&bed);
    let mut top = Top::start_in(&bed.room, &["--interval", "100"]);
    top.wait_for("router=vale0");
    top.wait_for("kernel:");
    until_timed(&bed, &stages, false);
    top.press("c");
    until_timed(&bed, &stages, true);
    for text in ["STAGE", "prerouting", "postrouting", "share"] {
        top.wait_for(text);
    }
    for (end, begin) in [("c", "c"), ("p", "p")] {
        top.press(end);
        until_timed(&bed, &stages, false);
        top.press(begin);
        until_timed(&bed, &stages, true);
    }
    top.press("q");
    assert_eq!(top.end(), Some(0));
    until_timed(&bed, &stages, false);
    let mut killed = Top::start_in(&bed.room, &["--stages"]);
    until_timed(&bed, &stages, true);
    killed.signal("-KILL");
    killed.wait();
    until_timed(&bed, &stages, false);
}

#[test]
fn top_says_once_what_stages_of_a_router_cost() {
    let Some(bed) = Bed::new() else { return };
    bed.make(NAME);
    let watch = ["top", "--once", "--stages", "--interval", "3000", "--json"];
    let page = std::thread::scope(|scope| {
        let top = scope.spawn(|| bed.room.run(&watch).json());
        while !top.is_finished() {
            assert_eq!(bed.exchange(B4, 100, Duration::from_millis(1)), 0, "lost");
        }
        top.join().unwrap()
    });
    Schema::read().check("top", &page);
    let router = &page["routers"][0];
    assert_eq!((&router["target"], router["pid"].as_u64()), (&"router=vale0".into(), bed.pid(NAME)));
    assert!(router["forwarded_pps"].as_f64() > Some(0.0), "{page}");
    assert_eq!(page["stages"][0]["target"], "router=vale0");
    assert!(page["stages"][0]["stages"][2]["ticks"].as_f64() > Some(0.0), "{page}");
}
